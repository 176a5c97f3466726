import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ByteWriter } from 'hyparquet-writer';
import { writeRleBitPackedHybrid } from 'hyparquet-writer/src/encoding.js';
import { typeSpec } from '../../../shared/column-types.ts';
import { allocated, copied, takeKernel } from '../../../shared/kernel/kernel.ts';
import { type Part, StoredValues } from '../../../shared/lake/table/stored-values.ts';
import { textsOf } from '../../../shared/lake/table/texts.ts';
import { runs } from '../../fixtures/property-runs.ts';

const WIDEST = 20;
/** Four bytes before a text contain its length. */
const LENGTH_BYTES = 4;

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

/** The pages, by the sizes of the rows' texts. */
function expectedParts(sizes: readonly (number | undefined)[], mostBytes: number): Part[] {
  const parts: Part[] = [];
  let bytes = 0;
  let part: Part = { fromRow: 0, toRow: 0, fromPlace: 0, toPlace: 0, bytes };
  for (const size of sizes) {
    if (size !== undefined && bytes > 0 && bytes + size > mostBytes) {
      parts.push(part);
      bytes = 0;
      part = { ...part, fromRow: part.toRow, fromPlace: part.toPlace };
    }
    bytes += size ?? 0;
    part = { ...part, toRow: part.toRow + 1, toPlace: part.toPlace + (size === undefined ? 0 : 1), bytes };
  }
  return [...parts, part];
}

describe('pages of texts', () => {
  it('end before the value that would make them too large, and have at least one value', () => {
    const text = fc.oneof(fc.string({ maxLength: 30 }), fc.constant('x'.repeat(200)));
    const column = fc.array(fc.option(text, { nil: undefined, freq: 4 }), { minLength: 1, maxLength: 8 });
    const columns = column.chain((texts) =>
      fc.record({
        texts: fc.constant(texts),
        codes: fc.array(fc.nat(texts.length - 1), { maxLength: 60 }),
        mostBytes: fc.integer({ min: 1, max: 300 }),
      }),
    );
    fc.assert(
      fc.property(columns, ({ texts, codes, mostBytes }) => {
        const cells = { codes: Uint32Array.from(codes), texts: textsOf(texts) };
        const values = new StoredValues(typeSpec('string').parquet, codes.length, cells);
        const sizes = codes.map((code) => {
          const each = texts[code];
          return each === undefined ? undefined : LENGTH_BYTES + Buffer.byteLength(each);
        });
        expect(values.parts(mostBytes)).toEqual(expectedParts(sizes, mostBytes));
        values.close();
      }),
      runs(125),
    );
  });
});
