import { existsSync } from 'node:fs';

export const OWN_SETTINGS = 'settings.jsonc';

/** The credentials of this folder, for commands to which no other credentials are given. */
export const OWN_CREDENTIALS = 'credentials.json';

/** The settings of this folder, for commands and the CDK app if no other file is given. */
export function defaultSettings(): string {
  return existsSync(OWN_SETTINGS) ? OWN_SETTINGS : 'cdk.json';
}
