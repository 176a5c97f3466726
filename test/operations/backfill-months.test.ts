import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  nextStep,
  conclude,
  daysWithoutUpstream,
  initialProgress,
  lastBackfillDay,
  type MonthOutcome,
  type MonthProgress,
  rowsIn,
  shortened,
  splitIntoMonths,
} from '../../shared/operations/backfill-months.ts';
import { addDays, dayOf, daysFrom, monthOf, startOfDay } from '../../shared/days.ts';
import type { Ledger } from '../../shared/lake/documents/ledger.ts';
import {
  type DayOutcome,
  type ErrorSummary,
  type ReportOutcome,
  reportStatus,
} from '../../shared/outcome.ts';
import { anyCharacter } from '../fixtures/texts.ts';
import { NOW, readAt } from '../planning/entries.ts';

const MONTH = { from: '2026-01-01', to: '2026-01-31' };
const ZONES = [
  'America/New_York',
  'Europe/Berlin',
  'Asia/Kolkata',
  'Pacific/Kiritimati',
  'America/Santiago',
  'UTC',
];
const day = fc.integer({ min: 0, max: 9_500 }).map((days) => addDays('2000-01-01', days));

/** The outcome of a run with these days: `dt`, `outcome`, and `pages` if the day is in progress. */
function outcomeOf(
  days: [dt: string, outcome: DayOutcome['outcome'], pages?: number][],
  error?: ErrorSummary,
): ReportOutcome {
  const outcomes = days.map(([dt, outcome, pages = 0]) => ({ dt, outcome, rows: 0, pages }));
  return {
    brand: 'acme',
    report: 'order_list',
    status: reportStatus(outcomes, error),
    days: outcomes,
    requests: 0,
    retries: 0,
    throttles: 0,
    ...(error && { error }),
  };
}

function failing(kind: ErrorSummary['kind'], message = 'no'): ErrorSummary {
  return { kind, code: 'code', message };
}

const unfinished: fc.Arbitrary<ReportOutcome> = fc
  .record({
    days: fc.uniqueArray(
      fc.tuple(
        fc.constantFrom(...daysFrom(MONTH.from, MONTH.to)),
        fc.constantFrom<DayOutcome['outcome']>('published', 'unchanged', 'pending', 'busy', 'failed'),
        fc.integer({ min: 0, max: 50 }),
      ),
      { selector: ([dt]) => dt },
    ),
    error: fc.option(fc.constantFrom(failing('transient'), failing('contract')), { nil: undefined }),
  })
  .map(({ days, error }) =>
    outcomeOf([['2026-01-16', 'pending'], ...days.filter(([dt]) => dt !== '2026-01-16')], error),
  );

describe('the months of a range', () => {
  it('contain each day of the range once, by month, the newest month first', () => {
    fc.assert(
      fc.property(day, fc.integer({ min: 0, max: 1_000 }), (from, length) => {
        const to = addDays(from, length);
        const months = splitIntoMonths({ from, to });
        expect(months.toReversed().flatMap((month) => daysFrom(month.from, month.to))).toEqual(
          daysFrom(from, to),
        );
        for (const month of months) expect(monthOf(month.from)).toBe(monthOf(month.to));
        expect(new Set(months.map((month) => monthOf(month.from))).size).toBe(months.length);
      }),
    );
  });

  it('end two days before the open day, whatever the zone', () => {
    const instant = fc.integer({ min: Date.parse('2000-01-05'), max: Date.parse('2035-01-01') });
    fc.assert(
      fc.property(instant, fc.constantFrom(...ZONES), (nowMs, timeZone) => {
        const last = lastBackfillDay(nowMs, timeZone);
        expect(addDays(last, 2)).toBe(dayOf(nowMs, timeZone));
        expect(startOfDay(addDays(last, 2), timeZone)).toBeLessThanOrEqual(nowMs);
      }),
    );
  });
});

describe('after a run', () => {
  const first = initialProgress(MONTH);

  it.each<[string, ReportOutcome, object]>([
    [
      'that read everything ends the month',
      outcomeOf([['2026-01-05', 'published']]),
      { next: 'end', status: 'complete' },
    ],
    [
      'that ran out of time is followed by the next run at once',
      outcomeOf([
        ['2026-01-31', 'unchanged'],
        ['2026-01-20', 'pending'],
        ['2026-01-03', 'pending'],
      ]),
      {
        next: 'again',
        waitSeconds: 0,
        progress: { left: 2, pages: 0, stalled: 0, busy: 0 },
      },
    ],
    [
      'that staged pages of a large day is followed by the next run',
      outcomeOf(daysFrom(MONTH.from, MONTH.to).map((dt, at) => [dt, 'pending', at === 30 ? 40 : 0])),
      { next: 'again', progress: { ...first, pages: 40 } },
    ],
    [
      'with failed days is followed by another try',
      outcomeOf([['2026-01-09', 'failed', 3]], failing('transient')),
      { next: 'again', status: 'failed', why: 'no' },
    ],
    [
      'that found all days claimed by other runs is followed by a wait of a minute',
      outcomeOf([
        ['2026-01-09', 'busy'],
        ['2026-01-10', 'busy'],
      ]),
      { next: 'wait', waitSeconds: 60, status: 'busy' },
    ],
    [
      'that failed before its plan is followed by a wait',
      outcomeOf([], failing('transient')),
      { next: 'wait', progress: { ...first, stalled: 1 } },
    ],
    [
      'without credentials ends the month',
      outcomeOf([], failing('config', 'create-secret')),
      { next: 'end', status: 'failed', why: 'create-secret' },
    ],
    [
      'that the service refused ends the month',
      outcomeOf([['2026-01-09', 'failed']], failing('auth')),
      { next: 'end', status: 'failed' },
    ],
  ])('the next step depends on the outcome: a run %s', (_name, outcome, expected) => {
    expect(nextStep(first, outcome)).toMatchObject(expected);
  });

  it.each<[string, ReportOutcome, number, RegExp]>([
    ['make no progress', outcomeOf([['2026-01-09', 'pending', 5]]), 3, /3 consecutive runs/],
    ['fail', outcomeOf([['2026-01-09', 'failed']], failing('contract', 'no list')), 3, /^no list$/],
    ['find all days busy', outcomeOf([['2026-01-09', 'busy']]), 20, /other runs held/],
  ])('the month ends with a reason when runs %s too often', (_name, outcome, max, why) => {
    let progress: MonthProgress = { ...first, left: 1, pages: 5 };
    for (let run = 1; run < max; run += 1) {
      const after = nextStep(progress, outcome);
      expect(after).toMatchObject({ next: 'wait', waitSeconds: expect.any(Number) });
      progress = after.progress;
    }
    expect(nextStep(progress, outcome)).toMatchObject({ next: 'end', why: expect.stringMatching(why) });
  });

  it('progress resets the counts of runs without progress', () => {
    const stalled = { ...first, left: 3, pages: 7, stalled: 2, busy: 19 };
    expect(nextStep(stalled, outcomeOf([['2026-01-09', 'pending']])).progress).toMatchObject({
      stalled: 0,
      busy: 0,
    });
  });

  it('each run is counted, leaves fewer days than any run before, or stages more pages of as few days, so the month ends', () => {
    const before = fc.record({
      left: fc.integer({ min: 1, max: 31 }),
      pages: fc.integer({ min: 0, max: 200 }),
    });
    fc.assert(
      fc.property(before, unfinished, ({ left, pages }, outcome) => {
        const { progress } = nextStep({ ...first, left, pages, stalled: 1, busy: 1 }, outcome);
        const counted = progress.stalled + progress.busy;
        const nearer = progress.left < left || (progress.left === left && progress.pages > pages);
        expect({ nearer, counted }).toEqual(nearer ? { nearer, counted: 0 } : { nearer, counted: 3 });
        if (!nearer) expect(progress).toMatchObject({ left, pages });
      }),
    );
  });
});

describe('the conclusion', () => {
  const complete = (month: string): MonthOutcome => ({
    from: `${month}-01`,
    to: `${month}-28`,
    status: 'complete',
    rows: 5,
    left: 0,
  });
  const planned = ['2026-03', '2026-02', '2026-01'].map((month) => ({
    from: `${month}-01`,
    to: `${month}-28`,
  }));

  it('lists all months if all are complete', () => {
    const outcomes = ['2026-01', '2026-03', '2026-02'].map(complete);
    expect(conclude(planned, outcomes)).toEqual({ months: ['2026-03', '2026-02', '2026-01'].map(complete) });
  });

  it('fails with the incomplete months and their reasons; a month without an outcome has failed', () => {
    const failed: MonthOutcome = { ...complete('2026-02'), status: 'failed', why: 'no list', left: 2 };
    const { months, failure } = conclude(planned, [complete('2026-03'), failed]);
    expect(months).toEqual([
      complete('2026-03'),
      failed,
      expect.objectContaining({ from: '2026-01-01', status: 'failed' }),
    ]);
    expect(failure).toEqual({
      error: 'BackfillIncomplete',
      cause: expect.stringMatching(
        /^2 of 3 months .*\n2026-02-01\.\.2026-02-28 failed: no list\n2026-01-01\.\.2026-01-28 failed: its child/,
      ),
    });
  });

  it('has a cause that Step Functions accepts, however many months and reasons there are', () => {
    const many = splitIntoMonths({ from: '2000-01-01', to: '2026-11-19' });
    const { failure } = conclude(
      many,
      many.map((month) => ({ ...month, status: 'failed', why: shortened('界'.repeat(999)) })),
    );
    expect(failure?.cause.length).toBeLessThanOrEqual(32_768);
    expect(failure?.cause).toMatch(/\n… and \d+ more: see the Map Run$/);
  });
});

describe('a reason', () => {
  it('is one line, and is cut only if it is too long', () => {
    expect(shortened('it  is\nso')).toBe('it is so');
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, minLength: 50, maxLength: 2_000 }), (text) => {
        const short = shortened(text);
        expect(Buffer.byteLength(JSON.stringify(short))).toBeLessThanOrEqual(310);
        expect(short).not.toMatch(/\n/);
        expect(short.isWellFormed()).toBe(true);
      }),
    );
  });
});

describe('the ledger of a month', () => {
  const ledger: Ledger = {
    version: 1,
    report: 'clicks_list',
    brand: 'acme',
    month: '2026-01',
    days: {
      '2026-01-01': readAt(NOW, { rows: 3 }),
      '2026-01-02': {},
      '2026-01-04': readAt(NOW, { rows: 4 }),
    },
    recentWrites: [],
  };

  it.each([
    ['2026-01-01', '2026-01-04', 7, ['2026-01-02', '2026-01-03']],
    ['2026-01-02', '2026-01-02', 0, ['2026-01-02']],
    ['2026-01-04', '2026-01-04', 4, []],
  ])('from %s to %s has %i rows, and no committed version on %j', (from, to, rows, missing) => {
    expect(rowsIn({ from, to }, ledger)).toBe(rows);
    expect(daysWithoutUpstream({ from, to }, ledger)).toEqual(missing);
  });
});
