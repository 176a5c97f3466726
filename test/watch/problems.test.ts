import { describe, expect, it } from '@jest/globals';
import { DAY_MS, HOUR_MS, addDays } from '../../shared/base/days.ts';
import type { LastRun } from '../../shared/lake/report-state.ts';
import type { DayState } from '../../shared/planning/day-state.ts';
import { enabledPolicy } from '../../shared/planning/policy.ts';
import { reports } from '../../shared/reports/index.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import { findingsIn, problemText, problemsOf, silence } from '../../shared/watch/problems.ts';
import type { TableStatus } from '../../shared/watch/table-statuses.ts';
import { openProblems } from '../../shared/watch/watcher/news.ts';
import { NOW_MS, TODAY, failure, madeTable, settingsOf, statusDay } from './made-statuses.ts';

const ago = (ms: number) => new Date(NOW_MS - ms).toISOString();
const YESTERDAY = addDays(TODAY, -1);
const RUN: LastRun = {
  at: ago(HOUR_MS),
  since: ago(DAY_MS),
  status: 'complete',
  failedDays: 0,
};
const FAILED = { status: 'failed', code: 'aws_denied', message: 'grant glue:CreateTable' } as const;

function policyFor(schedule: string) {
  const { brands } = settingsOf('acme');
  const settings = parseSettings(
    { brands: { acme: { ...brands.acme, reports: {} } }, deployment: { schedule } },
    reports,
  );
  const policy = reports.order_list && enabledPolicy(settings, 'acme', reports.order_list);
  if (!policy) throw new Error('orders are not enabled');
  return policy;
}

function watched(
  but: Record<string, DayState> = {},
  {
    schedule = 'rate(1 hour)',
    lastRun = RUN,
    ...more
  }: { schedule?: string; lastRun?: LastRun | null; table?: TableStatus } = {},
) {
  return {
    table: madeTable('order_list', but, lastRun ? { lastRun } : {}),
    policy: policyFor(schedule),
    ...more,
  };
}
type WatchedReport = ReturnType<typeof watched>;

const candidatesOf = ({ table, policy }: WatchedReport) => [
  ...problemsOf(table, policy, NOW_MS),
  ...silence(table, policy),
];

/** The problems if every candidate was first seen so long ago. */
function problemsSeen(report: WatchedReport, seenMs: number) {
  const candidates = candidatesOf(report);
  const seen = Object.fromEntries(candidates.map(({ id }) => [id, ago(seenMs)]));
  return openProblems(candidates, seen, NOW_MS).map(({ id, since, ...problem }) => ({
    ...{ id: id.replace('acme order_list ', ''), what: problemText(problem), since },
  }));
}
const kinds = (report: WatchedReport, seenMs = 0) => problemsSeen(report, seenMs).map(({ id }) => id);

/** A table in which one day failed with this error. */
function failedTable(change: Partial<typeof failure>) {
  const table = madeTable('order_list', { [YESTERDAY]: 'failed' });
  const days = table.days.map((day) => (day.failure ? { ...day, failure: { ...failure, ...change } } : day));
  return { ...table, days };
}

describe('a report has no problem', () => {
  it.each<[string, WatchedReport, number]>([
    ['if all days are complete', watched(), DAY_MS],
    ['while an unread day is not over', watched({ [TODAY]: 'missing' }), DAY_MS],
    ['an hour after the end of an unread day', watched({ [YESTERDAY]: 'missing' }), HOUR_MS],
    ['while a long history is read', watched({ '2026-09-10': 'missing' }), 2 * DAY_MS],
    ['while a large day is read', watched({ [YESTERDAY]: 'in_progress' }), 20 * HOUR_MS],
    [
      'after one failure without an answer',
      watched({}, { table: failedTable({ kind: 'transient', times: 1, since: ago(HOUR_MS) }) }),
      HOUR_MS,
    ],
    [
      'after one run that failed without an answer',
      watched({}, { lastRun: { ...RUN, ...FAILED, kind: 'transient', since: RUN.at } }),
      HOUR_MS,
    ],
    ['before its first run', watched({}, { lastRun: null }), 5 * HOUR_MS],
  ])('and is not reported %s', (_name, report, seenMs) => {
    expect(kinds(report, seenMs)).toEqual([]);
  });

  it.each<[string, number, number]>([
    ['rate(1 hour)', 5, 6],
    ['rate(1 day)', 28, 29],
    ['rate(7 days)', 7 * 24 + 4, 7 * 24 + 5],
  ])('if runs start at the %s, until its last run is %i hours ago', (schedule, atMost, problemAt) => {
    const ended = (hours: number) =>
      watched({}, { schedule, lastRun: { ...RUN, at: ago(hours * HOUR_MS), since: ago(90 * DAY_MS) } });
    expect(kinds(ended(atMost))).toEqual([]);
    expect(kinds(ended(problemAt))).toEqual(['silent']);
  });

  it('after 20 unread days if a run starts once a month', () => {
    const unread = Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [addDays(TODAY, -1 - index), 'missing' as const]),
    );
    const monthly = { schedule: 'rate(31 days)', lastRun: { ...RUN, at: ago(20 * DAY_MS) } };
    expect(kinds(watched(unread, monthly), 20 * DAY_MS)).toEqual([]);
    expect(kinds(watched(unread, { ...monthly, schedule: 'rate(1 day)' }), 20 * DAY_MS)).toEqual([
      'missing',
      'history',
      'silent',
    ]);
  });
});

describe('days in progress', () => {
  it('are no problem if each watcher run finds other days, as while a history is read', () => {
    const [first, second] = ['2026-09-11', '2026-09-10'].map((day) =>
      candidatesOf(watched({ [day]: 'in_progress' })),
    );
    const seen = Object.fromEntries((first ?? []).map(({ id }) => [id, ago(2 * DAY_MS)]));
    expect(openProblems(second ?? [], seen, NOW_MS)).toEqual([]);
  });
});

describe('a report has a problem', () => {
  it.each<[what: string, WatchedReport, seenMs: number, id: string]>([
    [
      '2 days failed: 2026-11-17, 2026-11-19',
      watched({ [YESTERDAY]: 'failed', '2026-11-17': 'failed' }),
      0,
      'failed no_list',
    ],
    [
      '1 day failed: 2026-11-19',
      watched({}, { table: failedTable({ kind: 'transient', code: 'http_503', times: 2 }) }),
      0,
      'failed transient',
    ],
    ['1 day missing: 2026-11-19', watched({ [YESTERDAY]: 'missing' }), 2 * HOUR_MS, 'missing'],
    [
      '2 days missing: 2026-09-10 to 2026-09-11',
      watched({ '2026-09-10': 'missing', '2026-09-11': 'missing' }),
      3 * DAY_MS,
      'history',
    ],
    [
      '1 day in progress: 2026-11-19',
      watched({ [YESTERDAY]: 'in_progress' }),
      DAY_MS,
      'in_progress 2026-11-19',
    ],
    ['1 day overdue: 2026-11-19', watched({ [YESTERDAY]: 'overdue' }), 0, 'overdue'],
    ['1 day unverified: 2026-11-19', watched({ [YESTERDAY]: 'unverified' }), 2 * HOUR_MS, 'unverified'],
    [
      'runs fail before they read a day',
      watched({}, { lastRun: { ...RUN, ...FAILED, kind: 'config' } }),
      0,
      'run failed config',
    ],
    [
      'runs fail before they read a day',
      watched({}, { lastRun: { ...RUN, ...FAILED, status: 'incomplete', kind: 'config' } }),
      0,
      'run failed config',
    ],
    ['no run has ended yet', watched({}, { lastRun: null }), 6 * HOUR_MS, 'never_run'],
  ])('and it is reported: %s', (what, report, seenMs, id) => {
    expect(problemsSeen(report, seenMs)).toEqual([{ id, what, since: expect.any(String) }]);
  });

  it('once if days failed in the last run, and no longer after these days were read', () => {
    const lastRun: LastRun = { ...RUN, ...FAILED, kind: 'contract', code: 'no_list', failedDays: 1 };
    expect(kinds(watched({}, { lastRun }))).toEqual([]);
    expect(kinds(watched({ [YESTERDAY]: 'failed' }, { lastRun }))).toEqual(['failed no_list']);
  });

  it('since the first failure, or since a watcher run first saw it if the lake has no time', () => {
    expect(problemsSeen(watched({ [YESTERDAY]: 'failed' }), 0)[0]?.since).toBe(failure.since);
    const [missing] = problemsSeen(watched({ [YESTERDAY]: 'missing' }), DAY_MS);
    expect(missing?.since).toBe(ago(DAY_MS));
  });
});

describe('a finding', () => {
  const found = (check: string) => {
    const since = ago(HOUR_MS);
    const finding = { check, title: check, detail: '3', advice: 'Ask', since, isCertain: true };
    const days = [{ ...statusDay('2026-10-01', 'complete'), findings: [finding] }];
    return findingsIn(madeTable('order_list', {}, { days })).map((each) => each.finding?.untilMs);
  };

  it.each<[string, number]>([
    ['rows_fell', NOW_MS - HOUR_MS],
    ['new_column', NOW_MS - HOUR_MS],
    ['unusual_rows', Date.parse('2026-10-01')],
  ])('%s is reported for two weeks', (check, fromMs) => {
    expect(found(check)).toEqual([fromMs + 14 * DAY_MS]);
  });
});
