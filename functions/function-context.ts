import { randomUUID } from 'node:crypto';
import { eventBus } from '../shared/adapters/aws/event-bridge.ts';
import { openS3Lake } from '../shared/adapters/aws/s3-lake.ts';
import { secretsOf } from '../shared/adapters/aws/secrets-manager-credentials.ts';
import { tuneHeap } from '../shared/adapters/heap.ts';
import { sendRequest } from '../shared/adapters/send-request.ts';
import { BrandReportsError } from '../shared/errors.ts';
import { type LogEvent, levelOf } from '../shared/log-events.ts';
import type { EventSink } from '../shared/ports.ts';
import { reports } from '../shared/reports/index.ts';
import type { Settings } from '../shared/settings/settings.ts';

/** In place of this name infra/pipeline-function.ts puts the settings, because to check them was a sixth of a start. */
declare const BRAND_REPORTS_SETTINGS: Settings;

/**
 * What a function that runs reports needs, from its environment variables and the settings in its bundle. Handlers call
 * it at import, so that warm starts reuse clients and settings.
 * @throws BrandReportsError `config` where one of the variables is missing or wrong
 */
export function createFunctionContext() {
  tuneHeap();
  const settings = bundledSettings();
  const events = eventReceiver();
  return {
    settings,
    reports,
    lake: openS3Lake(environment('LAKE_URL'), environment('LAKE_OWNER'), environment('DATABASE')),
    credentials: secretsOf(settings.brands, { needsBaseUrl: true }),
    send: sendRequest,
    log,
    random: Math.random,
    newId: randomUUID,
    ...(events && { events }),
  };
}

/** The bus of the stack; `undefined` where the settings have events off. */
export function eventReceiver(): EventSink | undefined {
  const { EVENT_BUS_ARN: arn } = process.env;
  return arn ? eventBus(arn, environment('LAKE_URL'), environment('LAKE_OWNER')) : undefined;
}

/** The settings in the bundle: checked, with all defaults, since the stack was synthesised. */
export function bundledSettings(): Settings {
  return BRAND_REPORTS_SETTINGS;
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
