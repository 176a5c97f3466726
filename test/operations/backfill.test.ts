import { describe, expect, it } from '@jest/globals';
import { type DayOutcome, type ReportOutcome, syncOutcome } from '../../shared/outcome.ts';
import { MAX_STALLED_RUNS, type BrandToRead, afterRun, conclude } from '../../shared/operations/backfill.ts';

const START: BrandToRead = { brand: 'acme', from: '2026-01-01', to: '2026-01-31', pages: 0, stalled: 0 };
const NO_TRAFFIC = { requests: 0, retries: 0, throttles: 0 };

function day(dt: string, outcome: DayOutcome['outcome'], pages = 0): DayOutcome {
  return { dt, outcome, rows: 0, pages };
}

function report(outcome: Partial<ReportOutcome>): ReportOutcome {
  return { brand: 'acme', report: 'order_list', status: 'incomplete', days: [], ...NO_TRAFFIC, ...outcome };
}

const next = (before: BrandToRead, ...reports: Partial<ReportOutcome>[]) =>
  afterRun(before, syncOutcome(reports.map(report)));

describe('after a run', () => {
  const LEFT = day('2026-01-02', 'pending');

  it.each<[string, Partial<ReportOutcome>, object]>([
    ['that read everything, the brand is complete', { status: 'complete' }, { status: 'complete' }],
    ['that read a day, it runs again', { days: [day('2026-01-03', 'published'), LEFT] }, { status: 'again' }],
    [
      'that found a day as it was, it runs again',
      { days: [day('2026-01-03', 'unchanged'), LEFT] },
      { status: 'again' },
    ],
    [
      'that staged pages, it runs again',
      { days: [day('2026-01-02', 'pending', 6)] },
      { status: 'again', pages: 6 },
    ],
    ['that staged no more pages, it waits', { days: [day('2026-01-02', 'pending', 5)] }, { status: 'wait' }],
    ['that found its days busy, it waits', { days: [day('2026-01-02', 'busy')] }, { status: 'wait' }],
    ['that failed, it waits', { status: 'failed', days: [day('2026-01-02', 'failed')] }, { status: 'wait' }],
    ['without time for a plan, it waits', {}, { status: 'wait', stalled: 3 }],
  ])('judges a run: %s', (_name, outcome, expected) => {
    expect(next({ ...START, pages: 5, stalled: 2 }, outcome)).toMatchObject(expected);
  });

  it.each(['auth', 'config'] as const)('an error of kind %s ends the brand unless a day was read', (kind) => {
    const error = { kind, code: 'refused', message: 'the token is wrong' };
    expect(next(START, { status: 'failed', error })).toMatchObject({
      status: 'failed',
      why: 'order_list failed. the token is wrong',
    });
    const read: Partial<ReportOutcome> = { status: 'complete', days: [day('2026-01-03', 'published')] };
    expect(next(START, { status: 'failed', error }, read)).toMatchObject({ status: 'again', stalled: 0 });
  });

  it('the reason names every report with its days that are left, and each error once', () => {
    const error = { kind: 'transient', code: 'unavailable', message: 'no\nanswer' } as const;
    const days = [day('2026-01-04', 'failed'), day('2026-01-02', 'failed'), day('2026-01-03', 'published')];
    expect(
      next(
        START,
        { status: 'failed', days, error },
        { report: 'clicks_list', status: 'failed', days: [LEFT], error },
        { report: 'transaction_list', status: 'complete' },
      ).why,
    ).toBe(
      'order_list failed, 2 left: 2026-01-02..2026-01-04; clicks_list failed, 1 left: 2026-01-02. no answer',
    );
  });

  it('ends after the limit of runs without progress, also if a plan fails and the other reports have ended', () => {
    let step: ReturnType<typeof afterRun> = { ...START, status: 'again' };
    const statuses = Array.from({ length: MAX_STALLED_RUNS }, () => {
      step = next(step, { status: 'complete' }, { report: 'clicks_list', status: 'failed' });
      return step.status;
    });
    expect(new Set(statuses.slice(0, -1))).toEqual(new Set(['wait']));
    expect(step).toMatchObject({ status: 'failed', why: 'clicks_list failed' });
  });

  it('pages that rise and fall are no progress', () => {
    const staged = (before: BrandToRead, pages: number) =>
      next(before, { days: [day('2026-01-02', 'pending', pages)] });
    const fallen = staged(staged(START, 50), 10);
    expect(fallen).toMatchObject({ status: 'wait', stalled: 1 });
    expect(staged(fallen, 30)).toMatchObject({ status: 'wait', stalled: 2 });
    expect(staged(fallen, 51)).toMatchObject({ status: 'again', stalled: 0 });
  });
});

describe('the conclusion', () => {
  it('lists all brands, and fails with the brands that are not complete', () => {
    const brands = [
      { brand: 'acme', status: 'complete' },
      { brand: 'globex', status: 'failed', why: 'order_list failed' },
    ];
    expect(conclude(brands.slice(0, 1))).toEqual({ brands: brands.slice(0, 1) });
    expect(conclude(brands)).toEqual({
      brands,
      failure: {
        error: 'BackfillIncomplete',
        cause: expect.stringMatching(/^1 of 2 brands are not complete.*\nglobex: order_list failed$/),
      },
    });
  });

  it('of 300 brands with long reasons fits into the state and the cause of an execution', () => {
    const error = { kind: 'config', code: 'refused', message: '界\n"'.repeat(1000) } as const;
    const brand = 'b'.repeat(41);
    const { why } = next(START, { status: 'failed', error });
    const ends = Array.from({ length: 300 }, () => ({ ...START, brand, status: 'failed', why }));
    expect(JSON.stringify(ends).length).toBeLessThan(262_144);
    const { failure } = conclude(ends);
    expect(failure?.cause.length).toBeLessThan(32_768);
    expect(failure?.cause).toMatch(/\n… and \d+ more: see the Map Run$/);
  });
});
