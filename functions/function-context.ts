import { randomUUID } from 'node:crypto';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { awsClientOptions } from '../shared/adapters/aws/errors.ts';
import { secretsManagerCredentials } from '../shared/adapters/credentials.ts';
import { openLake } from '../shared/adapters/open-lake.ts';
import { BrandReportsError } from '../shared/errors.ts';
import { type LogEvent, levelOf } from '../shared/log-events.ts';
import { reports } from '../shared/reports/index.ts';
import { type Settings, loadSettings } from '../shared/settings/settings.ts';

/**
 * What a function that runs reports needs, from its environment variables and the settings in its bundle. Handlers call
 * it at import, so that warm starts reuse clients and settings.
 * @throws BrandReportsError `config` where one of them is missing or wrong
 */
export function createFunctionContext() {
  const settings = bundledSettings();
  return {
    settings,
    reports,
    lake: openLake(environment('LAKE_URL'), { database: environment('DATABASE') }),
    credentials: secretsManagerCredentials({
      client: new SecretsManagerClient(awsClientOptions),
      secretNames: Object.fromEntries(
        Object.entries(settings.brands).map(([name, { secretName }]) => [name, secretName]),
      ),
    }),
    log,
    random: Math.random,
    newId: randomUUID,
  };
}

/** Settings are part of the bundle: infra/pipeline-function.ts. */
export function bundledSettings(): Settings {
  return loadSettings(process.env.BRAND_REPORTS_SETTINGS ?? '', 'BRAND_REPORTS_SETTINGS', reports);
}

export function environment(name: string): string {
  const value = process.env[name];
  if (value) return value;
  throw new BrandReportsError(
    'config',
    'environment',
    `The environment variable ${name} is not set: the stack sets it, so deploy again.`,
  );
}

/** How every handler logs: Lambda writes the event as JSON, with its level. */
export function log(event: LogEvent): void {
  console[levelOf(event)](event);
}
