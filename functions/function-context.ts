import { randomUUID } from 'node:crypto';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { awsClientOptions } from '../shared/adapters/aws/errors.ts';
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
import { deployedSettings } from './deployed-settings.ts';

/**
 * Creates what a function that runs reports needs, from its environment variables and the settings of the deployment.
 * Handlers call it at import, so that warm starts reuse its clients. They call the returned function at each
 * invocation, because a deployment that changes only settings does not restart functions.
 * @param events missing for a function that sends no events
 * @throws BrandReportsError `config` if one of the variables is missing or wrong
 */
export function createFunctionContext(events?: EventSink) {
  tuneHeap();
  const lake = openS3Lake(environment('LAKE_URL'), environment('LAKE_OWNER'), environment('DATABASE'));
  const client = new SecretsManagerClient(awsClientOptions);
  const readSettings = deployedSettings(lake.store);
  /**
   * @param given settings to use instead of the deployed ones
   * @throws BrandReportsError `config` if the deployed settings cannot be used
   */
  return async (given?: Settings) => {
    const settings = given ?? (await readSettings());
    return {
      settings,
      reports,
      lake,
      credentials: secretsOf(settings, { needsBaseUrl: true, client }),
      send: sendRequest,
      log,
      random: Math.random,
      newId: randomUUID,
      adoption: { by: 'functions' as const },
      ...(events && { events }),
    };
  };
}

/** The bus that the stack sends events to. */
export function eventReceiver(): EventSink {
  return eventBus(environment('EVENT_BUS_ARN'), environment('LAKE_URL'), environment('LAKE_OWNER'));
}

export function environment(name: string): string {
  const value = process.env[name];
  if (value) return value;
  throw new BrandReportsError(
    'config',
    'environment',
    `The environment variable ${name} is not set. The stack sets it: deploy again.`,
  );
}

/** The log of every handler: Lambda writes the event as JSON with its level. */
export function log(event: LogEvent): void {
  console[levelOf(event)](event);
}
