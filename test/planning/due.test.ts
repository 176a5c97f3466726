import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DAY_MS, HOUR_MS, addDays, dayOf, daysBetween, daysFrom, startOfDay } from '../../shared/days.ts';
import type { Committed, DayEntry } from '../../shared/lake/documents/ledger.ts';
import {
  type Policy,
  closesAtMs,
  daysWatched,
  disagreementsAfter,
  doubtOf,
  dueAtMs,
  isBehindPolicy,
  isEmptied,
  monthDueAtMs,
  neverAgrees,
  onlyRefusedDue,
  settles,
  upstreamState,
} from '../../shared/planning/due.ts';
import { marked } from '../../shared/lake/documents/cas-document.ts';
import { plan } from '../../shared/planning/plan.ts';
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
  old,
  policy as startingInMarch,
  readAhead,
  readAt,
  recent,
} from './entries.ts';

const policy: Policy = { ...startingInMarch, startDate: '2026-01-01' };

describe('a day is closed', () => {
  it.each<[string, string, number, string]>([
    ['lateMinutes after its end', '2026-03-19', 15, '2026-03-20T04:15:00.000Z'],
    ['its end where lateMinutes is 0', '2026-03-19', 0, '2026-03-20T04:00:00.000Z'],
    ['lateMinutes after the end of a day of 23 hours', '2026-03-08', 15, '2026-03-09T04:15:00.000Z'],
    ['lateMinutes after the end of a day of 25 hours', '2026-11-01', 60, '2026-11-02T06:00:00.000Z'],
  ])('I2: no earlier than %s', (_name, day, lateMinutes, closes) => {
    expect(new Date(closesAtMs(day, { ...policy, lateMinutes })).toISOString()).toBe(closes);
  });

  it('I2: and due in every run until then', () => {
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
    ['in every run while it is young', '2026-03-02T06:00:00.000Z', '2026-03-02', '2026-03-02T06:00:00.000Z'],
    [
      'after its youth as the next tier has it',
      '2026-03-03T06:00:00.000Z',
      '2026-03-04',
      '2026-03-04T05:30:00.000Z',
    ],
    ['a day later, less half an hour', '2026-03-10T06:00:00.000Z', '2026-03-10', '2026-03-11T05:30:00.000Z'],
    ['seven days later', '2026-04-20T06:00:00.000Z', '2026-04-20', '2026-04-27T05:30:00.000Z'],
    [
      'as the next tier has it, where that holds by then',
      '2026-04-05T12:00:00.000Z',
      '2026-04-05',
      '2026-04-12T11:30:00.000Z',
    ],
    [
      'a last time behind the last tier, not later',
      '2026-06-28T06:00:00.000Z',
      '2026-06-28',
      '2026-06-30T04:00:00.000Z',
    ],
    [
      'a last time, whenever it was read last',
      '2026-03-02T06:00:00.000Z',
      '2026-12-01',
      '2026-06-30T04:00:00.000Z',
    ],
    [
      'again behind the last tier, until it settles',
      '2026-07-10T06:00:00.000Z',
      '2026-07-10',
      '2026-07-17T05:30:00.000Z',
    ],
    [
      'again behind the last tier, where a pass that began as it ended did not settle it',
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
      'a later tier that reads in every run begins',
      [
        { untilAgeDays: 5, every: '7 days' },
        { untilAgeDays: 9, every: 'run' },
      ],
      '2026-03-03T06:00:00.000Z',
      '2026-03-07T05:00:00.000Z',
    ],
    [
      'the only tier ends',
      [{ untilAgeDays: 2, every: '7 days' }],
      '2026-03-02T06:00:00.000Z',
      '2026-03-04T05:00:00.000Z',
    ],
    [
      'the next tier has it, where the first one ends before',
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

  it('I11: is due immediately where a clock that was ahead has read or settled it', () => {
    for (const change of [{}, { state: 'settled' }]) {
      const ahead = readAhead('2027-01-01T00:00:00.000Z', change);
      expect(dueAtMs(day, ahead, policy, NOW_MS)).toBe(startOfDay(day, ZONE));
      expect(upstreamState(ahead)).toBeUndefined();
    }
  });

  it.each([
    ['6 hours', 5.5],
    ['1 hour', 0.9],
    ['10 minutes', 0.15],
  ])('of every %s comes a little early, so that an hourly schedule keeps its hour', (every, hours) => {
    const at = dueAtMs(day, readAt(NOW), { ...policy, refresh: [{ untilAgeDays: 90, every }] }, NOW_MS);
    expect(((at ?? 0) - NOW_MS) / HOUR_MS).toBeCloseTo(hours, 9);
  });

  it.each<[string, DayEntry | undefined]>([
    ['that was never read', undefined],
    ['that is claimed', { ...readAt(NOW, { state: 'settled' }), claim }],
    ['that was read with other queries', readAt(NOW, { state: 'settled', queryFingerprint: 'once' })],
    ['that is open', readAt(NOW, { state: 'open' })],
  ])('is due immediately for a day %s', (_name, entry) => {
    expect(dueAtMs(day, entry, policy, NOW_MS)).toBe(startOfDay(day, ZONE));
  });

  it.each<[string, string, string]>([
    ['when its backoff ends', later, later],
    ['at the longest when the longest backoff ends', '2026-03-21T15:00:00.000Z', '2026-03-21T15:00:00.000Z'],
  ])('is due for a failed day %s', (_name, retryAt, due) => {
    const failed = { failure: failure(retryAt) };
    expect(new Date(dueAtMs(day, failed, policy, NOW_MS) ?? 0).toISOString()).toBe(due);
  });

  it('is due immediately for a failed day where a clock that was ahead recorded the failure', () => {
    const failed = marked(failure('2026-03-22T15:00:00.000Z'), '2026-03-21T15:00:00.000Z', () => NOW_MS);
    expect(dueAtMs(day, { failure: failed }, policy, NOW_MS)).toBe(NOW_MS);
  });

  it('is due immediately for a failed day that the settings now query otherwise', () => {
    const failed = { failure: { ...failure(later), queryFingerprint: 'once' } };
    expect(dueAtMs(day, failed, policy, NOW_MS)).toBe(NOW_MS);
  });

  it('waits for a failed day that the settings still query as they did', () => {
    const failed = { failure: { ...failure(later), queryFingerprint: policy.queryFingerprint } };
    expect(dueAtMs(day, failed, policy, NOW_MS)).toBe(Date.parse(later));
  });

  it.each<[string, boolean, string, number | null]>([
    ['that is settled: it stays whole in its zone', true, 'Europe/Berlin', null],
    ['that still has readings to come', false, 'Europe/Berlin', startOfDay(day, ZONE)],
    [
      'that is settled, if the zone is the same and the queries are others',
      true,
      ZONE,
      startOfDay(day, ZONE),
    ],
  ])('after a change of the time zone, of a day %s', (_name, settled, timeZone, due) => {
    const entry = readAt(NOW, { settled, timeZone, queryFingerprint: 'once' });
    expect(dueAtMs(day, entry, policy, NOW_MS)).toBe(due);
  });

  it('I11: is never due for a settled day', () => {
    const settled = readAt(NOW, { state: 'settled' });
    expect(dueAtMs(day, settled, policy, NOW_MS + 3650 * DAY_MS)).toBeNull();
  });

  it.each<[string, RefreshTier[], boolean]>([
    ['as long', [{ untilAgeDays: 120, every: '1 day' }], false],
    ['shorter', [{ untilAgeDays: 2, every: 'run' }], false],
    ['longer', [{ untilAgeDays: 121, every: '7 days' }], true],
  ])('I11: reaches a settled day where the policy now watches %s', (_name, refresh, isDue) => {
    const settled = readAt('2026-06-30T05:00:00.000Z', { state: 'settled' });
    const nowMs = Date.parse('2027-01-01T00:00:00.000Z');
    const due = dueAtMs(day, settled, { ...policy, refresh }, nowMs);
    expect(due !== null && due <= nowMs).toBe(isDue);
  });

  it('is never due for a day before the start date', () => {
    expect(dueAtMs(day, readAt(NOW, { state: 'open' }), startingInMarch, NOW_MS)).toBeNull();
  });
});

describe('a day settles', () => {
  // The last one of its month: the plan looks at no other.
  const day = '2026-03-31';
  const lastCall = Date.parse('2026-07-30T04:00:00.000Z');

  const once = {};
  const twice = {};

  it.each<[string, boolean, number, Pick<Committed, 'identicalPasses' | 'resumed'>, boolean]>([
    ['with the first pass behind the last tier', true, lastCall, once, true],
    ['not with a pass of the last tier', true, lastCall - 1, twice, false],
    ['not with a pass that several runs read', true, lastCall, { ...once, resumed: true }, false],
    ['with a pass that several runs read and another one', true, lastCall, { ...twice, resumed: true }, true],
    ['not with a first pass of numbered pages', false, lastCall, once, false],
    ['with the second of two passes of numbered pages that agree', false, lastCall, twice, true],
    ['not with two that agree too early', false, lastCall - 1, twice, false],
  ])('I11: or stays unsettled: %s', (_name, pagesAreSnapshot, readFromMs, passes, settled) => {
    expect(settles(day, { ...policy, pagesAreSnapshot }, readFromMs, passes)).toBe(settled);
  });

  it('I2: not before it can be closed, whatever the tiers say', () => {
    const eager = { ...policy, refresh: [], lateMinutes: 1440 };
    const closes = closesAtMs(day, eager);
    expect([closes - 1, closes].map((ms) => settles(day, eager, ms, once))).toEqual([false, true]);
  });

  it.each([
    ['pages that are a snapshot', true],
    ['numbered pages', false],
  ])('I11: is read as long as it can change, and not after: %s', (_name, pagesAreSnapshot) => {
    const gaps = fc.array(fc.integer({ min: HOUR_MS, max: 20 * DAY_MS }), { minLength: 60, maxLength: 60 });
    const flags = fc.array(fc.boolean(), { minLength: 60, maxLength: 60 });
    fc.assert(
      fc.property(gaps, flags, flags, (waits, changed, resumed) => {
        const own = { ...policy, pagesAreSnapshot, startDate: day };
        const passes: { at: number; digest: number; resumed: boolean }[] = [];
        let entry: DayEntry = {};
        let digest = 0;
        let nowMs = startOfDay(day, ZONE) + 1_000;
        for (const [index, wait] of waits.entries()) {
          if (changed[index] && nowMs < lastCall) digest += 1;
          const due = plan(ledgersOf({ [day]: entry }), own, nowMs).some((each) => each.day === day);
          if (due) {
            expect(entry.committed?.settled ?? false).toBe(false);
            const pass = { at: nowMs, digest, resumed: resumed[index] ?? false };
            passes.push(pass);
            entry = afterPass(day, own, entry, pass);
          }
          nowMs += wait;
        }
        const isProofAlone = pagesAreSnapshot && !passes.at(-1)?.resumed;
        const last = passes.slice(isProofAlone ? -1 : -2);
        const isOver = nowMs > lastCall + 60 * DAY_MS;
        if (isOver) expect(entry.committed?.settled).toBe(true);
        if (entry.committed?.settled) {
          expect(passes.at(-1)?.at).toBeGreaterThanOrEqual(lastCall);
          expect(last.map((pass) => pass.digest)).toEqual(last.map(() => digest));
        }
      }),
      runs(10),
    );
  });
});

describe('a day whose records have states', () => {
  const day = '2026-03-31';
  const own: Policy = { ...policy, statesFingerprint: 'now' };
  const atAge = (age: number) => startOfDay(addDays(day, age), ZONE) + 10 * HOUR_MS;
  const isoAtAge = (age: number) => new Date(atAge(age)).toISOString();
  const final = { rows: 5, unsettled: 0, statesFingerprint: 'now' };
  const unsettled = { rows: 5, unsettled: 1, statesFingerprint: 'now' };
  const twice = {};
  const once = {};

  type Pass = Parameters<typeof settles>[3];
  it.each<[string, Partial<Policy>, number, Pass, boolean]>([
    ['with the second of two passes that agree, all records final', {}, 10, { ...final, ...twice }, true],
    ['the day after its close', {}, 2, { ...final, ...twice }, true],
    ['not within hours of its close, however many agree', {}, 1, { ...final }, false],
    [
      'not within hours of its close, where pages are numbered',
      { pagesAreSnapshot: false },
      1,
      { ...final, ...twice },
      false,
    ],
    ['within hours of its close where the policy is over', { refresh: [] }, 1, { ...final, ...once }, true],
    ['not with one pass, though its pages are a snapshot', {}, 10, { ...final, ...once }, false],
    ['not with one pass of numbered pages', { pagesAreSnapshot: false }, 10, { ...final, ...once }, false],
    ['with two of numbered pages', { pagesAreSnapshot: false }, 10, { ...final, ...twice }, true],
    ['with two, of which the last was resumed', {}, 10, { ...final, ...twice, resumed: true }, true],
    ['not with a record that can change', {}, 10, { ...unsettled, ...twice }, false],
    ['not without a record', {}, 10, { ...final, rows: 0, ...twice }, false],
    ['not where nobody counted', {}, 10, { rows: 5, ...twice }, false],
    ['not where other states were counted', {}, 10, { ...final, statesFingerprint: 'then', ...twice }, false],
    [
      'not where the report has no states any more',
      { statesFingerprint: undefined },
      10,
      { ...final, ...twice },
      false,
    ],
    ['with one pass behind the policy, all records final', {}, 121, { ...final, ...once }, true],
    ['with one pass behind the policy, without a record', {}, 121, { ...final, rows: 0, ...once }, true],
    ['not behind the policy with a record that can change', {}, 121, { ...unsettled, ...twice }, false],
    ['not at the limit with a record that can change', {}, 365, { ...unsettled, ...twice }, false],
    ['behind the limit, whatever can change', {}, 366, { ...unsettled, ...once }, true],
    ['behind a limit of its own', { watchUnsettledDays: 200 }, 201, { ...unsettled, ...once }, true],
    [
      'behind the policy where the limit is shorter',
      { watchUnsettledDays: 90 },
      121,
      { ...unsettled, ...once },
      true,
    ],
    [
      'not before, where the limit is shorter',
      { watchUnsettledDays: 90 },
      100,
      { ...unsettled, ...twice },
      false,
    ],
  ])('I11: settles or not: %s', (_name, change, age, pass, settled) => {
    expect(settles(day, { ...own, ...change }, atAge(age), pass)).toBe(settled);
  });

  it('I11: settles no sooner than a day behind its close, less half an hour for the schedule', () => {
    const provenMs = closesAtMs(day, own) + 23.5 * HOUR_MS;
    const pass = { ...final, ...twice };
    expect([provenMs - 1, provenMs].map((ms) => settles(day, own, ms, pass))).toEqual([false, true]);
  });

  it.each<[string, Partial<Policy>, number, Partial<Committed>, number]>([
    ['every day while the policy says so', {}, 10, unsettled, 1],
    ['every week while the policy says so', {}, 50, unsettled, 7],
    ['every week behind the policy', {}, 121, unsettled, 7],
    ['every week up to 180 days', {}, 173, unsettled, 7],
    ['every month from then on', {}, 181, unsettled, 30],
    ['a last time behind the limit', {}, 340, unsettled, 26],
    ['behind a short policy every week', { refresh: [{ untilAgeDays: 2, every: 'run' }] }, 20, unsettled, 7],
    [
      'behind a policy of long intervals no more often than it has them',
      { refresh: [{ untilAgeDays: 100, every: '20 days' }] },
      121,
      unsettled,
      20,
    ],
    [
      'as if records could change, where other states were counted',
      {},
      121,
      { ...final, statesFingerprint: 'then' },
      7,
    ],
    ['a day later where all records are final', {}, 50, final, 1],
    [
      'with the next run where all records are final and the reading is in doubt',
      {},
      50,
      { ...final, state: 'unconfirmed' },
      0,
    ],
  ])('I11: is due again %s', (_name, change, age, committed, days) => {
    const given = { ...own, ...change };
    const dueMs = dueAtMs(day, readAt(isoAtAge(age), committed), given, atAge(age)) ?? Number.NaN;
    expect(daysBetween(day, dayOf(dueMs, ZONE))).toBe(age + days);
  });

  it('I11: is due with the next run where all records are final and each run reads it', () => {
    expect(dueAtMs(day, readAt(isoAtAge(1), final), own, atAge(1))).toBe(atAge(1));
  });

  it('I11: is not hurried where all records are final at the last tier, and the field of one is never the same', () => {
    const entry = readAt(isoAtAge(122), { ...final });
    const dueMs = dueAtMs(day, entry, { ...own, pagesAreSnapshot: false }, atAge(122)) ?? Number.NaN;
    expect(daysBetween(day, dayOf(dueMs, ZONE))).toBe(129);
  });

  it.each<[string, Partial<Policy>, Partial<Committed>, boolean]>([
    ['as it was', {}, { ...final }, false],
    [
      'with a longer policy, all records final',
      { refresh: [{ untilAgeDays: 900, every: '1 day' }] },
      { ...final },
      false,
    ],
    ['with other states', { statesFingerprint: 'other' }, { ...final }, true],
    [
      'with other states, read when it was older than any limit',
      { statesFingerprint: 'other' },
      { ...final },
      false,
    ],
    ['with states that the report did not have', {}, { rows: 5 }, true],
    ['without the states that it had', { statesFingerprint: undefined }, { ...final }, true],
    [
      'without the states that it had, read behind the policy',
      { statesFingerprint: undefined },
      { ...final },
      false,
    ],
    ['with a longer limit', { watchUnsettledDays: 400 }, { ...unsettled }, true],
    ['with a longer limit, all records final', { watchUnsettledDays: 400 }, { ...final }, false],
    ['with a shorter limit', { watchUnsettledDays: 0 }, { ...unsettled }, false],
  ])(
    'I11: is due again once settled, where the settings would not have it settled: %s',
    (_name, change, committed, isDue) => {
      const settled = readAt(isoAtAge((committed.watchedDays ?? 0) + 1), {
        ...committed,
        state: 'settled',
      });
      const nowMs = atAge(500);
      const dueMs = dueAtMs(day, settled, { ...own, ...change }, nowMs);
      expect(dueMs !== null && dueMs <= nowMs).toBe(isDue);
    },
  );

  it.each<[string, Partial<Policy>, number]>([
    ['the limit', {}, 365],
    ['the policy, where it is longer', { watchUnsettledDays: 30 }, 120],
    ['the policy, where records have no states', { statesFingerprint: undefined }, 120],
  ])('is watched at most up to the age of %s', (_name, change, days) => {
    expect(daysWatched({ ...own, ...change })).toBe(days);
  });

  it('is behind the policy at the same age, whatever its records are', () => {
    expect([120, 121].map((age) => isBehindPolicy(day, own, startOfDay(addDays(day, age), ZONE)))).toEqual([
      false,
      true,
    ]);
  });

  const history = fc.record({
    /** How long after a due time the run comes. */
    delays: fc.array(fc.integer({ min: 0, max: 5 * HOUR_MS }), { minLength: 5, maxLength: 5 }),
    /** The ages in days at which the content changes, and whether a record can change from then on. */
    changes: fc.array(fc.tuple(fc.integer({ min: 0, max: 400 }), fc.boolean()), { maxLength: 12 }),
    resumed: fc.array(fc.boolean(), { minLength: 7, maxLength: 7 }),
    pagesAreSnapshot: fc.boolean(),
    watchUnsettledDays: fc.constantFrom(0, 50, 130, 365),
  });

  it('I11: is watched while a record can change up to the limit, and by no policy for ever', () => {
    let early = 0;
    fc.assert(
      fc.property(history, ({ delays, changes, resumed, ...given }) => {
        const policyOfDay = { ...own, ...given, startDate: day };
        const changesAt = changes.map(([age, canChange]) => ({ ms: atAge(age), canChange }));
        const contentAt = (ms: number) => {
          const past = changesAt.filter((change) => change.ms <= ms).sort((a, b) => a.ms - b.ms);
          return { digest: past.length, unsettled: (past.at(-1)?.canChange ?? true) ? 1 : 0 };
        };
        let entry: DayEntry = {};
        let nowMs = closesAtMs(day, policyOfDay);
        let passes = 0;
        for (; passes < 1_000 && !entry.committed?.settled; passes += 1) {
          const pass = { at: nowMs, ...contentAt(nowMs), resumed: resumed[passes % 7] ?? false };
          entry = afterPass(day, policyOfDay, entry, pass);
          const dueMs = dueAtMs(day, entry, policyOfDay, nowMs);
          if (entry.committed?.settled) {
            expect(dueMs).toBeNull();
            const lastWatched = startOfDay(addDays(day, daysWatched(policyOfDay) + 1), ZONE);
            if (pass.unsettled > 0) expect(pass.at).toBeGreaterThanOrEqual(lastWatched);
            else if (!isBehindPolicy(day, policyOfDay, pass.at)) early += 1;
            break;
          }
          if (dueMs === null) throw new Error('a day that is not settled is due some time');
          nowMs = Math.max(dueMs, nowMs + HOUR_MS) + (delays[passes % 5] ?? 0);
        }
        expect(entry.committed?.settled).toBe(true);
        expect(passes).toBeLessThan(250);
      }),
      { numRuns: 200 },
    );
    expect(early).toBeGreaterThan(20);
  });
});

/** The entry as a commit leaves it after a whole pass. */
function afterPass(
  day: string,
  own: Policy,
  { committed }: DayEntry,
  pass: { at: number; digest: number; resumed: boolean; unsettled?: number; rows?: number; pages?: number },
): DayEntry {
  const { rows = 1, pages = 2 } = pass;
  const closed = pass.at >= closesAtMs(day, own);
  const digest = String(pass.digest);
  const isSame = committed?.state === 'closed' && committed.digest === digest;
  const passes = {
    identicalPasses: closed ? (isSame ? committed.identicalPasses : 0) + 1 : 0,
    resumed: pass.resumed,
  };
  const reading = { unchanged: committed?.digest === digest, recordPages: pages, rows };
  const { mayBeLast, ...doubt } = doubtOf(own, reading, committed);
  const { statesFingerprint } = own;
  const counts = { rows, unsettled: pass.unsettled, statesFingerprint };
  const compared = { ...counts, unchanged: reading.unchanged, readFromMs: pass.at };
  const disagreements = disagreementsAfter(day, own, compared, committed);
  const agrees = mayBeLast && settles(day, own, pass.at, { ...passes, ...counts });
  const isGivenUp = !agrees && neverAgrees({ ...reading, ...doubt, disagreements }, committed);
  const settled = closed && (agrees || isGivenUp);
  return readAt(new Date(pass.at).toISOString(), {
    ...passes,
    digest,
    ...doubt,
    state: closed ? 'closed' : 'open',
    ...counts,
    settled,
    ...(settled && { watchedDays: daysBetween(day, dayOf(pass.at, ZONE)) - 1 }),
    ...(settled && isGivenUp && { settledBy: 'given_up' }),
    disagreements,
  });
}

describe('a day that has another content in every answer', () => {
  const day = '2026-03-31';
  const own: Policy = { ...policy, startDate: day, statesFingerprint: 'now' };
  const lastMs = startOfDay(addDays(day, 121), ZONE);
  const behind = { rows: 5, unsettled: 0, statesFingerprint: 'now', unchanged: false, readFromMs: lastMs };
  const differed = { state: 'closed', queryFingerprint: own.queryFingerprint, contradictions: 1 } as const;

  it.each<[string, Partial<typeof behind>, Parameters<typeof disagreementsAfter>[3], number]>([
    ['one more behind the policy', {}, differed, 2],
    ['the first', {}, { ...differed, contradictions: undefined }, 1],
    ['none where it agrees', { unchanged: true }, differed, 0],
    ['none while the policy asks for more', { readFromMs: lastMs - 1 }, differed, 0],
    ['none while a record can change', { unsettled: 1 }, differed, 0],
    ['none behind a reading of the open day', {}, { ...differed, state: 'open' }, 0],
    ['none behind a reading by other queries', {}, { ...differed, queryFingerprint: 'once' }, 0],
    ['none where there is nothing to be compared', {}, undefined, 0],
  ])('I11: counts %s', (_name, change, before, count) => {
    expect(disagreementsAfter(day, own, { ...behind, ...change }, before)).toBe(count);
  });

  const third = { contradictions: 3, rows: 5 };
  it.each<[string, Partial<typeof third>, { rows: number } | undefined, boolean]>([
    ['with the third that differs', {}, { rows: 5 }, true],
    ['with more records than before', {}, { rows: 4 }, true],
    ['not with the second', { contradictions: 2 }, { rows: 5 }, false],
    ['not with fewer records than before', {}, { rows: 6 }, false],
    ['not while another reading is to confirm it', { state: 'unconfirmed' }, { rows: 5 }, false],
  ])('I11: is given up, or not: %s', (_name, change, before, expected) => {
    expect(neverAgrees({ ...third, ...change }, before)).toBe(expected);
  });

  const answers = fc.record({
    pagesAreSnapshot: fc.boolean(),
    watchUnsettledDays: fc.constantFrom(0, 130, 365),
    unsettled: fc.constantFrom(0, 1),
    pages: fc.integer({ min: 1, max: 3 }),
    resumed: fc.array(fc.boolean(), { minLength: 7, maxLength: 7 }),
    rows: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 11, maxLength: 11 }),
    delays: fc.array(fc.integer({ min: 0, max: 5 * HOUR_MS }), { minLength: 5, maxLength: 5 }),
  });

  it('I11: is not read for ever, and never settles on an answer that lacks records', () => {
    let givenUp = 0;
    fc.assert(
      fc.property(answers, ({ pagesAreSnapshot, watchUnsettledDays, unsettled, pages, ...given }) => {
        const policyOfDay = { ...own, pagesAreSnapshot, watchUnsettledDays };
        const overMs = startOfDay(addDays(day, unsettled ? daysWatched(policyOfDay) + 1 : 121), ZONE);
        let entry: DayEntry = {};
        let nowMs = closesAtMs(day, policyOfDay);
        let behindPolicy = 0;
        for (let passes = 0; !entry.committed?.settled; passes += 1) {
          expect(behindPolicy).toBeLessThan(30);
          const before = entry.committed;
          const [rows = 1, resumed = false] = [given.rows[passes % 11], given.resumed[passes % 7]];
          entry = afterPass(day, policyOfDay, entry, {
            ...{ at: nowMs, digest: passes, resumed, unsettled, rows, pages },
          });
          if (nowMs >= overMs) behindPolicy += 1;
          if (entry.committed?.settled) {
            expect(nowMs).toBeGreaterThanOrEqual(overMs);
            if (entry.committed.lastReadingGivenUp) givenUp += 1;
            if (!pagesAreSnapshot) expect(rows).toBeGreaterThanOrEqual(before?.rows ?? 0);
            break;
          }
          const dueMs = dueAtMs(day, entry, policyOfDay, nowMs) ?? Number.NaN;
          nowMs = Math.max(dueMs, nowMs + HOUR_MS) + (given.delays[passes % 5] ?? 0);
        }
        expect(dueAtMs(day, entry, policyOfDay, nowMs)).toBeNull();
      }),
      { numRuns: 200 },
    );
    expect(givenUp).toBeGreaterThan(20);
  });
});

describe('a reading that records may have moved in', () => {
  const numbered = { ...policy, pagesAreSnapshot: false };
  const changed = { unchanged: false, recordPages: 2, rows: 10 };

  const closed = (rows: number, contradictions = 0, confirmed = true) =>
    ({ rows, state: 'closed', confirmed, contradictions }) as const;

  it.each<[string, Policy, Parameters<typeof doubtOf>[1], { rows: number } | undefined, boolean]>([
    ['a first one of several pages', numbered, changed, undefined, true],
    ['a changed one of several pages', numbered, changed, { rows: 10 }, true],
    [
      'a changed one of one page with fewer rows',
      numbered,
      { ...changed, recordPages: 1 },
      { rows: 11 },
      true,
    ],
    ['not one of one page', numbered, { ...changed, recordPages: 1 }, { rows: 10 }, false],
    ['not the first one, of one page', numbered, { ...changed, recordPages: 1 }, undefined, false],
    ['not one that changed nothing', numbered, { ...changed, unchanged: true }, { rows: 10 }, false],
    ['not one whose pages are a snapshot', policy, changed, { rows: 10 }, false],
    ['one that lacks records, though its pages are a snapshot', policy, changed, { rows: 11 }, true],
    ['a first one without records', policy, { ...changed, recordPages: 0, rows: 0 }, undefined, true],
    [
      'one without records that changed nothing',
      policy,
      { ...changed, unchanged: true, rows: 0 },
      undefined,
      false,
    ],
  ])('I11: has to be confirmed: %s', (_name, own, reading, before, needed) => {
    expect(doubtOf(own, reading, before && closed(before.rows))).toEqual({
      confirmed: !needed,
      mayBeLast: !needed,
    });
  });

  it.each<[string, Parameters<typeof doubtOf>[2], ReturnType<typeof doubtOf>]>([
    ['a confirmed one', closed(10), { state: 'unconfirmed', mayBeLast: false }],
    [
      'one of the open day',
      { ...closed(10, 2, false), state: 'open' },
      { state: 'unconfirmed', mayBeLast: false },
    ],
    ['one to confirm', closed(10, 0, false), { state: 'unconfirmed', contradictions: 1, mayBeLast: false }],
    [
      'one that contradicted another',
      closed(10, 1, false),
      { state: 'unconfirmed', contradictions: 2, mayBeLast: false },
    ],
    ['the third of those', closed(10, 2, false), { contradictions: 3, mayBeLast: false }],
    [
      'a later one of a day that always contradicts itself',
      closed(10, 3),
      { contradictions: 3, mayBeLast: false },
    ],
    ['such a one, which had more records', closed(11, 3), { state: 'unconfirmed', mayBeLast: false }],
  ])('I11: a changed one of several pages counts contradictions behind %s', (_name, before, doubt) => {
    expect(doubtOf(numbered, changed, before)).toEqual(doubt);
  });

  it('I11: is due at once, whatever the age of its day, and comes behind the days never read', () => {
    const days = { '2026-03-12': readAt('2026-03-20T14:00:00.000Z', { state: 'unconfirmed' }) };
    const due = plan(ledgersOf(days), { ...numbered, startDate: '2026-03-11' }, NOW_MS);
    expect(due.at(-1)).toEqual({ day: '2026-03-12', reason: 'refresh' });
    const confirmed = { '2026-03-12': readAt('2026-03-20T14:00:00.000Z') };
    const settledFor = plan(ledgersOf(confirmed), { ...numbered, startDate: '2026-03-11' }, NOW_MS);
    expect(settledFor.map(({ day }) => day)).not.toContain('2026-03-12');
  });
});

describe('a reading without records of a day that had some', () => {
  const day = '2026-01-10';
  const tiers: RefreshTier[] = [{ untilAgeDays: 7, every: '1 day' }];
  const short: Policy = { ...policy, refresh: tiers };
  /** When its only tier ends. */
  const lastMs = startOfDay('2026-01-18', ZONE);
  const known = (readMs: number, given: Partial<Committed> = {}) => ({
    rows: 5,
    readFrom: new Date(readMs).toISOString(),
    queryFingerprint: 'q',
    ...given,
  });

  it.each<[string, ReturnType<typeof known> | undefined, number, number, boolean]>([
    ['which had them at the age of its last reading', known(lastMs), 0, lastMs + DAY_MS, true],
    ['which had them at a younger age', known(lastMs - 1), 0, lastMs + DAY_MS, false],
    ['which was never read', undefined, 0, lastMs + DAY_MS, false],
    ['which had none then either', known(lastMs, { rows: 0 }), 0, lastMs + DAY_MS, false],
    ['and has some now', known(lastMs), 1, lastMs + DAY_MS, false],
    [
      'which was read at an unknown time, now at the age of its last reading',
      known(0, { queryFingerprint: '' }),
      0,
      lastMs,
      true,
    ],
    [
      'which a repair found, with fewer records now, at the age of its last reading',
      known(0, { queryFingerprint: '', rows: 2 }),
      1,
      lastMs,
      true,
    ],
    [
      'which a repair found, with as many records now',
      known(0, { queryFingerprint: '', rows: 2 }),
      2,
      lastMs,
      false,
    ],
    [
      'which a repair found, with fewer records now, at a younger age',
      known(0, { queryFingerprint: '', rows: 2 }),
      1,
      lastMs - 1,
      false,
    ],
    [
      'which was read at an unknown time, now at a younger age',
      known(lastMs, { queryFingerprint: '' }),
      0,
      lastMs - 1,
      false,
    ],
  ])(
    'I11: is what the service no longer keeps, or not: a day %s',
    (_name, earlier, rows, readFromMs, emptied) => {
      expect(isEmptied(day, short, { rows, readFromMs }, earlier)).toBe(emptied);
    },
  );
});

describe('the time at which a month is next due', () => {
  const now = Date.parse('2026-03-20T15:00:00.000Z');
  const due = (days: Record<string, DayEntry>, month: string, startDate = '2026-01-01') => {
    const [ledger] = ledgersOf(days, [month]).values();
    const at = ledger && monthDueAtMs(month, ledger, { ...policy, startDate }, now);
    return typeof at === 'number' ? new Date(at).toISOString() : at;
  };
  const all = (month: string, to: string, entry: DayEntry) =>
    Object.fromEntries(daysFrom(`${month}-01`, to).map((day) => [day, entry]));
  const settled = readAt(NOW, { state: 'settled' });

  it.each<[string, Record<string, DayEntry>, string, string | undefined, string | null]>([
    ['nothing was read', {}, '2026-02', undefined, '2026-02-01T05:00:00.000Z'],
    ['all of it is settled', all('2026-02', '2026-02-28', settled), '2026-02', undefined, null],
    [
      'its last day was not read',
      all('2026-02', '2026-02-27', settled),
      '2026-02',
      undefined,
      '2026-02-28T05:00:00.000Z',
    ],
    [
      'days are still to come',
      all('2026-03', '2026-03-20', settled),
      '2026-03',
      undefined,
      '2026-03-21T04:00:00.000Z',
    ],
    ['it begins before the settings do', {}, '2026-02', '2026-02-10', '2026-02-10T05:00:00.000Z'],
    ['the settings begin behind it', {}, '2026-02', '2026-03-01', null],
    [
      'it is a leap February',
      all('2028-02', '2028-02-28', settled),
      '2028-02',
      undefined,
      '2028-02-29T05:00:00.000Z',
    ],
    [
      'it ends a year',
      all('2025-12', '2025-12-30', settled),
      '2025-12',
      '2025-12-01',
      '2025-12-31T05:00:00.000Z',
    ],
  ])('where %s', (_name, days, month, startDate, expected) => {
    expect(due(days, month, startDate)).toBe(expected);
  });

  it('is the earliest due time of its days', () => {
    const days = { ...all('2026-02', '2026-02-28', settled), '2026-02-20': recent, '2026-02-24': old };
    expect(due(days, '2026-02')).toBe('2026-03-20T04:30:00.000Z');
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
    [
      'are due where the day is open and unchanged',
      readAt(readToday, { ...retry(soon), state: 'open' }),
      soon,
    ],
    [
      'alone are due once the last pass was read',
      readAt('2026-03-21T05:00:00.000Z', retry('2026-03-22T05:00:00.000Z')),
      '2026-03-22T05:00:00.000Z',
    ],
    [
      'do not keep the last pass from being confirmed',
      readAt('2026-03-21T05:00:00.000Z', { ...retry('2026-03-29T05:00:00.000Z'), state: 'unconfirmed' }),
      '2026-03-21T05:00:00.000Z',
    ],
    [
      'do not hasten a try that failed',
      { ...readAt(readToday, retry(soon)), failure: failure(later) },
      later,
    ],
  ])('of a day %s', (_name, entry, due) => {
    const open = entry.committed?.state === 'open';
    const nowMs = Math.max(NOW_MS, Date.parse(entry.committed?.readFrom ?? NOW));
    const dueMs = dueAtMs(day, entry, tiers, nowMs, { ...upstream, closed: !open });
    expect(dueMs === null ? null : new Date(dueMs).toISOString()).toBe(due);
  });

  it.each<[string, DayEntry, boolean]>([
    ['is so at their retry time', readAt(readToday, retry(NOW)), true],
    ['is not so before', readAt(readToday, retry(later)), false],
    ['is not so where none is left', readAt(readToday, retry()), false],
    ['is not so where the day is due itself', readAt('2026-03-19T05:00:00.000Z', retry(NOW)), false],
    ['is not so of a day that was never read', {}, false],
    [
      'is not so where the upstream day has changed',
      readAt(readToday, { ...retry(NOW), upstreamDigest: '0:00' }),
      false,
    ],
    [
      'is so where the last pass of the day was read',
      readAt('2026-03-21T05:00:00.000Z', retry('2026-03-21T05:00:00.000Z')),
      true,
    ],
    [
      'is not so where the day is due itself at this very moment',
      readAt('2026-03-19T15:30:00.000Z', retry(NOW)),
      false,
    ],
    ['is so after a try that failed', { ...readAt(readToday, retry(NOW)), failure: failure(NOW) }, true],
  ])('being all that is due %s', (_name, entry, expected) => {
    const nowMs = Math.max(NOW_MS, Date.parse(entry.committed?.readFrom ?? NOW));
    expect(onlyRefusedDue(day, entry, tiers, nowMs, upstream)).toBe(expected);
  });
});

describe('what lookups need to know of their upstream day', () => {
  it.each<[string, Committed['state'], boolean]>([
    ['closed', 'closed', true],
    ['open', 'open', false],
  ])('is its digest, when it was read, and whether it is closed: %s', (_name, state, closed) => {
    expect(upstreamState(readAt(NOW, { digest: '2:cd', state }))).toEqual({
      digest: '2:cd',
      readFrom: NOW,
      closed,
    });
  });

  it.each<[string, DayEntry | undefined]>([
    ['it was never read', undefined],
    ['nothing of it is committed', { claim }],
  ])('is nothing where %s', (_name, entry) => {
    expect(upstreamState(entry)).toBeUndefined();
  });
});
