import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DAY_MS, HOUR_MS, addDays, dayOf, daysFrom, endOfDay, startOfDay } from '../../shared/base/days.ts';
import type { DayEntry } from '../../shared/lake/ledger.ts';
import { mayBeDue, NO_STATE, recordMonths } from '../../shared/lake/report-state.ts';
import { type Policy, type UpstreamState, closesAtMs, monthDueAtMs } from '../../shared/planning/due.ts';
import { type Continuation, type DueDay, plan, waitingDays } from '../../shared/planning/plan.ts';
import type { VersionState } from '../../shared/planning/transitions.ts';
import { runs } from '../fixtures/property-runs.ts';
import {
  NOW,
  NOW_MS,
  ZONE,
  claim,
  failure,
  later,
  ledgersOf,
  old,
  policy,
  readAt,
  recent,
} from './entries.ts';

function summary(due: DueDay[]): string[] {
  return due.map(({ day, reason }) => `${day} ${reason}`);
}

describe('the plan', () => {
  it('begins with open day and yesterday, the longest wait first, then days in progress, days never read, re-reads and failed days', () => {
    const ledgers = ledgersOf({
      '2026-03-20': readAt(NOW, { state: 'open' }),
      '2026-03-19': old,
      '2026-03-18': { ...old, claim },
      '2026-03-16': old,
      '2026-03-14': { failure: failure(later) },
      '2026-03-13': readAt('2026-03-14T05:00:00.000Z', { state: 'settled' }),
      '2026-03-12': { failure: failure(NOW) },
      '2026-03-11': recent,
    });
    expect(summary(plan(ledgers, policy, NOW_MS))).toEqual([
      '2026-03-19 yesterday',
      '2026-03-20 open',
      '2026-03-18 in_progress',
      '2026-03-17 never_read',
      '2026-03-15 never_read',
      '2026-03-16 refresh',
      '2026-03-12 retry',
    ]);
    expect(waitingDays(ledgers, policy, NOW_MS)).toEqual(['2026-03-14']);
  });

  it('lists the waiting days of all months, the newest first', () => {
    const waiting = { failure: failure(later) };
    const ledgers = ledgersOf(
      { '2026-03-14': waiting, '2026-02-20': waiting, '2026-03-18': waiting, '2026-03-16': old },
      ['2026-02', '2026-03'],
    );
    const all = { ...policy, startDate: '2026-02-01' };
    expect(waitingDays(ledgers, all, NOW_MS)).toEqual(['2026-03-18', '2026-03-14', '2026-02-20']);
  });

  it('lists the days of a range that a run with a later clock has read, and no other days', () => {
    const later = readAt('2026-03-20T16:30:00.000Z');
    const ledgers = ledgersOf({ '2026-03-14': later, '2026-03-15': later, '2026-03-16': old });
    const range = { from: '2026-03-15', to: '2026-03-16' };
    expect(waitingDays(ledgers, policy, Date.parse('2026-03-20T16:00:00.000Z'), range)).toEqual([
      '2026-03-15',
    ]);
  });

  it('has failed days last, the longest wait first, but the open day and yesterday stay urgent', () => {
    const failed = (retryAt: string) => ({ failure: { ...failure(retryAt), times: 2 } });
    const ledgers = ledgersOf({
      '2026-03-20': failed('2026-03-20T13:00:00.000Z'),
      '2026-03-19': readAt('2026-03-20T12:00:00.000Z'),
      '2026-03-18': failed('2026-03-20T11:00:00.000Z'),
      '2026-03-17': failed('2026-03-20T10:00:00.000Z'),
      '2026-03-16': old,
    });
    expect(summary(plan(ledgers, { ...policy, startDate: '2026-03-15' }, NOW_MS))).toEqual([
      '2026-03-19 yesterday',
      '2026-03-20 open',
      '2026-03-15 never_read',
      '2026-03-16 refresh',
      '2026-03-17 retry',
      '2026-03-18 retry',
    ]);
  });

  it('has every day of an empty lake, the newest first, and no day of a settled lake', () => {
    const days = daysFrom(policy.startDate, '2026-03-20');
    expect(plan(ledgersOf({}), policy, NOW_MS).map(({ day }) => day)).toEqual(days.toReversed());
    const settled = Object.fromEntries(days.map((day) => [day, readAt(NOW, { state: 'settled' })]));
    expect(plan(ledgersOf(settled), policy, NOW_MS)).toEqual([]);
  });

  it.each<[string, string, string[]]>([
    ['one second into the day', '2026-03-12T04:00:01.000Z', ['2026-03-12', '2026-03-11']],
    ['less than a second into the day', '2026-03-12T04:00:00.999Z', ['2026-03-11']],
    ['before the first day', '2026-03-11T03:59:59.999Z', []],
  ])('has the open day from its first second on: %s', (_name, now, days) => {
    expect(plan(ledgersOf({}), policy, Date.parse(now)).map(({ day }) => day)).toEqual(days);
  });

  it.each<[string, DayEntry, string, DueDay['reason'] | undefined]>([
    ['the open day, in progress', { claim }, '2026-03-20', 'open'],
    ['the open day, failing', { failure: failure(later) }, '2026-03-20', undefined],
    ['the open day, which failed once', { failure: failure(NOW) }, '2026-03-20', 'open'],
    ['the open day, which failed twice', { failure: { ...failure(NOW), times: 2 } }, '2026-03-20', 'open'],
    ['a day in progress that keeps failing', { claim, failure: failure(later) }, '2026-03-15', undefined],
    ['a day in progress whose backoff is over', { claim, failure: failure(NOW) }, '2026-03-15', 'retry'],
    [
      'a settled day that is in progress',
      { ...readAt(NOW, { state: 'settled' }), claim },
      '2026-03-15',
      'in_progress',
    ],
    [
      'a day that another reading has to confirm',
      readAt(NOW, { state: 'unconfirmed' }),
      '2026-03-15',
      'refresh',
    ],
    ['a day that was left open', readAt(NOW, { state: 'open' }), '2026-03-15', 'refresh'],
    ['a day that has just been read', recent, '2026-03-15', undefined],
  ])('has the reason why a day is due: %s', (_name, entry, day, why) => {
    const due = plan(ledgersOf({ [day]: entry }), policy, NOW_MS).find((each) => each.day === day);
    expect(due?.reason).toBe(why);
  });
});

describe('a run whose time is behind', () => {
  const before = Date.parse('2026-03-19T20:00:00.000Z');
  const closed = readAt('2026-03-20T05:00:00.000Z');

  it.each<[string, DayEntry, string, number, string[]]>([
    ['a complete day that is open by its time', closed, '2026-03-19', before, []],
    ['an open day that was read later', readAt(NOW, { state: 'open' }), '2026-03-19', before, []],
    ['an old day that was read later', readAt(NOW), '2026-03-12', before, []],
  ])('I2: does not replace a newer version: %s', (_name, entry, day, nowMs, expected) => {
    const due = plan(ledgersOf({ [day]: entry }), policy, nowMs).filter((each) => each.day === day);
    expect(summary(due)).toEqual(expected);
    const range = { from: day, to: day };
    const requested = plan(ledgersOf({ [day]: entry }), policy, nowMs, {
      continuation: { id: 'q1', range },
    });
    expect(requested).toHaveLength(expected.length);
  });
});

describe('a range to read again', () => {
  const range = { from: '2026-03-14', to: '2026-03-16' };
  const request = { id: 'q1', range };
  const read = (change: DayEntry = {}): DayEntry => ({
    ...readAt(NOW, { state: 'settled' }),
    continuation: 'q1',
    ...change,
  });
  const days = (entries: Record<string, DayEntry>, continuation: Continuation = request) =>
    summary(plan(ledgersOf(entries), policy, NOW_MS, { continuation }));

  it('has its days whether or not they are due, and no other day', () => {
    const settled = Object.fromEntries(
      daysFrom('2026-03-11', '2026-03-20').map((day) => [day, readAt(NOW, { state: 'settled' })]),
    );
    expect(days(settled)).toEqual(['2026-03-16 refresh', '2026-03-15 refresh', '2026-03-14 refresh']);
  });

  it('has due days first, then days that are only requested, then failing days, the newest first', () => {
    const due = plan(
      ledgersOf({
        '2026-03-14': { failure: failure('2026-03-20T16:00:00.000Z') },
        '2026-03-15': { failure: failure('2026-03-20T17:00:00.000Z') },
        '2026-03-16': readAt(NOW, { state: 'settled' }),
        '2026-03-18': { claim },
      }),
      policy,
      NOW_MS,
      { continuation: { id: 'q1', range: { from: '2026-03-14', to: '2026-03-20' } } },
    );
    expect(summary(due)).toEqual([
      '2026-03-20 open',
      '2026-03-19 yesterday',
      '2026-03-18 in_progress',
      '2026-03-17 never_read',
      '2026-03-16 refresh',
      '2026-03-15 failing',
      '2026-03-14 failing',
    ]);
  });

  it.each<[string, { from: string; to: string }, string[]]>([
    [
      'before the first day of the settings',
      { from: '2026-03-01', to: '2026-03-02' },
      ['2026-03-02', '2026-03-01'],
    ],
    [
      'up to the open day, not beyond',
      { from: '2026-03-19', to: '2026-04-02' },
      ['2026-03-20', '2026-03-19'],
    ],
    ['in the future', { from: '2026-03-21', to: '2026-03-22' }, []],
    ['from its end to its beginning', { from: '2026-03-16', to: '2026-03-14' }, []],
  ])('may be %s', (_name, range, expected) => {
    const due = plan(ledgersOf({}, ['2026-03', '2026-04']), policy, NOW_MS, {
      continuation: { id: 'q1', range },
    });
    expect(due.map(({ day }) => day)).toEqual(expected);
  });

  it.each<[string, DayEntry, string[]]>([
    ['was read under this continuation', read(), []],
    [
      'was read under this continuation and is in progress again',
      read({ claim }),
      ['2026-03-15 in_progress'],
    ],
    [
      'was read under this continuation and has failed since',
      read({ failure: failure(NOW) }),
      ['2026-03-15 retry'],
    ],
    [
      'was read under this continuation with other queries',
      { ...readAt(NOW, { queryFingerprint: 'once' }), continuation: 'q1' },
      ['2026-03-15 refresh'],
    ],
    ['was read under another continuation', read({ continuation: 'q0' }), ['2026-03-15 refresh']],
    ['was never read', {}, ['2026-03-15 never_read']],
    ['keeps failing', read({ failure: failure(later) }), ['2026-03-15 failing']],
  ])('I11: resumes with a day that %s', (_name, entry, expected) => {
    expect(days({ '2026-03-14': read(), '2026-03-15': entry, '2026-03-16': read() })).toEqual(expected);
  });

  it('does not read a day twice under one continuation, even if the policy requires it in every run', () => {
    const young = {
      '2026-03-19': { ...old, continuation: 'q1' },
      '2026-03-18': { ...old, continuation: 'q0' },
    };
    const due = days(young, { id: 'q1' });
    expect(due).toContain('2026-03-18 refresh');
    expect(due).not.toContain('2026-03-19 yesterday');
  });
});

describe('a day of a report with an upstream', () => {
  const day = '2026-03-15';
  const upstream = (digest: string, closed = true) => ({ digest, closed, readFrom: NOW });
  const due = (entry: DayEntry, upstreamDay: UpstreamState | undefined) =>
    summary(
      plan(ledgersOf({ [day]: entry }), policy, NOW_MS, {
        upstream: (each) => (each === day ? upstreamDay : undefined),
      }),
    );

  it.each<[string, DayEntry, ReturnType<typeof upstream> | undefined, string[]]>([
    ['not before the upstream day exists', {}, undefined, []],
    ['when the upstream day exists', {}, upstream('1:ab', false), ['2026-03-15 never_read']],
    ['not while the upstream day is the same', readAt(NOW, { upstreamDigest: '1:ab' }), upstream('1:ab'), []],
    [
      'when the upstream day has changed',
      readAt(NOW, { upstreamDigest: '1:ab', state: 'settled' }),
      upstream('2:cd'),
      ['2026-03-15 refresh'],
    ],
    [
      'not while the upstream day is open and the same',
      readAt(NOW, { upstreamDigest: '1:ab', state: 'open' }),
      upstream('1:ab', false),
      [],
    ],
    [
      'when the upstream day is closed',
      readAt(NOW, { upstreamDigest: '1:ab', state: 'open' }),
      upstream('1:ab'),
      ['2026-03-15 refresh'],
    ],
    ['not if it is in progress but the upstream day no longer exists', { claim }, undefined, []],
  ])('is due %s', (_name, entry, upstream, expected) => {
    expect(due(entry, upstream)).toEqual(expected);
  });

  it('is read again under one continuation if the upstream day has changed since', () => {
    const entry = { ...readAt(NOW, { upstreamDigest: '1:ab' }), continuation: 'q1' };
    const continuation = { id: 'q1', range: { from: day, to: day } };
    const dueWith = (digest: string) =>
      plan(ledgersOf({ [day]: entry }), policy, NOW_MS, { continuation, upstream: () => upstream(digest) });
    expect(dueWith('1:ab')).toEqual([]);
    expect(summary(dueWith('2:cd'))).toEqual(['2026-03-15 refresh']);
  });
});

const every = fc.constantFrom('run', '30 minutes', '6 hours', '1 day', '7 days', '30 days');
const tiers = fc
  .uniqueArray(fc.constantFrom(1, 2, 5, 14, 35, 60, 90), { minLength: 1, maxLength: 4 })
  .chain((ages) =>
    fc.tuple(
      ...ages
        .sort((a, b) => a - b)
        .map((untilAgeDays) => every.map((each) => ({ untilAgeDays, every: each }))),
    ),
  );
const zone = fc.constantFrom(
  ZONE,
  'UTC',
  'America/Santiago',
  'Australia/Lord_Howe',
  'Pacific/Kiritimati',
  'Africa/Cairo',
);
// Mostly settled days: otherwise there would hardly ever be a month to hide.
const kind = fc.oneof(
  { weight: 100, arbitrary: fc.constant('settled') },
  { weight: 10, arbitrary: fc.constantFrom('closed', 'unsettled', 'unconfirmed', 'disregarded') },
  { weight: 2, arbitrary: fc.constantFrom('none', 'open', 'otherwise', 'claimed', 'failed') },
);

describe('the hint that hides a month', () => {
  const month = '2026-03';
  const scene = fc.record({
    refresh: tiers,
    timeZone: zone,
    lateMinutes: fc.constantFrom(0, 15, 1440),
    words: fc.constantFrom<Policy['words'][]>(undefined, {}, { new: 'paid' }),
    startDate: fc.constantFrom('2026-01-01', '2026-03-17', '2026-03-31', '2026-04-02'),
    /** Hours since the month began. */
    hours: fc.integer({ min: 400, max: 2_000 }),
    /** For each day: its kind, and how many hours ago it was read. */
    days: fc.array(fc.tuple(kind, fc.constantFrom(0, 0, 1, 12, 72, 480)), { minLength: 31, maxLength: 31 }),
    steps: fc.array(fc.integer({ min: 0, max: 60 * DAY_MS }), { minLength: 1, maxLength: 4 }),
  });

  it('never hides a due day, and contains the exact time when a day is due', () => {
    fc.assert(
      fc.property(scene, ({ hours, days, steps, ...own }) => {
        const given: Policy = { ...policy, ...own };
        const nowMs = startOfDay(`${month}-01`, own.timeZone) + hours * HOUR_MS;
        const ledgers = ledgersOf(entriesOf(month, given, nowMs, days));
        const [ledger] = ledgers.values();
        if (!ledger) throw new Error('no ledger');
        const dueMs = monthDueAtMs(month, ledger, given, nowMs);
        const state = recordMonths(NO_STATE, new Map([[month, { dueMs }]]), 'p1', nowMs);
        const midnightAfter = (ms: number) => endOfDay(dayOf(ms, own.timeZone), own.timeZone) + 1_000;
        const times = steps.flatMap((step) => [nowMs + step, midnightAfter(nowMs + step)]);
        for (const atMs of [nowMs, midnightAfter(nowMs), ...times]) {
          if (!mayBeDue(state, 'p1', month, atMs)) expect(summary(plan(ledgers, given, atMs))).toEqual([]);
        }
        if (dueMs === null) return;
        const then = Math.max(dueMs, nowMs);
        expect([then, then + 1_000].flatMap((ms) => plan(ledgers, given, ms))).not.toEqual([]);
      }),
      runs(100),
    );
  });
});

/** The entries of a month's days as they may be at this time. */
function entriesOf(
  month: string,
  own: Policy,
  nowMs: number,
  days: [string, number][],
): Record<string, DayEntry> {
  const entries = days.map(([kind, hoursAgo], index): [string, DayEntry] => {
    const day = addDays(`${month}-01`, index);
    const startMs = startOfDay(day, own.timeZone);
    if (startMs + 1_000 > nowMs || day < own.startDate || kind === 'none') return [day, {}];
    const closesMs = closesAtMs(day, own);
    const canClose = closesMs <= nowMs && kind !== 'open';
    const fromMs = canClose ? closesMs : startMs;
    const at = new Date(Math.max(fromMs, nowMs - hoursAgo * HOUR_MS)).toISOString();
    const entry = readAt(at, {
      state: canClose ? closedState(kind) : 'open',
      values: { words: { status: { rows: { [kind === 'unsettled' ? 'new' : 'paid']: 1 } } } },
      queryFingerprint: kind === 'otherwise' ? 'once' : own.queryFingerprint,
    });
    if (kind === 'claimed') return [day, { ...entry, claim }];
    const disregarded = { at, rows: 0, queryFingerprint: own.queryFingerprint };
    if (kind === 'disregarded') return [day, { ...entry, disregarded }];
    return [day, kind === 'failed' ? { ...entry, failure: failure(at) } : entry];
  });
  return Object.fromEntries(entries);
}

function closedState(kind: string): VersionState {
  return kind === 'settled' || kind === 'unconfirmed' ? kind : 'closed';
}
