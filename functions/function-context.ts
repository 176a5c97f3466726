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
 * What a function that runs reports needs, from its environment variables and the settings of the deployment. Handlers
 * call it at import, so that warm starts reuse clients, and what it returns at each invocation, because a deployment
 * that changes settings starts no function anew.
 * @throws BrandReportsError `config` where one of the variables is missing or wrong
 */
export function createFunctionContext() {
  tuneHeap();
  const events = eventReceiver();
  const lake = openS3Lake(environment('LAKE_URL'), environment('LAKE_OWNER'), environment('DATABASE'));
  const client = new SecretsManagerClient(awsClientOptions);
  const readSettings = deployedSettings(lake.store);
  /** @param given settings in place of the deployed ones @throws BrandReportsError `config` if those cannot be used */
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
      ...(events && { events }),
    };
  };
}

/** The bus of the stack; `undefined` where the settings have events off. */
export function eventReceiver(): EventSink | undefined {
  const { EVENT_BUS_ARN: arn } = process.env;
  return arn ? eventBus(arn, environment('LAKE_URL'), environment('LAKE_OWNER')) : undefined;
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
