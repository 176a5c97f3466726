import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Met, MetRecords, keyHashes } from '../../shared/records/met-records.ts';
import { runs } from '../fixtures/property-runs.ts';

/** A slow implementation with the same results. */
class Twin {
  readonly #contents = new Map<string, number | 'known'>();

  meet(key: string, content: number): Met {
    const before = this.#contents.get(key);
    if (before === undefined) this.#contents.set(key, content);
    if (before === undefined) return 'new';
    return before === content ? 'same' : before;
  }

  forgetContents(): void {
    for (const key of this.#contents.keys()) this.#contents.set(key, 'known');
  }
}

const key = fc.oneof(
  fc.nat(200).map(String),
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('', '\ud800', '\ud801'),
);
const content = fc.constantFrom(1, 2, -1, 2 ** 31 - 1, -(2 ** 31));

describe('met records', () => {
  it('are distinguished by key and content, as in a map', () => {
    const step = fc.oneof({ weight: 30, arbitrary: fc.tuple(key, content) }, fc.constant('forget' as const));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const [met, twin] = [new MetRecords(), new Twin()];
        for (const one of steps) {
          if (one === 'forget') {
            met.forgetContents();
            twin.forgetContents();
          } else expect(met.meet(keyHashes([one[0]]), 0, one[1])).toEqual(twin.meet(...one));
        }
      }),
      runs(300),
    );
  });

  it('are all kept, however many there are', () => {
    const met = new MetRecords();
    const keys = Array.from({ length: 20_001 }, (_, index) => `order-${index}`);
    const hashes = keyHashes(keys);
    const places = [...keys.keys()].slice(0, 20_000);
    expect(places.filter((place) => met.meet(hashes, place, place + 1) !== 'new')).toEqual([]);
    expect(met.size).toBe(20_000);
    expect(places.filter((place) => met.meet(hashes, place, place + 1) !== 'same')).toEqual([]);
    expect(met.meet(hashes, 7, 9)).toBe(8);
    expect(met.meet(hashes, 20_000, 1)).toBe('new');
  });
});
