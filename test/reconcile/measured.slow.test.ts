import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type MeasuredLake, fillLake, measure } from './measured.ts';

let lake: MeasuredLake;

beforeAll(async () => {
  lake = await fillLake();
});

afterAll(() => lake.close());

// `npm run reconcile:measure -- --count 50` measures more seeds.
describe.each([1])('faults of eight kinds in exports of the sample service, seed %i', (seed) => {
  it('are all found with their cause, without a false alarm, and add up', async () => {
    for (const { format, faults, found, rightCause, falseAlarms, wrongSums, wrong } of await measure(
      lake,
      seed,
    )) {
      const isRight = rightCause / faults >= 0.95;
      expect({ format, found, falseAlarms, wrongSums, isRight, isEnough: faults > 15, wrong }).toEqual({
        ...{ format, found: faults, falseAlarms: 0, wrongSums: 0, isRight: true, isEnough: true },
        wrong: rightCause === faults ? [] : expect.anything(),
      });
    }
  });
});
