import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ParquetElement, PhysicalValue } from '../../../shared/column-types.ts';
import { plainType } from '../../../shared/lake/table/plain-values.ts';
import { textsOf } from '../../../shared/lake/table/texts.ts';

const encoded = (texts: string[]) =>
  plainType({ type: 'BYTE_ARRAY' }, textsOf(texts)).encode(texts.map((_, code) => code));

describe('values as Parquet lays them out', () => {
  it.each<[string, ParquetElement, PhysicalValue[], number[]]>([
    ['nothing', { type: 'INT64' }, [], []],
    ['booleans', { type: 'BOOLEAN' }, [true, false, false, true, true, true, true, true, true], [0xf9, 1]],
    ['32 bits', { type: 'INT32' }, [1, -2], [1, 0, 0, 0, 0xfe, 255, 255, 255]],
    ['64 bits', { type: 'INT64' }, [-2n], [0xfe, 255, 255, 255, 255, 255, 255, 255]],
    ['a double', { type: 'DOUBLE' }, [-0], [0, 0, 0, 0, 0, 0, 0, 128]],
    [
      'a byte each',
      { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 1 },
      [1n, -1n, 127n, -128n],
      [1, 255, 127, 128],
    ],
    [
      'three bytes each',
      { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 3 },
      [258n, -2n],
      [0, 1, 2, 255, 255, 0xfe],
    ],
    [
      'sixteen bytes',
      { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16 },
      [-(2n ** 64n)],
      [255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0],
    ],
  ])('of %s is what the format says', (_name, element, values, bytes) => {
    expect([...plainType(element).encode(values)]).toEqual(bytes);
  });

  it('texts of any length and alphabet as UTF-8', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.string({ maxLength: 60 }))),
        (texts) => {
          const expected = texts.flatMap((one) => {
            const bytes = Buffer.from(one);
            const length = Buffer.alloc(4);
            length.writeUInt32LE(bytes.length);
            return [length, bytes];
          });
          expect(Buffer.concat([encoded(texts)])).toEqual(Buffer.concat(expected));
        },
      ),
    );
  });

  it.each<[string, ParquetElement, PhysicalValue]>([
    ['a boolean', { type: 'BOOLEAN' }, 1],
    ['32 bits', { type: 'INT32' }, 2 ** 31],
    ['a whole number', { type: 'INT32' }, 1.5],
    ['64 bits', { type: 'INT64' }, 2n ** 63n],
    ['an integer', { type: 'INT64' }, '1'],
    ['a number', { type: 'DOUBLE' }, Number.NaN],
    ['a code', { type: 'BYTE_ARRAY' }, 'a'],
    ['a code of a text', { type: 'BYTE_ARRAY' }, 0],
    ['two bytes', { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 2 }, 2n ** 15n],
    ['sixteen bytes', { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16 }, -(2n ** 127n) - 1n],
  ])('fail where a value is not %s', (_name, element, value) => {
    expect(() => plainType(element).encode([value])).toThrow(RangeError);
  });
});

describe('the order of texts', () => {
  it('is that of their bytes in UTF-8', () => {
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
        const text = plainType({ type: 'BYTE_ARRAY' }, textsOf([a, b]));
        expect(text.isLess(0, 1)).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0);
      }),
      { numRuns: 2_000 },
    );
  });
});
