import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DAY_MS, HOUR_MS } from '../../shared/days.ts';
import {
  type DayCommit,
  type Committed,
  type DayEntry,
  type Ledger,
  claimDay,
  commitDay,
  forgetVersions,
  recordPublished,
  releaseDay,
} from '../../shared/lake/documents/ledger.ts';
import { oneClock } from '../../shared/lake/documents/stored-time.ts';
import { versionsOf } from '../../shared/history/versions.ts';
import { versionAt } from '../iceberg/version-at.ts';
import { ZONE, readAt } from '../planning/entries.ts';
import { runs } from '../fixtures/property-runs.ts';

const DAY = '2026-03-18';
const START_MS = Date.parse('2026-03-19T05:00:00Z');
const KEPT_MS = 3 * DAY_MS;
const iso = (ms: number) => new Date(ms).toISOString();

/** A lake with one day, built by the transitions of the ledger, with a list of what queries found at which time. */
class History {
  ledger: Ledger = { version: 1, report: 'r', brand: 'b', month: '2026-03', days: {}, recentWrites: [] };
  nowMs = START_MS;
  /** How far the clock of the machine that performs the step is ahead. */
  aheadMs = 0;
  /** The snapshots that queries find from a time on. */
  readonly found: { fromMs: number; snapshot: string }[] = [];
  readonly forgottenAtMs: number[] = [];
  #commits = 0;

  get entry(): DayEntry {
    return this.ledger.days[DAY] ?? {};
  }

  commit(published: boolean): void {
    this.#commits += 1;
    const { committed } = readAt(iso(this.nowMs), { snapshot: `s${this.#commits}`, published });
    this.#replace({ committed, reading: { continuation: 'c' } }, 'a1');
  }

  rollBack(choice: number, published: boolean): void {
    const { committed, superseded = [] } = this.entry;
    const others = superseded.filter(({ snapshot }) => snapshot !== committed?.snapshot);
    const version = others[choice % Math.max(1, others.length)];
    if (!committed || !version) return;
    this.#replace({ committed: { ...committed, snapshot: version.snapshot, published } });
  }

  #replace(commit: Pick<DayCommit, 'committed' | 'reading'>, attempt?: string): void {
    const claim = { attempt, runId: 'r1', at: iso(this.nowMs), restarts: 0 };
    const claimed = claimDay(this.ledger, DAY, undefined, claim);
    const committed = commitDay(claimed, DAY, { ...commit, runId: 'r1', wallMs: this.nowMs + this.aheadMs });
    this.ledger = releaseDay(committed, DAY, 'r1');
    this.#finds(commit.committed.published);
  }

  publish(): void {
    const { committed } = this.entry;
    if (!committed || committed.published) return;
    this.ledger = recordPublished(this.ledger, DAY, committed, this.nowMs + this.aheadMs);
    if (this.#commits > 1) this.#finds(true);
  }

  forget(): void {
    this.ledger = forgetVersions(
      this.ledger,
      oneClock(() => this.nowMs),
      KEPT_MS,
    );
    this.forgottenAtMs.push(this.nowMs);
  }

  /** The first commit counts from its own time on, because there was no version before. */
  #finds(published: boolean): void {
    const { snapshot = '' } = this.entry.committed ?? {};
    if (published || this.#commits === 1) this.found.push({ fromMs: this.nowMs, snapshot });
  }

  /** The naive result: the last snapshot found by then, unless it had ended too long ago when the ledger forgot versions. */
  at(atMs: number): string | undefined {
    const index = this.found.findLastIndex(({ fromMs }) => fromMs <= atMs);
    const snapshot = this.found[index]?.snapshot;
    const endMs = this.found[index + 1]?.fromMs;
    const isForgotten = endMs !== undefined && this.forgottenAtMs.some((ms) => ms - endMs >= KEPT_MS);
    return isForgotten ? undefined : snapshot;
  }
}

const stepFields = {
  afterMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 2 * DAY_MS })),
  what: fc.constantFrom('commit', 'rollBack', 'publish', 'publish', 'forget'),
  published: fc.boolean(),
  choice: fc.nat(20),
};
const step = fc.record(stepFields);
/** The largest error of a clock. */
const WORST_MS = 3 * HOUR_MS;

describe('versions as of a time', () => {
  it('show what a query found at any time, for any history of commits, publications and rollbacks', () => {
    fc.assert(
      fc.property(
        fc.array(step, { minLength: 1, maxLength: 25 }),
        fc.array(fc.double({ min: -0.1, max: 1, noNaN: true }), { minLength: 1 }),
        (steps, moments) => {
          const history = new History();
          for (const { afterMs, what, published, choice } of steps) {
            history.nowMs += afterMs;
            if (what === 'commit') history.commit(published);
            else if (what === 'rollBack') history.rollBack(choice, published);
            else history[what as 'publish' | 'forget']();
          }
          const { nowMs, entry, found } = history;
          const asked = [
            ...moments.map((part) => Math.round(START_MS + part * (nowMs - START_MS))),
            ...found.flatMap(({ fromMs }) => [fromMs - 1, fromMs]),
            nowMs,
          ];
          for (const atMs of asked) expect([atMs, versionAt(entry, atMs)]).toEqual([atMs, history.at(atMs)]);
        },
      ),
      runs(125),
    );
  });

  it('are wrong by no more than the clocks, and keep the order of publications', () => {
    const skewed = fc.record({ ...stepFields, aheadMs: fc.integer({ min: -WORST_MS, max: WORST_MS }) });
    fc.assert(
      fc.property(fc.array(skewed, { minLength: 1, maxLength: 25 }), (steps) => {
        const history = new History();
        for (const { afterMs, what, published, choice, aheadMs } of steps) {
          history.nowMs += afterMs;
          history.aheadMs = aheadMs;
          if (what === 'commit') history.commit(published);
          else if (what === 'rollBack') history.rollBack(choice, published);
          else if (what === 'publish') history.publish();
        }
        const { nowMs, entry, found } = history;
        const farFromAll = found
          .flatMap(({ fromMs }) => [fromMs - WORST_MS - 1, fromMs + WORST_MS])
          .filter(
            (ms) =>
              ms <= nowMs && found.every(({ fromMs }) => ms < fromMs - WORST_MS || ms >= fromMs + WORST_MS),
          );
        for (const atMs of farFromAll)
          expect([atMs, versionAt(entry, atMs)]).toEqual([atMs, history.at(atMs)]);
        const versions = versionsOf(entry);
        for (const [index, { toMs }] of versions.entries()) expect(toMs).toBe(versions[index + 1]?.fromMs);
      }),
      runs(125),
    );
  });

  it.each<[string, number]>([
    ['ahead', 40 * DAY_MS],
    ['behind', -40 * DAY_MS],
  ])('are right again after the next publication if a clock was a month %s', (_name, aheadMs) => {
    const history = new History();
    history.commit(true);
    history.nowMs += HOUR_MS;
    history.aheadMs = aheadMs;
    history.commit(true);
    history.nowMs += HOUR_MS;
    history.aheadMs = 0;
    history.commit(true);
    history.nowMs += HOUR_MS;
    history.forget();
    expect(versionsOf(history.entry).map(({ snapshot }) => snapshot)).toEqual(['s1', 's2', 's3']);
    for (const atMs of [history.nowMs - HOUR_MS, history.nowMs])
      expect([atMs, versionAt(history.entry, atMs)]).toEqual([atMs, history.at(atMs)]);
  });

  const entry: DayEntry = {
    ...readAt(iso(START_MS), { snapshot: 's2' }),
    firstCommittedAt: iso(START_MS),
    superseded: [{ snapshot: 's1', at: iso(START_MS + DAY_MS) }],
  };

  it.each<[string, DayEntry]>([
    ['the time of the first commit is unknown', { ...entry, superseded: [], firstCommittedAt: undefined }],
    [
      'all earlier versions were forgotten',
      { ...entry, superseded: [], versionsFrom: iso(START_MS + DAY_MS) },
    ],
  ])('are not known if %s', (_name, known) => {
    expect(versionAt(known, START_MS + DAY_MS / 2)).toBeUndefined();
  });
});

describe('the versions of a day', () => {
  it('follow one another without a gap, whatever clock was behind', () => {
    const entry: DayEntry = {
      ...readAt(iso(START_MS), { snapshot: 's3' }),
      firstCommittedAt: iso(START_MS),
      superseded: [
        { snapshot: 's1', at: iso(START_MS + DAY_MS), whole: false, timeZone: ZONE },
        { snapshot: 's2', at: iso(START_MS + DAY_MS / 2), whole: true, timeZone: ZONE },
      ],
    };
    expect(versionsOf(entry)).toEqual([
      { snapshot: 's1', fromMs: START_MS, toMs: START_MS + DAY_MS, whole: false },
      { snapshot: 's2', fromMs: START_MS + DAY_MS, toMs: START_MS + DAY_MS, whole: true },
      { snapshot: 's3', fromMs: START_MS + DAY_MS, whole: true },
    ]);
  });

  it('end with the version that queries find if its replacement is not published', () => {
    const entry: DayEntry = {
      ...readAt(iso(START_MS), { snapshot: 's2', published: false }),
      firstCommittedAt: iso(START_MS),
      superseded: [{ snapshot: 's1', at: null, whole: true }],
    };
    expect(versionsOf(entry)).toEqual([{ snapshot: 's1', fromMs: START_MS, whole: true }]);
  });

  it.each<[string, Partial<Committed>, boolean | undefined]>([
    ['is a part while the day is open', { state: 'open' }, false],
    ['is whole, even if another reading has to agree', { state: 'unconfirmed' }, true],
    ['is whole after its last reading', { state: 'settled' }, true],
    [
      'is neither if its ledger was made from snapshots',
      { state: 'unconfirmed', timeZone: undefined },
      undefined,
    ],
  ])('contain the whole day or a part of it: the current version %s', (_name, change, whole) => {
    expect(versionsOf(readAt(iso(START_MS), change))).toEqual([{ snapshot: 's1', whole }]);
  });

  it('have no fact about wholeness if their ledger was made from snapshots', () => {
    const entry = { ...readAt(iso(START_MS)), superseded: [{ snapshot: 's0', at: iso(START_MS) }] };
    expect(versionsOf(entry)[0]).toEqual({ snapshot: 's0', toMs: START_MS });
  });
});
