import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type ColumnType, type Value, typeSpec } from '../../shared/base/column-types.ts';
import { StoredValues } from '../../shared/table/stored-values.ts';
import { coded } from '../../shared/table/coded-rows.ts';
import { runs } from '../fixtures/property-runs.ts';
import { anyCharacter } from '../fixtures/texts.ts';

const fixed = (type: ColumnType, values: (Value | undefined)[]) =>
  new StoredValues(values.length, coded(type, Uint32Array.from(values.keys()), values));
const texts = (values: (string | undefined)[]) => fixed('string', values);
const bytesOf = (values: StoredValues) => Buffer.from(values.values());

describe('values as Parquet lays them out', () => {
  it.each<[string, ColumnType, Value[], number[]]>([
    ['nothing', 'bigint', [], []],
    ['booleans', 'boolean', [true, false, false, true, true, true, true, true, true], [0xf9, 1]],
    ['days', 'date', [new Date(86_400_000), new Date(-172_800_000)], [1, 0, 0, 0, 0xfe, 255, 255, 255]],
    ['64 bits', 'bigint', [-2n], [0xfe, 255, 255, 255, 255, 255, 255, 255]],
    ['instants', 'timestamp', [new Date(258)], [0xd0, 0xef, 3, 0, 0, 0, 0, 0]],
    ['a double', 'double', [-0], [0, 0, 0, 0, 0, 0, 0, 128]],
    [
      'sixteen bytes, of which the lower half is the largest',
      'decimal(38,9)',
      [2n ** 62n],
      [0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0],
    ],
    ['three bytes each', 'decimal(5,2)', [258n, -2n], [0, 1, 2, 255, 255, 0xfe]],
  ])('of %s follow the format', (_name, type, values, bytes) => {
    expect([...bytesOf(fixed(type, values))]).toEqual(bytes);
  });

  it('of decimals of any width are the two’s complement, highest byte first', () => {
    const decimal = fc
      .integer({ min: 1, max: 38 })
      .chain((digits) =>
        fc.tuple(
          fc.constant(digits),
          fc.bigInt({ min: 1n - 10n ** BigInt(digits), max: 10n ** BigInt(digits) - 1n }),
        ),
      );
    fc.assert(
      fc.property(decimal, ([digits, value]) => {
        const bytes = bytesOf(fixed(`decimal(${digits},0)`, [value]));
        const width = BigInt(bytes.length * 8);
        const hex = BigInt.asUintN(Number(width), value)
          .toString(16)
          .padStart(bytes.length * 2, '0');
        expect(bytes.toString('hex')).toBe(hex);
      }),
    );
  });

  it('of texts of any length and alphabet are UTF-8', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.string({ unit: anyCharacter }), fc.string({ maxLength: 60 }))),
        (values) => {
          const expected = values.flatMap((one) => {
            const bytes = Buffer.from(one);
            const length = Buffer.alloc(4);
            length.writeUInt32LE(bytes.length);
            return [length, bytes];
          });
          expect(bytesOf(texts(values))).toEqual(Buffer.concat(expected));
        },
      ),
    );
  });

  it.each<[string, ColumnType, Value]>([
    ['a boolean', 'boolean', 1],
    ['a day that fits into 32 bits', 'date', new Date(8.64e15 * 2)],
    ['64 bits', 'bigint', 2n ** 63n],
    ['an integer', 'bigint', '1'],
    ['a number', 'double', Number.NaN],
    ['two bytes', 'decimal(4,0)', 2n ** 15n],
    ['sixteen bytes', 'decimal(38,0)', -(2n ** 127n) - 1n],
    ['a text', 'string', 1],
  ])('fail if a value is not %s', (_name, type, value) => {
    expect(() => fixed(type, [value])).toThrow(RangeError);
  });
});

describe('the order of values', () => {
  it('of texts is the order of their bytes in UTF-8', () => {
    const unit = fc.constantFrom(
      'a',
      'z',
      '\u0000',
      'é',
      '\ud7ff',
      '\ue000',
      '\uffff',
      '😀',
      '\u{10ffff}',
      '\ud800',
    );
    const any = fc.string({ unit, maxLength: 5 });
    fc.assert(
      fc.property(any, any, (a, b) => {
        const order = Buffer.compare(Buffer.from(a), Buffer.from(b));
        const sorted = order <= 0 ? [a, b] : [b, a];
        expect(texts([a, b]).extremes()).toEqual(sorted.map((text) => Buffer.from(text)));
      }),
      runs(500),
    );
  });

  const short = fc.bigInt({ min: -3n, max: 3n });
  const long = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
  it.each<[string, ColumnType, fc.Arbitrary<Value>]>([
    ['whole numbers', 'bigint', fc.oneof(short, long)],
    [
      'decimals',
      'decimal(38,2)',
      fc.oneof(short, long, fc.bigInt({ min: 1n - 10n ** 38n, max: 10n ** 38n - 1n })),
    ],
    ['short decimals', 'decimal(4,2)', fc.bigInt({ min: -9_999n, max: 9_999n })],
    ['doubles', 'double', fc.double({ noNaN: true })],
    ['booleans', 'boolean', fc.boolean()],
    ['days', 'date', fc.integer({ min: -99_999, max: 99_999 }).map((day) => new Date(day * 86_400_000))],
    ['instants', 'timestamp', fc.date({ noInvalidDate: true })],
  ])('of %s is the order of the numbers', (_name, type, any) => {
    fc.assert(
      fc.property(any, any, (a, b) => {
        const { parquet } = typeSpec(type);
        const sorted = a < b ? [a, b] : a > b ? [b, a] : [a, a];
        expect(fixed(type, [a, b]).extremes()).toEqual(sorted.map((value) => parquet.toPhysical(value)));
      }),
      runs(250),
    );
  });

  it('of many values gives the smallest and the largest value', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(short, long), { minLength: 1 }), (values) => {
        const sorted = values.toSorted((a, b) => Number(a > b) - Number(a < b));
        expect(fixed('bigint', values).extremes()).toEqual([sorted[0], sorted.at(-1)]);
      }),
    );
  });
});
