import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type ColumnType, typeSpec } from '../../shared/base/column-types.ts';
import { parseJson } from '../../shared/base/json.ts';
import { type LiteralColumn, RecordColumns } from '../../shared/table/record-columns.ts';
import { plainReader } from '../../shared/table/plain-values.ts';
import { readRecords } from '../../shared/records/read-records.ts';
import { runs } from '../fixtures/property-runs.ts';

const unlimited = { rows: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY };

/** A column of these literals, each once, and the values of their codes. */
function columnOf(literals: readonly string[]): { column: LiteralColumn; byCode: string[] } {
  const columns = new RecordColumns(unlimited);
  const all = [...new Set(literals)];
  columns.append(readRecords(Buffer.from(`[${all.map((literal) => `{"a":${literal}}`).join(',')}]`)));
  const column = columns.column('a');
  if (column?.count !== all.length) throw new Error('not every literal has a code');
  return { column, byCode: all };
}

const numbers = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.oneof(
      fc.nat(999_999_999).map(String),
      fc.constantFrom('0', '999999999999999', '1000000000000000', '9007199254740993'),
    ),
    fc.constantFrom('', '.0', '.5', '.10', '.000000001', '.12345678901', 'e2', '.5e-1'),
  )
  .map((parts) => parts.join(''));
const texts = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 40 }).map((text) => JSON.stringify(text)),
  fc
    .tuple(fc.nat(40), fc.nat(40))
    .map(([before, behind]) => `"${'a'.repeat(before)}\\n${'b'.repeat(behind)}"`),
);
const others = fc.constantFrom('null', 'true', 'false', '{}', '[1]', '""', '"12.50"', '"null"');
const digits = fc.constantFrom<ColumnType>(
  'decimal(38,9)',
  'decimal(38,38)',
  'bigint',
  'decimal(9,2)',
  'decimal(4,4)',
);
const mixed = fc.array(fc.oneof(numbers, texts, others), { minLength: 1, maxLength: 40 });

describe('short numbers', () => {
  it('I6: equal their exact reading, or are left to it', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.array(numbers, { minLength: 1, maxLength: 40 }), mixed),
        digits,
        (literals, one) => {
          const { column, byCode } = columnOf(literals);
          const { left, ...values } = column.plainValues(one);
          const read = plainReader(one, values);
          expect(read(0)).toBeUndefined();
          const unknown = byCode.filter((literal, index) => {
            const value = read(index + 1);
            if (value === undefined) return literal !== 'null';
            expect(value).toBe(typeSpec(one).toValue(parseJson(literal)));
            return false;
          });
          expect(left).toBe(unknown.length);
        },
      ),
      runs(250),
    );
  });

  it.each<[string, ColumnType, bigint]>([
    ['12.50', 'decimal(38,9)', 12_500_000_000n],
    ['-7', 'decimal(9,2)', -700n],
    ['999999999999999', 'bigint', 999_999_999_999_999n],
    ['-0', 'bigint', 0n],
  ])('are %s without the exact reading', (literal, type, expected) => {
    const { left, ...values } = columnOf([literal]).column.plainValues(type);
    expect(plainReader(type, values)(1)).toBe(expected);
    expect(left).toBe(0);
  });
});

describe('plain texts', () => {
  it('I6: equal the texts of their literals; literals with an escape or of another type are left', () => {
    fc.assert(
      fc.property(mixed, (literals) => {
        const { column, byCode } = columnOf(literals);
        const { bytes, starts, ends, left } = column.plainValues('string');
        expect([starts[0], ends[0]]).toEqual([1, 0]);
        const found = byCode.map((_, index) => {
          const [start = 0, end = 0] = [starts[index + 1], ends[index + 1]];
          return start > end ? undefined : bytes.toString('utf8', start, end);
        });
        const expected = byCode.map((literal) => {
          if (literal.startsWith('"')) return literal.includes('\\') ? undefined : literal.slice(1, -1);
          return /^[-0-9]/.test(literal) ? literal : undefined;
        });
        expect(found).toEqual(expected);
        const unknown = byCode.filter((literal, index) => literal !== 'null' && found[index] === undefined);
        expect(left).toBe(unknown.length);
      }),
      runs(250),
    );
  });
});
