import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DAY_MS, HOUR_MS, addDays, dayOf, daysBetween, startOfDay } from '../../shared/base/days.ts';
import type { Committed, DayEntry } from '../../shared/lake/ledger.ts';
import {
  type Policy,
  closesAtMs,
  dueAtMs,
  isAfterRefresh,
  isLast,
  upstreamState,
} from '../../shared/planning/due.ts';
import { plan } from '../../shared/planning/plan.ts';
import { afterReading } from '../../shared/planning/transitions.ts';
import type { RefreshTier } from '../../shared/reports/definition.ts';
import { runs } from '../fixtures/property-runs.ts';
import {
  NOW,
  NOW_MS,
  ZONE,
  claim,
  failure,
  later,
  ledgersOf,
  policy as startingInMarch,
  readAt,
} from './entries.ts';

const policy: Policy = { ...startingInMarch, startDate: '2026-01-01' };

describe('a day may be closed', () => {
  it.each<[string, string, number, string]>([
    ['lateMinutes after its end', '2026-03-19', 15, '2026-03-20T04:15:00.000Z'],
    ['its end if lateMinutes is 0', '2026-03-19', 0, '2026-03-20T04:00:00.000Z'],
    ['lateMinutes after the end of a day of 23 hours', '2026-03-08', 15, '2026-03-09T04:15:00.000Z'],
    ['lateMinutes after the end of a day of 25 hours', '2026-11-01', 60, '2026-11-02T06:00:00.000Z'],
  ])('I2: no earlier than %s', (_name, day, lateMinutes, closes) => {
    expect(new Date(closesAtMs(day, { ...policy, lateMinutes })).toISOString()).toBe(closes);
  });

  it('I2: and is due in every run until then', () => {
    const open = readAt('2026-03-20T04:10:00.000Z', { state: 'open' });
    for (const now of ['2026-03-20T04:10:00.000Z', '2026-03-20T04:15:00.000Z', '2026-04-20T00:00:00.000Z']) {
      const due = plan(ledgersOf({ '2026-03-19': open }), policy, Date.parse(now));
      expect(due.map(({ day }) => day)).toContain('2026-03-19');
    }
  });
});

describe('a refresh', () => {
  const day = '2026-03-01';

  it.each<[string, string, string, string]>([
    [
      'in every run during the first tier',
      '2026-03-02T06:00:00.000Z',
      '2026-03-02',
      '2026-03-02T06:00:00.000Z',
    ],
    [
      'after the first tier, as the next tier requires',
      '2026-03-03T06:00:00.000Z',
      '2026-03-04',
      '2026-03-04T05:30:00.000Z',
    ],
    ['a day later, less half an hour', '2026-03-10T06:00:00.000Z', '2026-03-10', '2026-03-11T05:30:00.000Z'],
    ['seven days later', '2026-04-20T06:00:00.000Z', '2026-04-20', '2026-04-27T05:30:00.000Z'],
    [
      'a last time when the last tier ends',
      '2026-06-28T06:00:00.000Z',
      '2026-06-28',
      '2026-06-30T04:00:00.000Z',
    ],
    [
      'again after the last tier, if a reading that began at its end did not settle the day',
      '2026-06-30T04:00:00.000Z',
      '2026-06-30',
      '2026-07-07T03:30:00.000Z',
    ],
  ])('I11: is due %s', (_name, readFrom, today, due) => {
    expect(
      new Date(
        dueAtMs(day, readAt(readFrom), policy, startOfDay(today, ZONE) + 23 * HOUR_MS) ?? 0,
      ).toISOString(),
    ).toBe(due);
  });

  it.each<[string, RefreshTier[], string, string]>([
    [
      'a later tier with a shorter interval begins',
      [
        { untilAgeDays: 2, every: '30 days' },
        { untilAgeDays: 30, every: '1 day' },
      ],
      '2026-03-02T06:00:00.000Z',
      '2026-03-04T05:00:00.000Z',
    ],
    [
      'the next tier requires it, if the first tier ends before',
      [
        { untilAgeDays: 2, every: '1 day' },
        { untilAgeDays: 35, every: '7 days' },
      ],
      '2026-03-03T05:30:00.000Z',
      '2026-03-10T05:00:00.000Z',
    ],
    ['the day is closed and no tier is set', [], '2026-03-02T05:15:00.000Z', '2026-03-02T05:15:00.000Z'],
  ])('I11: is due when %s', (_name, refresh, readFrom, due) => {
    const at = dueAtMs(day, readAt(readFrom), { ...policy, refresh }, Date.parse(readFrom));
    expect(new Date(at ?? 0).toISOString()).toBe(due);
  });

  it.each([
    ['6 hours', 5.5],
    ['1 hour', 0.9],
    ['10 minutes', 0.15],
  ])(
    'with the interval %s is due a little early, so that an hourly schedule keeps its hour',
    (every, hours) => {
      const at = dueAtMs(day, readAt(NOW), { ...policy, refresh: [{ untilAgeDays: 90, every }] }, NOW_MS);
      expect(((at ?? 0) - NOW_MS) / HOUR_MS).toBeCloseTo(hours, 9);
    },
  );

  it.each<[string, string, Partial<Policy>, DayEntry, string]>([
    [
      'a day that every run reads waits for the interval',
      '2026-03-20T05:00:00.000Z',
      {},
      readAt('2026-03-20T05:00:00.000Z'),
      '2026-03-20T10:30:00.000Z',
    ],
    [
      'a longer interval of `refresh` counts',
      '2026-03-20T05:00:00.000Z',
      { refresh: [{ untilAgeDays: 90, every: '1 day' }] },
      readAt('2026-03-20T05:00:00.000Z'),
      '2026-03-21T04:30:00.000Z',
    ],
  ])('with `every`: %s', (_name, nowText, change, entry, due) => {
    const at = dueAtMs(
      day,
      entry,
      { ...policy, refresh: [{ untilAgeDays: 90, every: 'run' }], everyMs: 6 * HOUR_MS, ...change },
      Date.parse(nowText),
    );
    expect(new Date(at ?? 0).toISOString()).toBe(due);
  });

  it('with `every`, an open day waits for the interval, but not beyond the moment at which it may be closed', () => {
    const six = { ...policy, everyMs: 6 * HOUR_MS };
    const openAt = (readFrom: string) => {
      const at = dueAtMs(day, readAt(readFrom, { state: 'open' }), six, Date.parse(readFrom));
      return new Date(at ?? 0).toISOString();
    };
    // The day ends at 05:00 UTC, and is closed 15 minutes later.
    expect(openAt('2026-03-01T12:00:00.000Z')).toBe('2026-03-01T17:30:00.000Z');
    expect(openAt('2026-03-02T04:00:00.000Z')).toBe('2026-03-02T05:15:00.000Z');
    expect(dueAtMs(day, undefined, six, NOW_MS)).toBe(startOfDay(day, ZONE));
  });

  it.each<[string, DayEntry | undefined]>([
    ['that was never read', undefined],
    ['that is claimed', { ...readAt(NOW, { state: 'settled' }), claim }],
    ['that was read with other queries', readAt(NOW, { queryFingerprint: 'once' })],
    ['that is open', readAt(NOW, { state: 'open' })],
  ])('is due immediately for a day %s', (_name, entry) => {
    expect(dueAtMs(day, entry, policy, NOW_MS)).toBe(startOfDay(day, ZONE));
  });

  it.each<[string, string, string]>([
    ['when its backoff ends', later, later],
    ['when the longest backoff ends', '2026-03-21T15:00:00.000Z', '2026-03-21T15:00:00.000Z'],
  ])('is due for a failed day %s', (_name, retryAt, due) => {
    const failed = { failure: failure(retryAt) };
    expect(new Date(dueAtMs(day, failed, policy, NOW_MS) ?? 0).toISOString()).toBe(due);
  });

  it('is due immediately for a failed day if the settings have changed its queries', () => {
    const failed = { failure: { ...failure(later), queryFingerprint: 'once' } };
    expect(dueAtMs(day, failed, policy, NOW_MS)).toBe(NOW_MS);
  });

  it('waits for the backoff of a failed day if the settings have the same queries', () => {
    const failed = { failure: { ...failure(later), queryFingerprint: policy.queryFingerprint } };
    expect(dueAtMs(day, failed, policy, NOW_MS)).toBe(Date.parse(later));
  });

  it.each<[string, Partial<Committed>, number | null]>([
    ['that is settled is not due', { state: 'settled' }, null],
    ['that is not settled is due immediately', {}, startOfDay(day, ZONE)],
  ])('I11: after a change of the settings, a day %s', (_name, change, due) => {
    const entry = readAt(NOW, { ...change, timeZone: 'Europe/Berlin', queryFingerprint: 'once' });
    expect(dueAtMs(day, entry, policy, NOW_MS)).toBe(due);
  });

  it.each<[string, Partial<Policy>]>([
    ['the same', {}],
    ['a longer policy', { refresh: [{ untilAgeDays: 9000, every: '1 day' }] }],
    ['other states', { words: { new: 'void' } }],
    ['another time zone', { timeZone: 'Asia/Tokyo' }],
    ['other filters, key or units', { queryFingerprint: 'another' }],
  ])('I11: is never due for a settled day, whatever the settings are: %s', (_name, change) => {
    const settled = readAt(NOW, { state: 'settled', ...countsOf({ new: 2, paid: 3 }) });
    for (const nowMs of [NOW_MS, NOW_MS + 3650 * DAY_MS])
      expect(dueAtMs(day, settled, { ...policy, ...change }, nowMs)).toBeNull();
  });

  it('is not due for a settled day that a rollback or a rebuild has claimed', () => {
    const settled = { ...readAt(NOW, { state: 'settled' }), claim: { runId: 'r1', at: NOW } };
    expect(dueAtMs(day, settled, policy, NOW_MS)).toBeNull();
  });

  it.each<[string, Partial<Committed>, string, string]>([
    [
      'by the policy, counted from the disregarded reading',
      {},
      policy.queryFingerprint,
      '2026-03-21T14:30:00.000Z',
    ],
    [
      'by the policy, even if the version has other settings',
      { queryFingerprint: 'once' },
      policy.queryFingerprint,
      '2026-03-21T14:30:00.000Z',
    ],
    [
      'immediately, if the settings have changed again',
      { queryFingerprint: 'once' },
      'twice',
      '2026-03-01T05:00:00.000Z',
    ],
    [
      'by the policy, even if the day has never been read whole',
      { state: 'open' },
      policy.queryFingerprint,
      '2026-03-21T14:30:00.000Z',
    ],
  ])('I11: after a disregarded reading, is due %s', (_name, change, queryFingerprint, due) => {
    const disregarded = { at: NOW, rows: 0, queryFingerprint };
    const entry = { ...readAt('2026-03-02T06:00:00.000Z', change), disregarded };
    expect(new Date(dueAtMs(day, entry, policy, NOW_MS) ?? 0).toISOString()).toBe(due);
  });

  it('is never due for a day before the start date', () => {
    expect(dueAtMs(day, readAt(NOW, { state: 'open' }), startingInMarch, NOW_MS)).toBeNull();
  });
});

/** The rows of a version whose records have these states. */
function countsOf(rows: Readonly<Record<string, number>>) {
  const count = Object.values(rows).reduce((sum, each) => sum + each, 0);
  return { rows: count, values: { words: { status: { rows } } } };
}

describe('the last reading of a day', () => {
  const day = '2026-03-31';
  const own: Policy = { ...policy, words: {} };
  const atAge = (age: number) => startOfDay(addDays(day, age), ZONE);
  const final = countsOf({ paid: 5 });
  const unsettled = countsOf({ paid: 4, new: 1 });

  it.each<[string, Partial<Policy>, Partial<Committed>, number]>([
    ['after `refresh`, all records final', {}, final, 121],
    ['after `refresh`, without a record', {}, { ...final, rows: 0 }, 121],
    ['after `refresh`, if records have no states', { words: undefined }, { rows: 5 }, 121],
    ['after the limit, if a record can change', {}, unsettled, 401],
    ['after the limit, if the words were not counted', {}, { rows: 5 }, 401],
    [
      'after `refresh`, if the limit is shorter',
      { refresh: [{ untilAgeDays: 500, every: '7 days' }] },
      unsettled,
      501,
    ],
    ['when the day can be closed, without a tier', { refresh: [] }, final, 1],
  ])('I11: begins %s, and not before', (_name, change, counts, age) => {
    const given = { ...own, ...change };
    const firstMs = Math.max(atAge(age), closesAtMs(day, given));
    const version = { rows: 5, values: {}, ...counts };
    expect([firstMs - 1, firstMs].map((ms) => isLast(day, given, ms, version))).toEqual([false, true]);
  });

  it('is after `refresh` at the same age, whether or not records can change', () => {
    const ages = [120, 121, 401].map((age) => isAfterRefresh(day, own, atAge(age)));
    expect(ages).toEqual([false, true, true]);
  });

  it.each<[string, Partial<Policy>, number, Partial<Committed>, number]>([
    ['as `refresh` requires, even if all records are final', {}, 50, final, 7],
    ['every day at its age, even if all records are final', {}, 10, final, 1],
    ['every 14 days after `refresh`, if a record can change', {}, 121, unsettled, 14],
    ['every 14 days up to the limit', {}, 300, unsettled, 14],
    ['a last time after the limit', {}, 395, unsettled, 6],
    [
      'after a longer interval, if the last tier has a longer one',
      { refresh: [{ untilAgeDays: 100, every: '20 days' }] },
      121,
      unsettled,
      20,
    ],
    [
      'as if records could change, if the settings name another field',
      { fields: { state: 'stage' } },
      121,
      { ...final, values: { ...final.values, filled: { stage: 5 } } },
      14,
    ],
    ['in the next run if another reading has to agree', {}, 50, { ...final, state: 'unconfirmed' }, 0],
  ])('I11: comes after re-reads, which are due %s', (_name, change, age, committed, days) => {
    const nowMs = atAge(age) + 10 * HOUR_MS;
    const entry = readAt(new Date(nowMs).toISOString(), committed);
    const dueMs = dueAtMs(day, entry, { ...own, ...change }, nowMs) ?? Number.NaN;
    expect(daysBetween(day, dayOf(dueMs, ZONE))).toBe(age + days);
  });

  const lives = fc.record({
    isAlone: fc.boolean(),
    unsettledUntilAge: fc.constantFrom(0, 30, 130, 500),
    delays: fc.array(fc.integer({ min: 0, max: 5 * HOUR_MS }), { minLength: 5, maxLength: 5 }),
    answers: fc.array(fc.constantFrom('same', 'more', 'fewer', 'none', 'other', 'fails'), {
      minLength: 40,
      maxLength: 40,
    }),
  });

  it('I11: comes for every sequence of readings, never too early, and loses no record that can no longer change', () => {
    fc.assert(
      fc.property(lives, ({ isAlone, unsettledUntilAge, delays, answers }) => {
        let committed: Committed | undefined;
        let nowMs = closesAtMs(day, own);
        let late = 0;
        for (let reading = 0; committed?.state !== 'settled'; reading += 1) {
          const before: Committed | undefined = committed;
          const past = isAfterRefresh(day, own, nowMs);
          if (past) late += 1;
          // 21 readings in 280 days, each confirmed once, and twelve that contradict.
          expect(late).toBeLessThan(55);
          const answer = before ? (answers[reading % 40] ?? 'same') : 'more';
          const rows = { same: 0, other: 0, more: 1, fewer: -1, none: -1e9, fails: 0 }[answer];
          const count = Math.max(0, (before?.rows ?? 4) + rows);
          const content = countsOf({ [nowMs < atAge(unsettledUntilAge) ? 'new' : 'paid']: count });
          const isSame = answer === 'same' || (content.rows === before?.rows && content.rows === 0);
          const digest = isSame && before ? before.digest : String(reading);
          const last = isLast(day, own, nowMs, content);
          const next = afterReading(
            before,
            answer === 'fails'
              ? { kind: 'failed' }
              : {
                  ...{ kind: 'whole', rows: content.rows, digest, queryFingerprint: own.queryFingerprint },
                  ...{ isAlone, isAccepted: false },
                },
            { last: answer === 'fails' ? past : last, past },
          );
          if (!next) throw new Error('it was refused');
          const stays = next.outcome.keeps || answer === 'fails';
          const readFrom = new Date(nowMs).toISOString();
          const { contradictions: _before, ...version } =
            stays && before ? before : readAt(readFrom, { ...content, digest }).committed;
          committed = { ...version, ...next.recorded, timeZone: ZONE };
          if (past && before) expect(committed.rows).toBeGreaterThan(before.rows === 0 ? -1 : 0);
          const entry: DayEntry = {
            committed,
            ...(stays && {
              disregarded: { at: readFrom, rows: 0, queryFingerprint: own.queryFingerprint },
            }),
          };
          if (committed.state === 'settled') {
            expect(nowMs).toBeGreaterThanOrEqual(atAge(121));
            expect(dueAtMs(day, entry, own, nowMs + 9000 * DAY_MS)).toBeNull();
          } else {
            const dueMs = dueAtMs(day, entry, own, nowMs) ?? Number.NaN;
            nowMs = Math.max(dueMs, nowMs + HOUR_MS) + (delays[reading % 5] ?? 0);
          }
        }
      }),
      runs(50),
    );
  });
});

describe('refused lookups', () => {
  const day = '2026-03-18';
  const upstream = { digest: '1:cd', closed: true, readFrom: NOW };
  const tiers: Policy = { ...policy, refresh: [{ untilAgeDays: 2, every: '1 day' }] };
  const retry = (retryAt?: string) => ({
    upstreamDigest: upstream.digest,
    refusedLookups: { count: 1, ...(retryAt !== undefined && { retryAt }) },
  });
  const soon = '2026-03-20T16:00:00.000Z';
  /** Read two hours ago; the day is due again tomorrow. */
  const readToday = '2026-03-20T13:00:00.000Z';

  it.each<[string, DayEntry, string | null]>([
    ['are due at their retry time', readAt(readToday, retry(soon)), soon],
    ['are not due once they are given up', readAt(readToday, { ...retry(), state: 'settled' }), null],
    [
      'do not delay the whole day',
      readAt('2026-03-19T05:00:00.000Z', retry(later)),
      '2026-03-20T04:30:00.000Z',
    ],
    ['are due if the day is open and unchanged', readAt(readToday, { ...retry(soon), state: 'open' }), soon],
    [
      'are due alone after the last reading',
      readAt('2026-03-21T05:00:00.000Z', retry('2026-03-22T05:00:00.000Z')),
      '2026-03-22T05:00:00.000Z',
    ],
    [
      'do not delay the confirmation of the last reading',
      readAt('2026-03-21T05:00:00.000Z', { ...retry('2026-03-29T05:00:00.000Z'), state: 'unconfirmed' }),
      '2026-03-21T05:00:00.000Z',
    ],
    [
      'do not hasten the retry of a failed day',
      { ...readAt(readToday, retry(soon)), failure: failure(later) },
      later,
    ],
  ])('of a day %s', (_name, entry, due) => {
    const open = entry.committed?.state === 'open';
    const nowMs = Math.max(NOW_MS, Date.parse(entry.committed?.readFrom ?? NOW));
    const dueMs = dueAtMs(day, entry, tiers, nowMs, { ...upstream, closed: !open });
    expect(dueMs === null ? null : new Date(dueMs).toISOString()).toBe(due);
  });
});

describe('the state of an upstream day for lookups', () => {
  it.each<[string, Committed['state'], boolean]>([
    ['closed', 'closed', true],
    ['settled', 'settled', true],
    ['open', 'open', false],
  ])('is its digest, the time of its reading, and whether it is closed: %s', (_name, state, closed) => {
    expect(upstreamState(readAt(NOW, { digest: '2:cd', state }))).toEqual({
      digest: '2:cd',
      readFrom: NOW,
      closed,
    });
  });

  it.each<[string, DayEntry | undefined]>([
    ['it was never read', undefined],
    ['it has no committed version', { claim }],
  ])('is undefined if %s', (_name, entry) => {
    expect(upstreamState(entry)).toBeUndefined();
  });
});
