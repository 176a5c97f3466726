import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventBus } from '../shared/adapters/aws/event-bridge.ts';
import { openS3Lake } from '../shared/adapters/aws/s3-lake.ts';
import { tuneHeap } from '../shared/adapters/heap.ts';
import { MINUTE_MS } from '../shared/base/days.ts';
import { configError } from '../shared/base/errors.ts';
import { type LogEvent, levelOf } from '../shared/base/log-events.ts';
import { reports } from '../shared/reports/index.ts';
import { SETTINGS_FILE, settingsOfText } from '../shared/settings/settings-file.ts';

/** Handlers call it at import, so that warm starts reuse its clients. @throws BrandReportsError `config` without a variable */
export function createFunctionContext() {
  tuneHeap();
  const [url, owner] = [environment('LAKE_URL'), environment('LAKE_OWNER')];
  return {
    settings: settingsOfText(readFileSync(join(environment('LAMBDA_TASK_ROOT'), SETTINGS_FILE), 'utf8')),
    reports,
    lake: openS3Lake(url, owner, environment('DATABASE'), environment('PROGRAM_VERSION')),
    events: eventBus(environment('EVENT_BUS_ARN'), url),
    log,
    random: Math.random,
    newId: randomUUID,
    adoption: { by: 'functions' as const },
  };
}

export function environment(name: string): string {
  const value = process.env[name];
  if (value) return value;
  throw configError(
    'environment',
    `The environment variable ${name} is not set. The stack sets it: deploy again.`,
  );
}

export function log(event: LogEvent): void {
  console[levelOf(event)](event);
}

/** The part of Lambda's time that is reserved for publications in progress and for the response. */
const RESERVE_MS = 2 * MINUTE_MS;

/**
 * Limits a run so that it ends before Lambda's timeout. In the reserve the run starts nothing new. Halfway through the
 * reserve its requests are aborted, and publications end before the last eighth.
 */
export function timeLimits(remainingMs: number) {
  const reserveMs = Math.min(RESERVE_MS, remainingMs / 4);
  const endMs = performance.now() + remainingMs;
  return {
    deadline: { softMs: endMs - reserveMs, hardMs: endMs - reserveMs / 8 },
    signal: AbortSignal.timeout(Math.max(0, Math.floor(remainingMs - reserveMs / 2))),
  };
}
