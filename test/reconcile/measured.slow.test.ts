import { describe, expect, it } from '@jest/globals';
import { measure } from './measured.ts';

// `npm run reconcile:measure -- --count 50` measures more seeds.
describe.each([1, 2])('faults of eight kinds in exports, seed %i', (seed) => {
  it('are all found with their cause, without a false alarm, and add up', async () => {
    for (const { format, faults, found, rightCause, falseAlarms, wrongSums, wrong } of await measure(seed)) {
      expect({ format, found, falseAlarms, wrongSums, wrong }).toEqual({
        ...{ format, found: faults, falseAlarms: 0, wrongSums: 0 },
        wrong: rightCause === faults ? [] : expect.anything(),
      });
      expect({ format, share: rightCause / faults >= 0.95, faults: faults > 15 }).toEqual({
        ...{ format, share: true, faults: true },
      });
    }
  });
});
