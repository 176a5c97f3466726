import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ByteWriter } from 'hyparquet-writer';
import { writeRleBitPackedHybrid } from 'hyparquet-writer/src/encoding.js';
import { allocated, copied, takeKernel } from '../../../shared/kernel/kernel.ts';
import { runs } from '../../fixtures/property-runs.ts';

const WIDEST = 20;

/** Runs of equal and of different numbers, some as long as a group. */
const numbers = fc.integer({ min: 0, max: WIDEST }).chain((width) =>
  fc
    .array(
      fc.record({ number: fc.nat(2 ** width - 1), times: fc.oneof(fc.nat(20), fc.constantFrom(1, 7, 8, 9)) }),
      { maxLength: 60 },
    )
    .map((runs) => ({
      width,
      all: Uint32Array.from(runs.flatMap(({ number, times }) => Array<number>(times).fill(number))),
    })),
);

describe('packed numbers', () => {
  it('are packed like hyparquet-writer packs them', () => {
    fc.assert(
      fc.property(numbers, ({ width, all }) => {
        const expected = new ByteWriter();
        writeRleBitPackedHybrid(expected, all, width);
        const kernel = takeKernel();
        kernel.releaseAll();
        const [numbers, into] = [
          copied(kernel, all),
          allocated(kernel, Math.ceil(all.length / 8) * (5 + width)),
        ];
        const bytes = kernel.packNumbers(numbers.at, all.length, width, into.at);
        expect(bytes).toBeLessThanOrEqual(into.bytes);
        const packed = Buffer.from(kernel.memory.buffer, into.at, bytes);
        expect(packed.equals(expected.getBytes())).toBe(true);
      }),
      runs(125),
    );
  });
});
