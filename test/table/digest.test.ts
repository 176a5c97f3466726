import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Column } from '../../shared/base/column-types.ts';
import type { Row } from '../../shared/table/columns.ts';
import { type CodedColumn, CodedRows, coded } from '../../shared/table/coded-rows.ts';
import { Digest } from '../../shared/table/digest.ts';
import { runs } from '../fixtures/property-runs.ts';
import { anyCharacter } from '../fixtures/texts.ts';

const columns: Column[] = [
  { name: 'a', type: 'string' },
  { name: 'b', type: 'string' },
  { name: 'text', type: 'string' },
  { name: 'integer', type: 'decimal(38,0)' },
  { name: 'number', type: 'double' },
  { name: 'flag', type: 'boolean' },
  { name: 'instant', type: 'timestamp' },
  { name: '_synced_at', type: 'timestamp' },
];

function digest(rows: readonly Row[]): string {
  const all = new Digest(columns);
  for (const row of rows) all.add(row);
  return all.value();
}

const typedRow: fc.Arbitrary<Row> = fc.record(
  {
    text: fc.oneof(fc.constantFrom('', 'a', 'b'), fc.string({ unit: anyCharacter })),
    integer: fc.oneof(fc.constantFrom(0n, 1n), fc.bigInt({ min: -(2n ** 127n), max: 2n ** 127n - 1n })),
    number: fc.double({ noNaN: true }),
    flag: fc.boolean(),
    instant: fc.nat(3).map((ms) => new Date(ms)),
    _synced_at: fc.nat(3).map((ms) => new Date(ms)),
  },
  { requiredKeys: [] },
);

describe('digest of a partition', () => {
  it('does not depend on the order of the rows', () => {
    fc.assert(
      fc.property(fc.array(typedRow), (rows) => {
        expect(digest(rows.toReversed())).toBe(digest(rows));
      }),
    );
  });

  it('does not depend on the order of the columns', () => {
    expect(digest([{ integer: 1n, b: 'x' }])).toBe(digest([{ b: 'x', integer: 1n }]));
  });

  it('counts duplicates', () => {
    const duplicates = new Digest(columns);
    const values = [0, 1, 2, 3].map(() => {
      duplicates.add({ a: 'same' });
      return duplicates.value();
    });
    expect(new Set(values).size).toBe(4);
    expect(duplicates.rows).toBe(4);
  });

  it('does not depend on NULL columns or _synced_at', () => {
    const rows: Row[] = [{ integer: 1n, _synced_at: new Date(0) }];
    expect(digest([{ integer: 1n, a: undefined, b: null, _synced_at: new Date(1) }])).toBe(digest(rows));
  });

  it('differs for rows that differ in any other way', () => {
    fc.assert(
      fc.property(typedRow, typedRow, (a, b) => {
        expect(digest([a]) === digest([b])).toBe(content(a) === content(b));
      }),
      runs(500),
    );
  });

  it.each<[string, Row[], Row[]]>([
    ['a value under another name', [{ a: 'x' }], [{ b: 'x' }]],
    ['a value that is cut elsewhere', [{ a: 'x', b: 'yz' }], [{ a: 'xy', b: 'z' }]],
    ['a text that looks like a column', [{ a: 'x', b: 'y' }], [{ a: 'xb 8 string y' }]],
    ['values that change rows', [{ a: 'x', b: 'y' }, { a: 'z' }], [{ a: 'x' }, { a: 'z', b: 'y' }]],
    ['duplicates and other duplicates', [{ a: 'x' }, { a: 'x' }], [{ a: 'y' }, { a: 'y' }]],
    ['an empty text and NULL', [{ a: '' }], [{}]],
    ['an empty row and no row', [{}], []],
    ['a decimal’s last place', [{ integer: 10n ** 37n }], [{ integer: 10n ** 37n + 1n }]],
    [
      'texts that differ after many letters',
      [{ a: `${'x'.repeat(5_000)}y` }],
      [{ a: `${'x'.repeat(5_000)}z` }],
    ],
    ['a text and the text followed by a zero letter', [{ a: 'x' }], [{ a: 'x\u0000' }]],
    ['an integer past 2^53', [{ integer: 9007199254740993n }], [{ integer: 9007199254740992n }]],
  ])('distinguishes %s', (_name, one, other) => {
    expect(digest(one)).not.toBe(digest(other));
  });

  it('is a count and 128 bits, the same on every machine and in every version', () => {
    expect(digest([])).toBe('v3:0:00000000000000000000000000000000');
    expect(digest([{ a: 'x', integer: 1n, number: 1.5, flag: true, instant: new Date(0) }])).toBe(
      'v3:1:d881a11847359b1ca4df7815e8e5d483',
    );
    const many = Array.from(
      { length: 10_000 },
      (_, index): Row => ({
        text: 'ä'.repeat(index % 100),
        integer: (-1n) ** BigInt(index) * 3n ** BigInt(index % 80),
        ...(index % 3 === 0 && { number: index / 7 }),
      }),
    );
    expect(digest(many)).toBe('v3:10000:cd5a3c9d06aee829350ea0c7c1204eb7');
  });

  it('is the same for two dates of one instant', () => {
    expect(digest([{ instant: new Date(5) }])).toBe(digest([{ instant: new Date(5) }]));
  });
});

describe('digest of columns', () => {
  it('is the digest of their rows, for every division into row groups', () => {
    fc.assert(
      fc.property(fc.array(fc.array(typedRow)), (groups) => {
        const ofColumns = new Digest();
        for (const rows of groups) {
          const all = new CodedRows(columns);
          for (const one of rows) all.append(one);
          expect(new Map(ofColumns.addColumns(all.rows, all.columns()))).toEqual(all.columns());
        }
        expect(ofColumns.value()).toBe(digest(groups.flat()));
        expect(ofColumns.rows).toBe(groups.flat().length);
      }),
    );
  });

  it('is the digest of their rows if codes are unused, equal in value, NULL, or of no row', () => {
    const some = new Map<string, CodedColumn>([
      ['a', coded('string', Uint32Array.of(3, 1, 0, 4, 2), ['unused?', 'x', 'y', 'x', undefined])],
      ['_synced_at', coded('timestamp', Uint32Array.of(0, 0, 0, 0), [new Date(0)])],
    ]);
    const ofColumns = new Digest();
    expect(new Map(ofColumns.addColumns(4, some))).toEqual(some);
    expect(ofColumns.value()).toBe(digest([{ a: 'x' }, { a: 'x' }, { a: 'unused?' }, {}]));
  });

  it('treats a code beyond all values as NULL, whatever was hashed before', () => {
    const many = Array.from({ length: 500 }, (_, index) => `text ${index}`);
    const some = new Map<string, CodedColumn>([
      ['a', coded('string', Uint32Array.of(1, 2, 3), [undefined, ...many])],
      ['b', coded('string', Uint32Array.of(1, 2, 300), [undefined, 'x'])],
    ]);
    const ofColumns = new Digest();
    expect([...ofColumns.addColumns(3, some)].length).toBe(2);
    expect(ofColumns.value()).toBe(digest([{ a: 'text 0', b: 'x' }, { a: 'text 1' }, { a: 'text 2' }]));
  });

  it('of equal rows is their number times the digest of one row, mod 2^128', () => {
    const sumOf = (rows: number) => {
      const many = new Digest();
      Array.from(many.addColumns(rows, new Map([['a', coded('string', new Uint32Array(rows), ['same'])]])));
      return BigInt(`0x${many.value().split(':')[2]}`);
    };
    for (const rows of [2, 3, 1_000]) expect(sumOf(rows)).toBe(BigInt.asUintN(128, BigInt(rows) * sumOf(1)));
  });
});

function content(row: Row): string {
  const values = Object.entries(row).flatMap(([name, held]) =>
    held === null || held === undefined || name === '_synced_at'
      ? []
      : [
          `${name}=${JSON.stringify(held instanceof Date ? held.getTime() : Object.is(held, -0) ? '-0' : String(held))}`,
        ],
  );
  return JSON.stringify(values.sort());
}
