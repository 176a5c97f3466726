import { randomUUID } from 'node:crypto';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { Context } from 'aws-lambda';
import { awsClientOptions } from '../shared/adapters/aws.ts';
import { secretsManagerCredentials } from '../shared/adapters/credentials.ts';
import { openLake } from '../shared/adapters/open-lake.ts';
import { systemClock } from '../shared/adapters/system-clock.ts';
import { runCheck } from '../shared/check.ts';
import { BrandReportsError } from '../shared/errors.ts';
import type { RunLog } from '../shared/ports.ts';
import { reports } from '../shared/reports/index.ts';
import { runSync } from '../shared/run.ts';
import { loadSettings, type Settings } from '../shared/settings.ts';
import { parseSyncEvent } from './sync-event.ts';

/** What is kept of Lambda's time, for the publications under way and for the answer. */
const REST_MS = 120_000;

// Settings are part of the bundle: see infra/report-function.ts.
const settings = loadSettings(process.env.BRAND_REPORTS_SETTINGS ?? '', 'BRAND_REPORTS_SETTINGS', reports);
const report = environment('REPORT');
const lake = openLake(environment('LAKE_URL'), { database: environment('DATABASE') });
const credentials = secretsManagerCredentials({
  client: new SecretsManagerClient(awsClientOptions),
  secretNames: Object.fromEntries(
    Object.entries(settings.brands).map(([name, { secretName }]) => [name, secretName]),
  ),
});

/**
 * Syncs the report that the function stands for, or checks the connection.
 * @returns the JSON document of the command line, whatever the outcome
 * @throws on an event that is none, and on a bug
 */
export async function handler(event: unknown, context: Pick<Context, 'getRemainingTimeInMillis'>) {
  const enabled = brandsWith(settings, report);
  const { brand, check, now, requestsPerSecond, ...range } = parseSyncEvent(event, enabled);
  const brands = brand === undefined ? enabled : [brand];
  const run = check ? runCheck : runSync;
  return run({
    settings,
    reports,
    lake,
    credentials,
    request: {
      ...range,
      brands,
      reports: [report],
      requestsPerSecond: requestsPerSecond ?? rateShare(settings, brands),
    },
    clock: systemClock(now === undefined ? undefined : new Date(now)),
    log,
    random: Math.random,
    newId: randomUUID,
    ...timeLimits(context.getRemainingTimeInMillis()),
  });
}

/** Nothing new is begun in the rest, requests under way are given up halfway, publications are over in good time. */
function timeLimits(remainingMs: number) {
  const restMs = Math.min(REST_MS, remainingMs / 4);
  const endMs = Date.now() + remainingMs;
  return {
    deadline: { softMs: endMs - restMs, hardMs: endMs - restMs / 8 },
    signal: AbortSignal.timeout(Math.floor(remainingMs - restMs / 2)),
  };
}

function log({ level, ...entry }: Parameters<RunLog>[0]): void {
  console[level](entry);
}

/** Each report of a brand has a function of its own: they share the brand's rate evenly. */
function rateShare({ brands, requestsPerSecond }: Settings, names: readonly string[]): number {
  const functions = names.map(
    (name) => Object.values(brands[name]?.reports ?? {}).filter(({ enabled }) => enabled).length,
  );
  return requestsPerSecond / Math.max(1, ...functions);
}

function brandsWith({ brands }: Settings, report: string): string[] {
  return Object.entries(brands).flatMap(([name, brand]) => (brand.reports[report]?.enabled ? [name] : []));
}

function environment(name: string): string {
  const value = process.env[name];
  if (value) return value;
  throw new BrandReportsError('config', 'environment', `The environment variable ${name} is missing.`);
}
