/* Settings are a JSON file in the code of the functions, so that CloudFormation updates both together and rolls both back. */
import * as z from 'zod/mini';
import { isJsonObject } from '../base/json.ts';
import type { Settings } from './settings.ts';

export const SETTINGS_FILE = 'settings.json';

/** The contents of the file. The schema orders the keys, so equal settings have equal contents. */
export function settingsText(settings: Settings): string {
  return JSON.stringify(settings);
}

const outline = z.custom<Settings>(
  (value) => isJsonObject(value) && isJsonObject(value.brands) && isJsonObject(value.deployment),
);

/** Only the outline is checked: the deployment has checked the rest, and the whole schema would take a sixth of a start. */
export function settingsOfText(text: string): Settings {
  return z.parse(outline, JSON.parse(text));
}
