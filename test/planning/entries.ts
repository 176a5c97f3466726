import { HOUR_MS, monthOf } from '../../shared/base/days.ts';
import type { Committed, DayEntry, Failure, Ledger } from '../../shared/lake/ledger.ts';
import type { Policy } from '../../shared/planning/due.ts';

export const ZONE = 'America/New_York';
export const NOW = '2026-03-20T15:00:00.000Z';
export const NOW_MS = Date.parse(NOW);

export const policy: Policy = {
  timeZone: ZONE,
  startDate: '2026-03-11',
  lateMinutes: 15,
  refresh: [
    { untilAgeDays: 2, every: 'run' },
    { untilAgeDays: 35, every: '1 day' },
    { untilAgeDays: 120, every: '7 days' },
  ],
  queryFingerprint: 'as-now',
  everyMs: 0,
  maxGapMs: HOUR_MS,
  fields: {},
};

/** A day that was read at this time. */
export function readAt(
  readFrom: string,
  change: Partial<Committed> = {},
): DayEntry & { committed: Committed } {
  return {
    committed: {
      snapshot: 's1',
      published: true,
      rows: 1,
      bytes: 1,
      digest: '1:ab',
      state: 'closed',
      timeZone: 'America/New_York',
      attempt: 'a1',
      pages: 1,
      readFrom,
      readTo: readFrom,
      queryFingerprint: policy.queryFingerprint,
      ...change,
    },
  };
}

export const claim = { attempt: 'a1', runId: 'r1', at: NOW };

export function failure(retryAt: string): Failure {
  return {
    since: NOW,
    lastAt: NOW,
    times: 1,
    kind: 'contract',
    code: 'no_list',
    message: 'no list',
    retryAt,
  };
}

/** The ledgers of these months, each with the given days that are in its month. */
export function ledgersOf(days: Record<string, DayEntry>, months = ['2026-03']): Map<string, Ledger> {
  return new Map(
    months.map((month) => {
      const own = Object.entries(days).filter(([day]) => monthOf(day) === month);
      return [month, { report: 'r', brand: 'b', month, days: Object.fromEntries(own), recentWrites: [] }];
    }),
  );
}

export const recent = readAt(NOW);
export const old = readAt('2026-03-19T05:00:00.000Z');
export const later = '2026-03-20T15:00:00.001Z';
