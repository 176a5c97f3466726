import { randomUUID } from 'node:crypto';
import { openS3Lake } from '../shared/adapters/aws/s3-lake.ts';
import { secretsOf } from '../shared/adapters/aws/secrets-manager-credentials.ts';
import { sendRequest } from '../shared/adapters/send-request.ts';
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
    lake: openS3Lake(environment('LAKE_URL'), environment('DATABASE')),
    credentials: secretsOf(settings.brands),
    send: sendRequest,
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
