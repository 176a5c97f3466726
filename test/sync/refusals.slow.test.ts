import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { HOUR_MS, MINUTE_MS } from '../../shared/base/days.ts';
import type { LogEvent } from '../../shared/base/log-events.ts';
import type { SyncOutcome } from '../../shared/base/outcome.ts';
import type { Clock, CredentialSource } from '../../shared/ports.ts';
import { ledgerEntries, wrongReports } from './lake-contents.ts';
import { CREDENTIALS, REPORTS, type SampleLake, type SyncOptions, sampleLake } from './sample-lake.ts';

const TODAY = '2026-03-10';
const WRONG = { ...CREDENTIALS, secret: 'not-the-secret' };

let lake: SampleLake;

beforeEach(async () => {
  lake = await sampleLake({ now: `${TODAY}T17:00:00Z`, startDate: '2026-03-08', clicksPerDay: 4 });
});

afterEach(() => lake.close());

/** Eight days of every report at a time. */
const sync = (options: SyncOptions = {}) => lake.sync({ commonSettings: { pagesInFlight: 8 }, ...options });

/** Returns each set of credentials in turn, then always the last. */
function credentialsInSequence(first: typeof WRONG, ...later: (typeof WRONG)[]): CredentialSource {
  const left = [first, ...later];
  return { read: async () => (left.length > 1 ? left.shift() : undefined) ?? left[0] ?? first };
}

/** A machine whose clock is ahead of the service's clock, and how long it has slept. */
function machine(aheadMs = 0): { clock: Clock; sleptMs: () => number } {
  let sleptMs = 0;
  const wallMs = () => lake.nowMs + aheadMs + sleptMs;
  const sleep = async (ms: number) => {
    sleptMs += ms;
  };
  return {
    clock: {
      wallMs,
      monotonicMs: wallMs,
      sleep,
      every: () => () => {},
    },
    sleptMs: () => sleptMs,
  };
}

const errorsOf = (outcome: SyncOutcome) => outcome.reports.map(({ error }) => error?.code);

describe('a run that the service refuses', () => {
  it('for a wrong secret sends two requests, whatever the number of reports and days in flight', async () => {
    const outcome = await sync({ credentials: credentialsInSequence(WRONG) });
    expect(outcome.status).toBe('failed');
    expect(lake.service.requests).toHaveLength(2);
    expect(errorsOf(outcome)).toContain('refused');
    expect(JSON.stringify(outcome)).not.toContain(WRONG.secret);
    expect((await sync()).status).toBe('complete');
    expect(await wrongReports(lake, TODAY)).toEqual({});
  });

  it('for reports without a permission reads the others in each run', async () => {
    for (const action of ['report/transaction_list', 'report/amazon_attribution_report'])
      lake.service.addFault({ on: { action }, fault: { kind: 'code', code: 77, msg: 'no permission' } });
    for (let run = 0; run < 3; run += 1) {
      const codes = errorsOf(await sync());
      expect(codes).toEqual([undefined, undefined, undefined, 'service_code', 'service_code']);
      lake.nowMs += HOUR_MS;
    }
  });
});

describe('a service that requests a long pause', () => {
  const overloaded = { kind: 'status', status: 503, retryAfter: '840' } as const;

  /** The deadline is in a minute. */
  const littleTime = (): SyncOptions => ({
    deadline: { softMs: lake.service.now().getTime() + MINUTE_MS, hardMs: Number.POSITIVE_INFINITY },
  });

  async function failedDays() {
    const entries = await Promise.all(REPORTS.map((report) => ledgerEntries(lake, report)));
    return entries.flat().filter(([, entry]) => entry.failure);
  }

  it('does not delay a run with little time: at most the days in flight fail, and the other days are left', async () => {
    const removeFault = lake.service.addFault({ on: { nth: 12, times: 1000 }, fault: overloaded });
    const { clock, sleptMs } = machine();
    const outcome = await sync({ clock, ...littleTime() });
    expect(sleptMs()).toBeLessThan(MINUTE_MS);
    expect(errorsOf(outcome)).toContain('http_503');
    expect(errorsOf(outcome).filter((code) => code !== 'http_503' && code !== undefined)).toEqual([]);
    const days = outcome.reports.flatMap((report) => report.days.map((day) => day.outcome));
    const failed = days.filter((day) => day === 'failed');
    expect(failed.length).toBeGreaterThan(0);
    expect(failed.length).toBeLessThanOrEqual(8);
    expect(days).toContain('pending');
    expect(await failedDays()).toHaveLength(failed.length);
    removeFault();
    // A lookup without a response is retried an hour later.
    lake.nowMs += 2 * HOUR_MS;
    expect((await sync()).status).toBe('complete');
    expect(await wrongReports(lake, TODAY)).toEqual({});
  });

  it('is not requested for day after day: a run with little time claims only the days in flight', async () => {
    lake.service.addFault({ on: {}, fault: overloaded });
    const { clock } = machine();
    const claims: LogEvent[] = [];
    const outcome = await sync({
      clock,
      deadline: { softMs: lake.nowMs + MINUTE_MS, hardMs: Number.POSITIVE_INFINITY },
      brandSettings: { startDate: '2025-09-01' },
      log: (event) => void (event.event === 'day_claimed' && claims.push(event)),
    });
    const days = outcome.reports.flatMap((report) => report.days);
    expect(days.length).toBeGreaterThan(500);
    expect(days.filter((day) => day.outcome === 'failed').length).toBeLessThanOrEqual(1);
    expect(claims.length).toBeLessThan(60);
  });
});
