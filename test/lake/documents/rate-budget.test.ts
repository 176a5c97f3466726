import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseJson } from '../../../shared/json.ts';
import {
  FORGET_AFTER_MS,
  type RateBudget,
  type Renewal,
  VALID_MS,
  withSightings,
  fairRate,
  parseRateBudget,
  silentRuns,
  withRenewal,
  withoutRun,
} from '../../../shared/lake/documents/rate-budget.ts';

const LIMIT = 6;
const NAMES = ['a', 'b', 'c', 'd'];

function budgetOf(rates: Record<string, number>, renewals = 1): RateBudget {
  const runs = Object.entries(rates).map(([run, rate]) => [
    run,
    { rate, wants: LIMIT, limit: LIMIT, renewals },
  ]);
  return { ...parseRateBudget('rates/acme.json')(undefined), runs: Object.fromEntries(runs) };
}

function renewal(given: Partial<Renewal> = {}): Renewal {
  return { runId: 'a', limit: LIMIT, wants: LIMIT, inUse: 0, renewals: 2, gone: new Set(), ...given };
}

function ratesOf({ runs }: RateBudget): Record<string, number> {
  return Object.fromEntries(Object.entries(runs).map(([run, { rate }]) => [run, rate]));
}

const total = (budget: RateBudget) => Object.values(ratesOf(budget)).reduce((sum, rate) => sum + rate, 0);

describe('a renewal', () => {
  it.each<[string, Record<string, number>, Partial<Renewal>, Record<string, number>]>([
    ['takes everything if there is no other run', {}, {}, { a: 6 }],
    ['takes no more than the run can use', {}, { wants: 2 }, { a: 2 }],
    ['takes nothing if nothing is free', { b: 6 }, {}, { a: 0, b: 6 }],
    ['takes the free rate, up to a fair part', { b: 4, c: 2 }, {}, { a: 0, b: 4, c: 2 }],
    ['takes a fair part of the free rate', { b: 1 }, {}, { a: 3, b: 1 }],
    ['gives back rate above a fair part', { a: 6, b: 0 }, { inUse: 3 }, { a: 3, b: 0 }],
    ['gives back no rate that is in use', { a: 6, b: 0 }, { inUse: 5 }, { a: 5, b: 0 }],
    ['that was forgotten begins anew', { b: 6 }, { inUse: 5 }, { a: 0, b: 6 }],
    ['takes the rate of a run that is gone', { b: 6 }, { gone: new Set(['b']) }, { a: 6 }],
    ['takes nothing if others have too much', { b: 9 }, {}, { a: 0, b: 9 }],
    ['takes nothing if others have more than its limit', { b: 5 }, { limit: 4 }, { a: 0, b: 5 }],
    ['takes a fair part of its limit', { b: 2 }, { limit: 4 }, { a: 2, b: 2 }],
    ['takes a fair part of the limit of others if that is smaller', { b: 1 }, { limit: 9 }, { a: 3, b: 1 }],
    [
      'takes its limit if a run with a smaller limit is gone',
      { b: 6 },
      { limit: 9, wants: 9, gone: new Set(['b']) },
      { a: 9 },
    ],
  ])('of run a %s', (_name, before, given, after) => {
    expect(ratesOf(withRenewal(budgetOf(before), renewal(given)))).toEqual(after);
  });

  it.each<[string, number[], number, number]>([
    ['all rate that others cannot use', [1], LIMIT, 5],
    ['half of the rate that a third run cannot use', [LIMIT, 1], LIMIT, 2.5],
    ['its maximum, if others can use more', [LIMIT, LIMIT], 1, 1],
  ])('has as its fair part %s', (_name, others, wants, part) => {
    const runs = others.map((want, index) => [
      `other-${index}`,
      { rate: 0, wants: want, limit: LIMIT, renewals: 1 },
    ]);
    const budget = { ...budgetOf({}), runs: Object.fromEntries(runs) };
    expect(fairRate(budget, renewal({ wants }))).toBe(part);
  });

  it('raises only the counter of its run', () => {
    const { runs } = withRenewal(budgetOf({ a: 3, b: 3 }), renewal());
    expect([runs.a?.renewals, runs.b?.renewals]).toEqual([2, 1]);
  });

  it('never makes the sum exceed the limit, and fair parts are reached in any order', () => {
    const step = fc.record({
      run: fc.constantFrom(...NAMES),
      leaves: fc.boolean(),
      wants: fc.constantFrom(LIMIT, LIMIT, 1, 2.5),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        let budget = budgetOf({});
        const renew = (run: string, wants: number) => {
          const fair = fairRate(budget, renewal({ runId: run, wants }));
          const inUse = Math.min(budget.runs[run]?.rate ?? 0, fair);
          budget = withRenewal(budget, renewal({ runId: run, wants, inUse }));
          expect(total(budget)).toBeLessThanOrEqual(LIMIT + 1e-9);
        };
        for (const { run, leaves, wants } of steps) {
          if (leaves) budget = withoutRun(budget, run);
          else renew(run, wants);
        }
        const runs = Object.entries(budget.runs);
        for (let round = 0; round < 2; round += 1) for (const [run, { wants }] of runs) renew(run, wants);
        for (const [run, { wants }] of runs)
          expect(budget.runs[run]?.rate).toBeCloseTo(fairRate(budget, renewal({ runId: run, wants })), 9);
        const wanted = runs.reduce((sum, [, { wants }]) => sum + wants, 0);
        expect(total(budget)).toBeCloseTo(Math.min(LIMIT, wanted), 9);
      }),
    );
  });
});

describe('a run that leaves', () => {
  it('is no longer in the budget', () => {
    expect(ratesOf(withoutRun(budgetOf({ a: 2, b: 4 }), 'a'))).toEqual({ b: 4 });
  });

  it('changes nothing if it is not in the budget', () => {
    const budget = budgetOf({ b: 4 });
    expect(withoutRun(budget, 'a')).toBe(budget);
  });
});

describe('a silent run', () => {
  const before = budgetOf({ b: 6 });
  const seen = withSightings(new Map(), before, 1_000);

  it('is a run whose counter has not changed for long', () => {
    expect(silentRuns(seen, before, 1_000 + FORGET_AFTER_MS - 1)).toEqual([]);
    expect(silentRuns(withSightings(seen, before, 20_000), before, 1_000 + FORGET_AFTER_MS)).toEqual(['b']);
  });

  it('is not a run whose counter has changed, or that was never seen', () => {
    const renewed = budgetOf({ b: 6, c: 0 }, 2);
    const later = 1_000 + 2 * FORGET_AFTER_MS;
    expect(silentRuns(seen, renewed, later)).toEqual([]);
    expect(silentRuns(withSightings(seen, renewed, later), renewed, later + 1)).toEqual([]);
  });

  it('stopped long before it is forgotten, even if its clock is half as fast', () => {
    expect(FORGET_AFTER_MS).toBeGreaterThan(2 * VALID_MS);
    expect(FORGET_AFTER_MS).toBeLessThan(60_000);
  });
});

describe('a stored budget', () => {
  const parse = parseRateBudget('rates/acme.json');
  const entry = { rate: 0, wants: 2.5, limit: 6, renewals: 0 };
  const full: RateBudget = { version: 1, runs: { 'run-1': entry, r2: entry }, recentWrites: ['w1'] };
  const broken = (change: object): unknown => ({ ...full, ...change });
  const brokenRun = (change: object): unknown => broken({ runs: { a: { ...entry, ...change } } });

  it('has no runs if no budget is stored', () => {
    expect(parse(undefined)).toEqual({ version: 1, runs: {}, recentWrites: [] });
  });

  it('is read exactly as it was written, including fields that a later version has added', () => {
    const later = { ...full, runs: { a: { ...entry, weight: 7 } }, color: 'blue' };
    for (const budget of [full, later]) expect(parse(parseJson(JSON.stringify(budget)))).toEqual(budget);
  });

  it.each<[string, unknown, string]>([
    ['null', null, 'the document'],
    ['another version', broken({ version: 2 }), 'version is 2'],
    ['no runs', broken({ runs: undefined }), 'runs'],
    ['a run without a name', broken({ runs: { '': entry } }), 'runs'],
    ['a run whose name begins with a path', broken({ runs: { '../a': entry } }), 'runs.../a'],
    ['a run whose name ends with a slash', broken({ runs: { 'a/': entry } }), 'runs.a/'],
    ['a run that is null', broken({ runs: { a: null } }), 'runs.a'],
    ['a run without a rate', brokenRun({ rate: undefined }), 'runs.a.rate'],
    ['a negative rate', brokenRun({ rate: -1 }), 'runs.a.rate is -1'],
    ['a maximum that is text', brokenRun({ wants: '1' }), 'runs.a.wants is "1"'],
    ['a limit of 0', brokenRun({ limit: 0 }), 'runs.a.limit is 0'],
    ['half a renewal', brokenRun({ renewals: 0.5 }), 'runs.a.renewals is 0.5'],
    ['no recent writes', broken({ recentWrites: undefined }), 'recentWrites'],
    ['recent writes that are not text', broken({ recentWrites: [1] }), 'recentWrites.0 is 1'],
  ])('is refused with its key and the field: %s', (_name, value, place) => {
    const read = () => parse(parseJson(JSON.stringify(value)));
    expect(read).toThrow(`rates/acme.json cannot be used: ${place}`);
  });
});
