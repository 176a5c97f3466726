import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type ColumnType, typeSpec } from '../../shared/base/column-types.ts';
import { type CodedColumn, valueOfCode } from '../../shared/table/coded-rows.ts';
import { Amounts } from '../../shared/table/amounts.ts';
import { ColumnFacts } from '../../shared/table/column-facts.ts';
import { Digest } from '../../shared/table/digest.ts';
import { StoredValues } from '../../shared/table/stored-values.ts';
import { runs } from '../fixtures/property-runs.ts';

const TYPES: [type: ColumnType, most: number][] = [
  ['bigint', Number.MAX_SAFE_INTEGER],
  ['decimal(38,9)', Number.MAX_SAFE_INTEGER],
  ['decimal(18,2)', Number.MAX_SAFE_INTEGER],
  ['decimal(9,2)', 999_999_999],
  ['decimal(5,0)', 99_999],
  ['decimal(2,1)', 99],
];

/** Numbers by code, and the codes of some rows. */
const columns = fc.constantFrom(...TYPES).chain(([type, most]) => {
  const number = fc.oneof(fc.integer({ min: -most, max: most }), fc.constantFrom(0, most, -most));
  const values = fc.array(fc.option(number, { nil: undefined, freq: 4 }), { minLength: 1, maxLength: 20 });
  return values.chain((numbers) =>
    fc.record({
      type: fc.constant(type),
      numbers: fc.constant(numbers),
      // A code beyond all numbers is NULL too.
      codes: fc.array(fc.nat(numbers.length), { maxLength: 40 }),
    }),
  );
});

/** The numbers as 8 bytes each, and as BigInt. */
function bothWays(numbers: readonly (number | undefined)[], rowCodes: readonly number[]) {
  const codes = Uint32Array.from(rowCodes);
  return {
    units: { codes, units: Float64Array.from(numbers, (each) => each ?? Number.NaN) },
    values: { codes, values: numbers.map((each) => (each === undefined ? undefined : BigInt(each))) },
  };
}

function digestAndSums(type: ColumnType, rows: number, column: CodedColumn) {
  const columns = [{ name: 'status', type, field: 'status' }];
  const facts = new ColumnFacts(columns);
  const amounts = new Amounts(columns, { amount: 'status' });
  const digest = new Digest();
  for (const _column of amounts.count(
    rows,
    facts.count(rows, digest.addColumns(rows, [['status', column]])),
  ));
  return { digest: digest.value(), words: facts.words, values: amounts.values };
}

describe('a column of short numbers as doubles', () => {
  it('I6: has the digest, the sums, and the bytes of the same numbers as BigInt', () => {
    fc.assert(
      fc.property(columns, ({ type, numbers, codes }) => {
        const { units, values } = bothWays(numbers, codes);
        expect(digestAndSums(type, codes.length, units)).toEqual(digestAndSums(type, codes.length, values));

        const { parquet } = typeSpec(type);
        const [fast, slow] = [units, values].map((cells) => {
          const stored = new StoredValues(parquet, codes.length, cells);
          const { present } = stored;
          const page = Buffer.from(stored.values());
          const bounds = present.distinct > 0 ? stored.extremes() : [];
          stored.close();
          return { present, page, bounds };
        });
        expect(fast).toEqual(slow);
        for (const code of numbers.keys()) expect(valueOfCode(units, code)).toBe(valueOfCode(values, code));
      }),
      runs(125),
    );
  });

  it.each<[string, ColumnType, number]>([
    ['a fraction', 'bigint', 0.5],
    ['a number that a double may have rounded', 'bigint', 2 ** 53],
    ['a number of more bytes than the column', 'decimal(2,0)', 128],
  ])('cannot hold %s', (_name, type, number) => {
    const units = { codes: new Uint32Array(), units: Float64Array.of(number) };
    expect(() => new StoredValues(typeSpec(type).parquet, 0, units)).toThrow(RangeError);
  });
});
