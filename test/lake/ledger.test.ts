import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Json, parseJson } from '../../shared/base/json.ts';
import {
  type Claim,
  type DayEntry,
  type Failure,
  type Ledger,
  type Superseded,
  type Committed,
  type DayCommit,
  abandonDay,
  claimDay,
  commitDay,
  failDay,
  forgetVersions,
  parseLedger,
  releaseDay,
  recordPublished,
} from '../../shared/lake/ledger.ts';
import { ledgerKey } from '../../shared/lake/paths.ts';
import { HOSTILE_IDS } from '../fixtures/hostile-ids.ts';
import { readAt as dayReadAt } from '../planning/entries.ts';

const OF = { report: 'order_list', brand: 'acme', month: '2026-01' };
const KEY = ledgerKey(OF.report, OF.brand, OF.month);
const DAY = '2026-01-05';
const NOW = '2026-01-06T10:00:00.000Z';
const NOW_MS = Date.parse(NOW);
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const claim: Claim = { attempt: 'a1', runId: 'r1', at: '2026-01-06T10:00:00.000Z' };

const { committed: published } = dayReadAt(NOW, {
  published: false,
  rows: 3,
  bytes: 100,
  digest: '3:ab',
  readTo: '2026-01-06T05:00:00.000Z',
});

const failed = {
  runId: 'r1',
  kind: 'contract',
  code: 'c',
  message: 'm',
  queryFingerprint: 'q',
  nowMs: NOW_MS,
  keep: false,
  isPast: false,
  isRequested: true,
} as const;

const failure: Failure = {
  since: claim.at,
  lastAt: claim.at,
  times: 2,
  kind: 'contract',
  code: 'no_list',
  message: 'no list',
  retryAt: claim.at,
};

const full: DayEntry = {
  committed: published,
  claim,
  failure,
  superseded: [{ snapshot: 's0', at: claim.at }],
  continuation: 'q1',
};

/** The facts of a version that a reading has brought. */
const whole = { whole: true, timeZone: 'America/New_York', rows: 3 };

function ledgerOf(entry: DayEntry): Ledger {
  return { ...OF, days: { [DAY]: entry }, recentWrites: [] };
}

function entryOf(ledger: Ledger): DayEntry {
  return ledger.days[DAY] ?? {};
}

function commitOf(change: Partial<Committed> = {}, wallMs = NOW_MS): DayCommit {
  return {
    runId: 'r1',
    committed: { ...published, ...change },
    reading: { continuation: 'q2' },
    wallMs,
  };
}

describe('a claim', () => {
  it.each<[string, Claim | undefined]>([
    ['a day without a claim', undefined],
    ['a day that was released', { ...claim, runId: null }],
    ['a day whose run is gone', { ...claim, runId: 'r0' }],
  ])('is recorded for %s, if the entry has not changed since the decision', (_name, before) => {
    const ledger = ledgerOf({ ...full, claim: before });
    expect(entryOf(claimDay(ledger, DAY, before, claim))).toEqual({ ...full, claim });
  });

  it.each<[string, Claim | undefined, Claim | undefined]>([
    ['another run has claimed it', undefined, claim],
    ['another run has taken it over', { ...claim, runId: 'r0' }, { ...claim, runId: 'r2' }],
    ['another attempt was begun', { ...claim, runId: null }, { ...claim, runId: null, attempt: 'a2' }],
    ['it was published', { ...claim, runId: null }, undefined],
  ])('I5: is refused if meanwhile %s', (_name, judged, now) => {
    const ledger = ledgerOf({ committed: published, claim: now });
    expect(() => claimDay(ledger, DAY, judged, { ...claim, runId: 'mine' })).toThrow(
      expect.objectContaining({ kind: 'conflict', message: expect.stringContaining(DAY) }),
    );
  });

  it('is released so that any run may resume the staged pages', () => {
    const released = releaseDay(ledgerOf(full), DAY, 'r1');
    expect(entryOf(released)).toEqual({ ...full, claim: { ...claim, runId: null } });
  });

  it('is dropped if the attempt is abandoned', () => {
    const { claim: _claim, ...others } = full;
    expect(entryOf(abandonDay(ledgerOf(full), DAY, 'r1'))).toEqual(others);
  });

  it.each<[string, Ledger]>([
    ['another run has it', ledgerOf({ claim: { ...claim, runId: 'r2' } })],
    ['no run has it', ledgerOf({})],
    ['the ledger does not have the day', { ...ledgerOf({}), days: {} }],
  ])('I5: stays as it is for a run whose day is no longer its own: %s', (_name, ledger) => {
    expect([releaseDay(ledger, DAY, 'r1'), abandonDay(ledger, DAY, 'r1')]).toEqual([ledger, ledger]);
  });
});

describe('a commit', () => {
  it('records the attempt and the replaced version, and ends claim and failure', () => {
    const next = { ...published, snapshot: 's2', rows: 4 };
    expect(entryOf(commitDay(ledgerOf(full), DAY, { ...commitOf(), committed: next }))).toEqual({
      firstCommittedAt: NOW,
      committed: { ...next, committedAt: NOW },
      superseded: [
        { snapshot: 's0', at: claim.at },
        { snapshot: 's1', at: null, ...whole },
      ],
      continuation: 'q2',
    });
  });

  it('records since when the content is current, and since when the day is known', () => {
    const first = entryOf(commitDay(ledgerOf({ claim }), DAY, commitOf()));
    const commitAfter = (before: DayEntry, minutes: number, change: Partial<Committed>) =>
      entryOf(commitDay(ledgerOf({ ...before, claim }), DAY, commitOf(change, NOW_MS + minutes * MINUTE_MS)));
    const same = commitAfter(first, 5, {});
    const other = commitAfter(same, 10, { snapshot: 's2' });
    expect([first, same, other].map(({ committed }) => committed?.committedAt)).toEqual([
      NOW,
      NOW,
      '2026-01-06T10:10:00.000Z',
    ]);
    expect(other.firstCommittedAt).toBe(NOW);
  });

  it.each<[string, Partial<Committed>, Partial<Superseded>]>([
    ['a part of a day', { state: 'open' }, { whole: false, timeZone: 'America/New_York' }],
    ['a whole version', { state: 'unconfirmed' }, { whole: true, timeZone: 'America/New_York' }],
    ['a version of a ledger that was made from snapshots', { state: 'unconfirmed', timeZone: undefined }, {}],
  ])('records whether a replaced version is whole, and its zone: %s', (_name, change, known) => {
    const before: DayEntry = { committed: { ...published, ...change }, claim };
    const { superseded } = entryOf(
      commitDay(ledgerOf(before), DAY, commitOf({ snapshot: 's2', digest: '4:ab' })),
    );
    expect(superseded).toEqual([{ snapshot: 's1', at: null, rows: 3, ...known }]);
  });

  it('keeps how many rows the first whole version filled, of columns that were emptied or filled since', () => {
    const fill = (before: DayEntry, filled: Record<string, number>, change: Partial<Committed> = {}) =>
      entryOf(
        commitDay(ledgerOf({ ...before, claim }), DAY, commitOf({ rows: 9, values: { filled }, ...change })),
      );
    const open = fill({}, { id: 4, draft: 4 }, { state: 'open' });
    const first = fill(open, { id: 9, coupon: 7 });
    const renamed = fill(first, { id: 9, voucher: 7 });
    const partly = fill(renamed, { id: 8, voucher: 7, note: 1 });
    const back = fill(partly, { id: 9, coupon: 2 });
    expect([open, first, renamed, partly, back].map(({ filledAtFirst }) => filledAtFirst)).toEqual([
      undefined,
      undefined,
      { coupon: 7, voucher: 0 },
      { coupon: 7, voucher: 0, note: 0 },
      undefined,
    ]);
    expect(fill(renamed, { id: 9 }, { queryFingerprint: 'other' }).filledAtFirst).toBeUndefined();
    expect(fill(renamed, {}, { rows: 0 }).filledAtFirst).toBeUndefined();
  });

  describe('of a disregarded reading', () => {
    const disregarded = { at: NOW, rows: 1, queryFingerprint: 'q' };
    const kept = (entry: DayEntry) =>
      commitDay(ledgerOf(entry), DAY, {
        ...commitOf({ contradictions: 1 }),
        reading: { continuation: 'q2', disregarded },
      });

    it('keeps the version, ends claim and failure, and records the reading', () => {
      const entry = { ...full, claim: { ...claim, attempt: 'a2' } };
      expect(entryOf(kept(entry))).toEqual({
        firstCommittedAt: NOW,
        committed: { ...published, contradictions: 1, committedAt: NOW },
        superseded: full.superseded,
        continuation: 'q2',
        disregarded,
      });
    });

    it('is forgotten with the next committed reading', () => {
      const again = claimDay(kept(full), DAY, undefined, claim);
      expect(entryOf(commitDay(again, DAY, commitOf())).disregarded).toBeUndefined();
    });
  });

  it.each<[string, DayEntry]>([
    ['the day was taken over', { claim: { ...claim, runId: 'r2' } }],
    ['the day was released', { claim: { ...claim, runId: null } }],
    ['another attempt is claimed', { claim: { ...claim, attempt: 'a2' } }],
    ['the ledger was rebuilt', {}],
  ])('I5: changes nothing if %s', (_name, entry) => {
    const ledger = ledgerOf(entry);
    expect(() => commitDay(ledger, DAY, commitOf({ snapshot: 's2' }))).toThrow(
      expect.objectContaining({ kind: 'conflict', code: 'claim_lost' }),
    );
  });

  const readAt = (readFrom: string, change: Partial<Committed> = {}) => ({
    ...published,
    readFrom,
    ...change,
  });

  it('I2: never brings an older reading back, whatever clocks the runs have', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(100), { maxLength: 10 }), (readings) => {
        let ledger = ledgerOf({});
        for (const readFromMs of readings) {
          const before = entryOf(ledger).committed;
          const next = readAt(new Date(NOW_MS + readFromMs).toISOString());
          try {
            ledger = commitDay(ledgerOf({ ...entryOf(ledger), claim }), DAY, commitOf(next));
          } catch (error) {
            expect(error).toMatchObject({
              code: 'later_reading',
              message: expect.stringMatching(
                /2026-01-05 was read at 2026.* and is closed.*compare the clock/,
              ),
            });
          }
          const after = entryOf(ledger).committed;
          if (!before) continue;
          expect(Date.parse(after?.readFrom ?? '')).toBeGreaterThanOrEqual(Date.parse(before.readFrom));
        }
      }),
    );
  });

  it('changes no other day, and does not modify its input', () => {
    const ledger = { ...ledgerOf(full), days: { '2026-01-04': full, [DAY]: full } };
    const before = structuredClone(ledger);
    const { days } = commitDay(ledger, DAY, commitOf({ snapshot: 's2' }));
    expect(days['2026-01-04']).toBe(full);
    expect(ledger).toEqual(before);
  });
});

describe('a version that is committed without a reading', () => {
  const held: Claim = { runId: 'r1', at: NOW };
  const day: DayEntry = {
    committed: { ...published, published: true, state: 'settled' },
    superseded: [{ snapshot: 's0', at: NOW }],
    firstCommittedAt: '2026-01-06T05:00:00.000Z',
    continuation: 'q1',
    failure,
    disregarded: { at: NOW, rows: 1, queryFingerprint: 'q' },
  };
  const back = (entry: DayEntry, snapshot = 's0') =>
    commitDay(ledgerOf(entry), DAY, {
      runId: 'r1',
      committed: { ...published, snapshot, state: 'settled' },
      wallMs: NOW_MS + HOUR_MS,
    });

  it('replaces the version before, which is kept, and contains nothing about the readings of the day', () => {
    expect(entryOf(back({ ...day, claim: held }))).toEqual({
      ...day,
      committed: {
        ...published,
        snapshot: 's0',
        state: 'settled',
        committedAt: '2026-01-06T11:00:00.000Z',
      },
      superseded: [
        { snapshot: 's0', at: NOW },
        { snapshot: 's1', at: null, ...whole },
      ],
    });
  });

  it('I5: leaves the pages that another run has staged, so that they can be resumed', () => {
    const ledger = back({ ...day, claim });
    expect(entryOf(ledger).claim).toEqual({ ...claim, runId: null });
    expect(() => commitDay(ledger, DAY, commitOf())).toThrow(expect.objectContaining({ code: 'claim_lost' }));
  });

  it('counts as a version: the next version replaces it like any other', () => {
    const done = recordPublished(
      back({ ...day, claim: held }),
      DAY,
      { snapshot: 's0' },
      NOW_MS + 2 * HOUR_MS,
    );
    const next = commitDay(
      claimDay(done, DAY, undefined, claim),
      DAY,
      commitOf({ snapshot: 's2', published: true }, NOW_MS + 3 * HOUR_MS),
    );
    expect(entryOf(next).superseded?.map(({ snapshot, at }) => [snapshot, at])).toEqual([
      ['s0', NOW],
      ['s1', '2026-01-06T12:00:00.000Z'],
      ['s0', '2026-01-06T13:00:00.000Z'],
    ]);
  });
});

describe('versions whose time is over', () => {
  const agedDays = (...ages: number[]): DayEntry => ({
    committed: published,
    superseded: ages.map((age, index) => ({
      snapshot: `s${index}`,
      at: new Date(NOW_MS - age * DAY_MS).toISOString(),
    })),
  });
  const forget = (entry: DayEntry) => forgetVersions(ledgerOf(entry), NOW_MS, 30 * DAY_MS);
  const keptOf = (entry: DayEntry) => entryOf(forget(entry)).superseded?.length;

  it('are forgotten', () => {
    const { superseded } = entryOf(forget(agedDays(40, 30, 29.9)));
    expect(superseded?.map(({ snapshot }) => snapshot)).toEqual(['s2']);
  });

  it.each<[string, DayEntry]>([
    ['all are young enough', agedDays(29, 1)],
    [
      'their replacement is not published',
      { committed: published, superseded: [{ snapshot: 's0', at: null }] },
    ],
    ['a version before them must be kept', agedDays(10, 40)],
  ])('change nothing if %s', (_name, entry) => {
    const ledger = ledgerOf(entry);
    expect(forgetVersions(ledger, NOW_MS, 30 * DAY_MS)).toBe(ledger);
  });

  it.each<[string, Claim, number]>([
    ['a run reads', claim, 3],
    ['waits to be resumed', { ...claim, runId: null }, 3],
    [
      'a rollback has claimed that died a day ago',
      { ...claim, attempt: undefined, at: new Date(NOW_MS - DAY_MS).toISOString() },
      3,
    ],
  ])('I5: are kept of a day that %s', (_name, held, kept) => {
    expect(keptOf({ ...agedDays(40, 35, 31), claim: held })).toBe(kept);
  });

  it('are forgotten once the claim of a dead rollback is gone', () => {
    const held = { ...claim, attempt: undefined, at: new Date(NOW_MS - DAY_MS).toISOString() };
    const once = forget({ ...agedDays(40), claim: held });
    expect(entryOf(once).claim).toBeUndefined();
    expect(keptOf(entryOf(once))).toBe(0);
  });

  it('are the oldest if a day has more than 200', () => {
    expect(keptOf(agedDays(...Array.from({ length: 230 }, (_, index) => 25 - index / 10)))).toBe(200);
  });

  it('never include a version that was replaced within the last day, however many there are', () => {
    expect(keptOf(agedDays(...Array.from({ length: 300 }, (_, index) => 1.05 - index / 1000)))).toBe(249);
  });
});

describe('a publication', () => {
  it('is recorded for the current snapshot', () => {
    expect(
      entryOf(recordPublished(ledgerOf(full), DAY, { snapshot: 's1' }, NOW_MS)).committed?.published,
    ).toBe(true);
  });

  it('I3: replaces snapshots for queries, however long it was pending', () => {
    const twice = [1, 2].reduce(
      (ledger, day) =>
        commitDay(
          claimDay(ledger, DAY, entryOf(ledger).claim, claim),
          DAY,
          commitOf({ snapshot: `s${day}`, digest: `${day}:ab`, published: false }, NOW_MS + day * DAY_MS),
        ),
      ledgerOf({ committed: { ...published, snapshot: 's0' }, claim }),
    );
    const publishedMs = NOW_MS + 9 * DAY_MS;
    const at = new Date(publishedMs).toISOString();
    expect(entryOf(recordPublished(twice, DAY, { snapshot: 's2' }, publishedMs)).superseded).toEqual([
      { snapshot: 's0', at, ...whole },
      { snapshot: 's1', at, ...whole },
    ]);
  });

  it.each<[string, DayEntry, string]>([
    ['of a snapshot that was replaced in the meantime', full, 's0'],
    ['of a day that is not published', { claim }, 's1'],
  ])('I3: is not recorded %s', (_name, entry, snapshot) => {
    const ledger = ledgerOf(entry);
    expect(recordPublished(ledger, DAY, { snapshot }, NOW_MS)).toBe(ledger);
  });
});

describe('a failure', () => {
  it('keeps the published snapshot, and records the first failure, the number of failures and the next try', () => {
    expect(entryOf(failDay(ledgerOf({ committed: published, claim }), DAY, failed))).toEqual({
      committed: published,
      failure: {
        since: '2026-01-06T10:00:00.000Z',
        times: 1,
        kind: 'contract',
        code: 'c',
        message: 'm',
        lastAt: '2026-01-06T10:00:00.000Z',
        retryAt: '2026-01-06T10:00:00.000Z',
        queryFingerprint: 'q',
      },
    });
  });

  it.each<[string, Pick<Failure, 'kind' | 'code'> & { isPast?: boolean }, number[]]>([
    [
      'doubles up to a day for a broken page',
      { kind: 'contract', code: 'no_list' },
      [0, 5, 10, 20, 40, 80, 160, 320, 640, 1280, 1440, 1440],
    ],
    [
      'doubles up to an hour for a service that does not respond',
      { kind: 'transient', code: 'http_503' },
      [0, 5, 10, 20, 40, 60, 60],
    ],
    [
      'doubles up to an hour for a refusal with a code',
      { kind: 'contract', code: 'service_code' },
      [0, 5, 10, 20, 40, 60, 60],
    ],
    [
      'doubles up to a day for a refusal with a code after refresh has ended',
      { kind: 'contract', code: 'service_code', isPast: true },
      [0, 5, 10, 20, 40, 80, 160, 320, 640, 1280, 1440],
    ],
    ['is zero for refused credentials', { kind: 'auth', code: 'http_401' }, [0, 0, 0]],
    ['is zero for a wrong setting', { kind: 'config', code: 'http_404' }, [0, 0, 0]],
  ])('waits before the next try: the wait %s', (_name, kindAndCode, expected) => {
    let ledger = ledgerOf({});
    const waits = expected.map(() => {
      ledger = failDay(ledgerOf({ ...entryOf(ledger), claim }), DAY, { ...failed, ...kindAndCode });
      const { failure } = entryOf(ledger);
      expect(failure?.since).toBe('2026-01-06T10:00:00.000Z');
      return (Date.parse(failure?.retryAt ?? '') - NOW_MS) / 60_000;
    });
    expect(waits).toEqual(expected);
  });

  it.each<[string, number, number]>([
    ['as long as the service requested, if that is longer', 14 * 60_000, 14],
    ['as short as the service requested, at first', 60_000, 1],
    ['at most an hour, whatever the service requested', Number.POSITIVE_INFINITY, 60],
  ])('waits %s', (_name, retryAfterMs, minutes) => {
    const unavailable = { ...failed, kind: 'transient' as const, retryAfterMs };
    const { failure } = entryOf(failDay(ledgerOf({ claim }), DAY, unavailable));
    expect((Date.parse(failure?.retryAt ?? '') - NOW_MS) / 60_000).toBe(minutes);
  });

  it.each<[string, boolean, Claim | undefined]>([
    ['is kept for the next run if it can be resumed', true, { ...claim, runId: null }],
    ['is dropped if it cannot be resumed', false, undefined],
  ])('the staged work %s', (_name, keep, left) => {
    expect(entryOf(failDay(ledgerOf(full), DAY, { ...failed, keep })).claim).toEqual(left);
  });

  it.each<[string, Partial<Committed>, Partial<Committed>, boolean]>([
    ['is recorded for a day that may be read again', {}, { state: 'closed', contradictions: 1 }, true],
    ['is recorded for a day without a whole reading', { state: 'open' }, { state: 'open' }, true],
    ['is not recorded for a settled day', { state: 'settled' }, { state: 'settled' }, false],
    ['is not recorded if it settles the day', {}, { state: 'settled' }, false],
  ])('%s, and the version has the state after the failure', (_name, change, after, isRecorded) => {
    const committed = { ...published, ...change };
    const times = 4;
    const ledger = ledgerOf({ committed, claim, failure: { ...failure, times } });
    const state = { state: committed.state, ...after };
    const next = entryOf(failDay(ledger, DAY, { ...failed, keep: true, after: state }));
    expect(next.committed).toEqual({ ...committed, ...after });
    expect(next.failure?.times).toBe(isRecorded ? times + 1 : undefined);
    expect(next.claim?.attempt).toBe(isRecorded ? claim.attempt : undefined);
  });

  it('delays lookups of a settled day that are due by themselves', () => {
    const ledger = ledgerOf({ committed: { ...published, state: 'settled' }, claim });
    const { failure: recorded } = entryOf(failDay(ledger, DAY, { ...failed, isRequested: false }));
    expect(recorded?.times).toBe(1);
  });

  it('I5: is not recorded by a run whose day was taken over and published in the meantime', () => {
    const ledger = ledgerOf({ committed: published });
    expect(failDay(ledger, DAY, failed)).toBe(ledger);
  });
});

describe('a stored ledger', () => {
  const parse = parseLedger(KEY, OF);
  const stored = (value: unknown): Json => parseJson(JSON.stringify(value));

  it('is empty if no ledger is stored', () => {
    expect(parse(undefined)).toEqual({ ...OF, days: {}, recentWrites: [] });
  });

  /** As a process reads the entry whose clocks differ by an hour. */
  const readNow = (entry: DayEntry): DayEntry => {
    const clocks = { earlierMs: () => NOW_MS - HOUR_MS, laterMs: () => NOW_MS };
    return entryOf(parseLedger(KEY, OF, clocks)(stored(ledgerOf(entry))));
  };
  const EARLIER = new Date(NOW_MS - HOUR_MS).toISOString();

  it.each<[string, string, string, Committed['state']]>([
    ['that may be right', '2026-01-06T10:10:00.000Z', '2026-01-06T10:10:00.000Z', 'closed'],
    ['later than both clocks', '2026-01-06T10:10:00.001Z', EARLIER, 'open'],
  ])('I2: has a reading of a time %s', (_name, readFrom, expected, state) => {
    const { committed } = readNow({ committed: { ...published, readFrom } });
    expect(committed).toEqual({ ...published, readFrom: expected, state });
  });

  it.each<[string, string, string]>([
    ['that may have begun by now', '2026-01-09T10:10:00.000Z', '2026-01-09T10:10:00.000Z'],
    ['that begins later than now', '2026-01-09T10:10:00.001Z', EARLIER],
  ])('has a wait of a lookup %s', (_name, retryAt, expected) => {
    const { committed } = readNow({ committed: { ...published, refusedLookups: { count: 1, retryAt } } });
    expect(committed).toEqual({ ...published, refusedLookups: { count: 1, retryAt: expected } });
  });

  it.each<[string, string, boolean]>([
    ['may be right', '2026-01-06T10:10:00.000Z', true],
    ['is later than both clocks', '2026-01-06T10:10:00.001Z', false],
  ])('has a failure, and its wait, or not, if its time %s', (_name, lastAt, isKept) => {
    const retryAt = '2026-02-20T00:00:00.000Z';
    const failure: Failure = {
      ...{ since: NOW, times: 2, kind: 'contract', code: 'no_list', message: 'm' },
      ...{ lastAt, retryAt },
    };
    expect(readNow({ failure })).toEqual(isKept ? { failure } : {});
  });

  it('has no disregarded reading that is later than both clocks', () => {
    const disregarded = { at: '2026-02-20T00:00:00.000Z', rows: 1, queryFingerprint: 'q' };
    expect(readNow({ disregarded })).toEqual({});
    expect(readNow({ disregarded: { ...disregarded, at: NOW } })).toEqual({
      disregarded: { ...disregarded, at: NOW },
    });
  });

  it('is read exactly as it was written, for days in every state', () => {
    const steps = fc.array(
      fc.tuple(
        fc.constantFrom('2026-01-01', DAY, '2026-01-31'),
        fc.constantFrom('claim', 'release', 'commit', 'switch', 'fail'),
        fc.constantFrom('s1', 's2'),
      ),
      { maxLength: 20 },
    );
    fc.assert(
      fc.property(steps, (taken) => {
        let ledger = parse(undefined);
        for (const [day, step, snapshot] of taken) {
          const held = ledger.days[day]?.claim;
          if (step === 'claim') ledger = claimDay(ledger, day, held, claim);
          if (step === 'release') ledger = releaseDay(ledger, day, 'r1');
          if (step === 'commit' && held?.runId) ledger = commitDay(ledger, day, commitOf({ snapshot }));
          if (step === 'switch') ledger = recordPublished(ledger, day, { snapshot }, NOW_MS);
          if (step === 'fail') ledger = failDay(ledger, day, { ...failed, keep: snapshot === 's1' });
        }
        expect(stored(parse(stored(ledger)))).toEqual(stored(ledger));
      }),
    );
  });

  it('keeps fields that a later version has added', () => {
    const laterCommit = { ...published, weight: 7 };
    const later = { ...ledgerOf({ ...full, committed: laterCommit }), color: 'blue' };
    expect(parse(stored(later))).toEqual(later);
  });

  const broken = (change: object): unknown => ({ ...ledgerOf(full), ...change });
  const brokenDay = (change: object): unknown => ledgerOf({ ...full, ...change });

  it.each<[string, unknown, string]>([
    ['another report’s ledger', broken({ report: 'clicks_list' }), 'ledger/clicks_list/acme/2026-01.json'],
    ['another month’s ledger', broken({ month: '2026-02' }), 'ledger/order_list/acme/2026-02.json'],
    [
      'a day that is not a day',
      broken({ days: { 'next-week': full } }),
      'days.next-week is "next-week": Invalid key',
    ],
    [
      'a day of another month',
      broken({ days: { '2026-02-01': full } }),
      '2026-02-01 is not a day of its month',
    ],
    [
      'an attempt whose time is not an instant',
      brokenDay({ committed: { ...published, readTo: '2026-02-30T00:00:00Z' } }),
      'readTo',
    ],
    [
      'events whose number cannot grow',
      brokenDay({ events: { sequence: 2 ** 60, version: 's1', pending: [] } }),
      'events.sequence',
    ],
  ])('is refused with its key and the field: %s', (_name, value, place) => {
    const damaged = { kind: 'config', code: 'damaged_document', message: expect.stringContaining(KEY) };
    expect(() => parse(parseJson(JSON.stringify(value)))).toThrow(expect.objectContaining(damaged));
    expect(() => parse(parseJson(JSON.stringify(value)))).toThrow(place);
  });

  const object = { bytes: 1, rows: 1 };
  const known = { by: NOW, place: 1 };

  /** Every field that becomes part of a key. */
  describe.each<[string, (id: string) => object]>([
    ['committed.snapshot', (id) => ({ committed: { ...published, snapshot: id } })],
    ['committed.attempt', (id) => ({ committed: { ...published, attempt: id } })],
    [
      'committed.history.object.snapshot',
      (id) => ({ committed: { ...published, history: { ...known, object: { ...object, snapshot: id } } } }),
    ],
    ['claim.attempt', (id) => ({ claim: { ...claim, attempt: id } })],
    ['superseded.0.snapshot', (id) => ({ superseded: [{ snapshot: id, at: NOW }] })],
  ])('the id at %s', (field, change) => {
    it('may be an id of this program', () => {
      for (const id of ['0199f1c2-7d7e-7000-8000-0123456789ab', 'rollback-s1'])
        expect(parse(stored(ledgerOf({ ...full, ...change(id) })))).toMatchObject({
          days: { [DAY]: change(id) },
        });
    });

    it.each(HOSTILE_IDS)('is refused as %j, which leads to another place', (id) => {
      expect(() => parse(stored(ledgerOf({ ...full, ...change(id) })))).toThrow(
        expect.objectContaining({
          code: 'damaged_document',
          message: expect.stringContaining(`days.${DAY}.${field} is `),
        }),
      );
    });
  });
});
