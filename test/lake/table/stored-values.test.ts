import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ByteWriter } from 'hyparquet-writer';
import { writeRleBitPackedHybrid } from 'hyparquet-writer/src/encoding.js';
import { readRleBitPackedHybrid } from 'hyparquet/src/encoding.js';
import { typeSpec } from '../../../shared/column-types.ts';
import { plainValues } from '../../../shared/lake/table/plain-values.ts';
import { StoredValues } from '../../../shared/lake/table/stored-values.ts';
import { viewOf } from '../../../shared/records/short-bytes.ts';

const WIDEST = 20;

/** Runs of the same and of different numbers, some as long as a group. */
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

function unpacked(packed: Uint8Array, width: number, count: number): Uint32Array {
  const read = new Uint32Array(count);
  readRleBitPackedHybrid({ view: viewOf(packed), offset: 0 }, width, read, packed.length);
  return read;
}

describe('packed numbers', () => {
  const values = new StoredValues(
    plainValues(typeSpec('bigint').parquet, { codes: new Uint32Array(), units: new Float64Array(1) }),
  );

  it('are packed as hyparquet-writer packs them, and read back', () => {
    fc.assert(
      fc.property(numbers, ({ width, all }) => {
        const packed = values.packed(all, width);
        const expected = new ByteWriter();
        writeRleBitPackedHybrid(expected, all, width);
        expect(Buffer.from(packed)).toEqual(Buffer.from(expected.getBytes()));
        expect(unpacked(packed, width, all.length)).toEqual(all);
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['one run', () => 1, 1],
    ['numbers that all differ', (index: number) => index, 16],
  ])('are read back where a row group is %s', (_name, numberAt, width) => {
    const all = Uint32Array.from({ length: 2 ** 15 + 3 }, (_, index) => numberAt(index));
    expect(unpacked(values.packed(all, width), width, all.length)).toEqual(all);
  });
});
