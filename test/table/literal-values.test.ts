import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { exactUnscaled } from '../../shared/base/exact-values.ts';
import { parseJson } from '../../shared/base/json.ts';
import { type LiteralColumn, RecordColumns } from '../../shared/table/record-columns.ts';
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
const digits = fc.constantFrom(
  { precision: 38, scale: 9 },
  { precision: 38, scale: 38 },
  { precision: 19, scale: 0 },
  { precision: 9, scale: 2 },
  { precision: 4, scale: 4 },
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
          const { units, left } = column.units(one);
          expect(units[0]).toBeNaN();
          const unknown = byCode.filter((literal, index) => {
            const value = units[index + 1] ?? 0;
            if (Number.isNaN(value)) return literal !== 'null';
            expect(BigInt(value)).toBe(exactUnscaled(parseJson(literal), one));
            expect(value).not.toBe(-0);
            return false;
          });
          expect(left).toBe(unknown.length);
        },
      ),
      runs(250),
    );
  });

  it.each([
    ['12.50', { precision: 38, scale: 9 }, 12_500_000_000],
    ['-7', { precision: 9, scale: 2 }, -700],
    ['999999999999999', { precision: 19, scale: 0 }, 999_999_999_999_999],
    ['-0', { precision: 19, scale: 0 }, 0],
  ])('are %s without the exact reading', (literal, one, expected) => {
    const { units, left } = columnOf([literal]).column.units(one);
    expect([...units]).toEqual([Number.NaN, expected]);
    expect(left).toBe(0);
  });
});

describe('plain texts', () => {
  it('I6: equal the texts of their literals; literals with an escape or of another type are left', () => {
    fc.assert(
      fc.property(mixed, (literals) => {
        const { column, byCode } = columnOf(literals);
        const { starts, ends, left } = column.texts();
        expect([starts[0], ends[0]]).toEqual([1, 0]);
        const found = byCode.map((_, index) => {
          const [start = 0, end = 0] = [starts[index + 1], ends[index + 1]];
          return start > end ? undefined : column.bytes.toString('utf8', start, end);
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
