import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DAY_MS, MINUTE_MS } from '../../shared/days.ts';
import type { DayEntry } from '../../shared/lake/documents/ledger.ts';
import {
  type ReportState,
  type SeenMonths,
  markMonthsDirty,
  mayBeDue,
  monthContent,
  NO_STATE,
  recordMonths,
} from '../../shared/lake/documents/report-state.ts';
import { type Policy, monthDueAtMs, upstreamState } from '../../shared/planning/due.ts';
import { plan } from '../../shared/planning/plan.ts';
import { runs } from '../fixtures/property-runs.ts';
import { ZONE, claim, failure, ledgersOf, policy as anyPolicy, readAt } from './entries.ts';

const MONTH = '2026-03';
const DAYS = ['2026-03-29', '2026-03-30', '2026-03-31'];
const START_MS = Date.parse('2026-04-02T15:00:00.000Z');
const policy: Policy = { ...anyPolicy, timeZone: ZONE, startDate: '2026-03-29' };
/** If a run lives longer, no run may be responsible for its month: the daily check of all months covers that. */
const MAX_LIFE_MS = 45 * MINUTE_MS;

type Days = Record<string, DayEntry>;

/** A report's month: its stored documents, and the runs that are at work, in any state. */
interface Side {
  days: Days;
  state: ReportState;
  runs: (Run | undefined)[];
}

interface Run {
  id: string;
  beganMs: number;
  seen: SeenMonths;
  /** The ledgers as the run has read them. */
  known?: { own: Days; upstream: Days };
  isMarked: boolean;
}

/** The steps of a run, and short runs whose steps nothing interrupts. */
const ACTS = {
  begin: ['begin'],
  read: ['read'],
  mark: ['mark'],
  change: ['change'],
  end: ['end'],
  die: ['die'],
  wait: ['wait'],
  planned: ['begin', 'read'],
  working: ['begin', 'read', 'mark', 'change'],
  examined: ['begin', 'read', 'end'],
  worked: ['begin', 'read', 'mark', 'change', 'end'],
} as const;

const step = fc.record({
  side: fc.constantFrom<'lookups' | 'upstream'>('lookups', 'upstream'),
  run: fc.nat(1),
  acts: fc.constantFrom(...Object.values(ACTS)),
  day: fc.constantFrom(...DAYS),
  to: fc.constantFrom('settled', 'settled', 'refreshed', 'open', 'claimed', 'failed', 'unconfirmed'),
  digest: fc.constantFrom('d1', 'd2'),
});

describe('the hint that hides a month', () => {
  it('never hides a due day, however runs of a report and of its upstream report interleave and die', () => {
    let hidden = 0;
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 40 }), (steps) => {
        const sides = { lookups: settledSide(), upstream: settledSide() };
        let nowMs = START_MS;
        steps.forEach(({ side: name, run: place, acts, ...change }, number) => {
          const side = sides[name];
          for (const act of acts) {
            if (act === 'wait') nowMs += 10 * MINUTE_MS;
            for (const { runs } of Object.values(sides)) removeOld(runs, nowMs);
            const run = side.runs[place];
            if (act === 'begin') side.runs[place] = begun(side, `r${number}`, nowMs);
            if (act === 'die') side.runs[place] = undefined;
            if (run && act === 'read') run.known = { own: side.days, upstream: sides.upstream.days };
            if (run?.known && act === 'mark') mark(side, run, nowMs);
            if (run?.known && run.isMarked && act === 'change') {
              const entry = changed(change, sides.upstream.days[change.day], nowMs);
              side.days = { ...side.days, [change.day]: entry };
              run.known.own = side.days;
            }
            if (run?.known && act === 'end') {
              end(side, run, run.known, name === 'lookups', nowMs);
              side.runs[place] = undefined;
            }
            for (const atMs of [nowMs, nowMs + DAY_MS, nowMs + 40 * DAY_MS]) {
              if (mayBeDue(sides.lookups.state, 'p1', MONTH, atMs, sides.upstream.state)) continue;
              hidden += 1;
              expect(dueDays(sides, atMs)).toEqual([]);
            }
          }
        });
      }),
      runs(500),
    );
    expect(hidden).toBeGreaterThan(100);
  });
});

function settledSide(): Side {
  const now = new Date(START_MS).toISOString();
  const entry = readAt(now, { digest: 'd1', upstreamDigest: 'd1', state: 'settled' });
  const days = Object.fromEntries(DAYS.map((day) => [day, entry]));
  return { days, state: NO_STATE, runs: [] };
}

function removeOld(runs: (Run | undefined)[], nowMs: number): void {
  for (const [place, run] of runs.entries())
    if (run && nowMs - run.beganMs > MAX_LIFE_MS) runs[place] = undefined;
}

/** A run reads the state before the ledger. */
function begun({ state }: Side, id: string, nowMs: number): Run {
  return { id, beganMs: nowMs, seen: new Map([[MONTH, state.months[MONTH]]]), isMarked: false };
}

function mark(side: Side, run: Run, nowMs: number): void {
  const dirty = { by: run.id, at: new Date(nowMs).toISOString() };
  side.state = markMonthsDirty(side.state, [MONTH], dirty, run.seen);
  run.isMarked = true;
}

function changed(
  { to, digest }: { to: string; digest: string },
  upstream: DayEntry | undefined,
  nowMs: number,
): DayEntry {
  const now = new Date(nowMs).toISOString();
  const upstreamDigest = upstream?.committed?.digest ?? 'none';
  const entry = readAt(now, {
    digest,
    upstreamDigest,
    state: to === 'open' || to === 'unconfirmed' || to === 'settled' ? to : 'closed',
  });
  if (to === 'claimed') return { ...entry, claim };
  return to === 'failed'
    ? { ...entry, failure: failure(new Date(nowMs + 30 * MINUTE_MS).toISOString()) }
    : entry;
}

function end(
  side: Side,
  run: Run,
  known: { own: Days; upstream: Days },
  looksUp: boolean,
  nowMs: number,
): void {
  const own = { days: known.own };
  const upstream = looksUp ? { days: known.upstream } : undefined;
  const examined = {
    dueMs: monthDueAtMs(MONTH, own, policy, nowMs, upstream),
    content: monthContent(own),
    ...(upstream && { upstream: monthContent(upstream) }),
  };
  const how = { id: run.id, wallMs: nowMs, nowMs, seen: run.seen };
  side.state = recordMonths(side.state, new Map([[MONTH, examined]]), 'p1', how);
}

function dueDays({ lookups, upstream }: Record<'lookups' | 'upstream', Side>, atMs: number): string[] {
  const ofUpstream = (day: string) => upstreamState(upstream.days[day]);
  return plan(ledgersOf(lookups.days, [MONTH]), policy, atMs, { upstream: ofUpstream }).map(({ day }) => day);
}
