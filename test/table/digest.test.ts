import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Value } from '../../shared/base/column-types.ts';
import type { Row } from '../../shared/table/columns.ts';
import { type CodedColumn, CodedRows } from '../../shared/table/coded-rows.ts';
import { textsOf } from '../../shared/table/texts.ts';
import { Digest } from '../../shared/table/digest.ts';
import { runs } from '../fixtures/property-runs.ts';
import { anyCharacter } from '../fixtures/texts.ts';

function digest(rows: readonly Row[]): string {
  const all = new Digest();
  for (const row of rows) all.add(row);
  return all.value();
}

const value: fc.Arbitrary<Value | null | undefined> = fc.oneof(
  fc.constantFrom(null, undefined, true, false, '', '1', 'true', 1n, 0n, 1, new Date(0), new Date(1)),
  fc.string(),
);
const row: fc.Arbitrary<Row> = fc.dictionary(fc.constantFrom('a', 'b', 'c', '_rescued', '_synced_at'), value);

/** Rows as in a table, where a column has one type. */
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
    expect(digest([{ a: 1n, b: 'x' }])).toBe(digest([{ b: 'x', a: 1n }]));
  });

  it('counts duplicates', () => {
    const duplicates = new Digest();
    const values = [0, 1, 2, 3].map(() => {
      duplicates.add({ a: 'same' });
      return duplicates.value();
    });
    expect(new Set(values).size).toBe(4);
    expect(duplicates.rows).toBe(4);
  });

  it('does not depend on NULL columns or _synced_at', () => {
    const rows: Row[] = [{ a: 1n, _synced_at: new Date(0) }];
    expect(digest([{ a: 1n, b: null, c: undefined, _synced_at: new Date(1) }])).toBe(digest(rows));
  });

  it('differs for rows that differ in any other way', () => {
    fc.assert(
      fc.property(row, row, (a, b) => {
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
    ['a decimal’s last place', [{ a: 10n ** 37n }], [{ a: 10n ** 37n + 1n }]],
    [
      'texts that differ after many letters',
      [{ a: `${'x'.repeat(5_000)}y` }],
      [{ a: `${'x'.repeat(5_000)}z` }],
    ],
    ['a text and the text followed by a zero letter', [{ a: 'x' }], [{ a: 'x\u0000' }]],
    ['numbers of other kinds', [{ a: 1n }], [{ a: 1 }]],
    ['an integer past 2^53', [{ a: 9007199254740993n }], [{ a: 9007199254740992n }]],
  ])('distinguishes %s', (_name, one, other) => {
    expect(digest(one)).not.toBe(digest(other));
  });

  it('is a count and 128 bits, the same on every machine and in every version', () => {
    expect(digest([])).toBe('v2:0:00000000000000000000000000000000');
    expect(digest([{ a: 'x', n: 1n, d: 1.5, b: true, t: new Date(0) }])).toBe(
      'v2:1:b70c891432c4f0d6c7d650dbd9b0594d',
    );
    const many = Array.from(
      { length: 10_000 },
      (_, index): Row => ({
        text: 'ä'.repeat(index % 100),
        integer: (-1n) ** BigInt(index) * 3n ** BigInt(index % 80),
        ...(index % 3 === 0 && { number: index / 7 }),
      }),
    );
    expect(digest(many)).toBe('v2:10000:caf181785bb40bf1fa35d18409ec0343');
  });

  it('is the same for both zeros, and for two dates of one instant', () => {
    expect(digest([{ a: -0 }])).toBe(digest([{ a: 0 }]));
    expect(digest([{ a: new Date(5) }])).toBe(digest([{ a: new Date(5) }]));
  });
});

describe('digest of columns', () => {
  it('is the digest of their rows, for every division into row groups', () => {
    fc.assert(
      fc.property(fc.array(fc.array(typedRow)), (groups) => {
        const ofColumns = new Digest();
        for (const rows of groups) {
          const coded = new CodedRows();
          for (const one of rows) coded.append(one);
          expect(new Map(ofColumns.addColumns(coded.rows, coded.columns()))).toEqual(coded.columns());
        }
        expect(ofColumns.value()).toBe(digest(groups.flat()));
        expect(ofColumns.rows).toBe(groups.flat().length);
      }),
    );
  });

  it('is the digest of their rows if codes are unused, equal in value, NULL, or of no row', () => {
    const columns = new Map<string, CodedColumn>([
      ['a', { codes: Uint32Array.of(3, 1, 0, 4, 2), values: ['unused?', 'x', 'y', 'x', undefined] }],
      ['_synced_at', { codes: Uint32Array.of(0, 0, 0, 0), values: [new Date(0)] }],
    ]);
    const ofColumns = new Digest();
    expect(new Map(ofColumns.addColumns(4, columns))).toEqual(columns);
    expect(ofColumns.value()).toBe(digest([{ a: 'x' }, { a: 'x' }, { a: 'unused?' }, {}]));
  });

  it('treats a code beyond all values as NULL, whatever was hashed before', () => {
    const many = Array.from({ length: 500 }, (_, index) => `text ${index}`);
    const columns = new Map<string, CodedColumn>([
      ['a', { codes: Uint32Array.of(1, 2, 3), texts: textsOf([undefined, ...many]) }],
      ['b', { codes: Uint32Array.of(1, 2, 300), texts: textsOf([undefined, 'x']) }],
    ]);
    const ofColumns = new Digest();
    expect([...ofColumns.addColumns(3, columns)].length).toBe(2);
    expect(ofColumns.value()).toBe(digest([{ a: 'text 0', b: 'x' }, { a: 'text 1' }, { a: 'text 2' }]));
  });

  it('of equal rows is their number times the digest of one row, mod 2^128', () => {
    const sumOf = (rows: number) => {
      const many = new Digest();
      Array.from(many.addColumns(rows, new Map([['a', { codes: new Uint32Array(rows), values: ['same'] }]])));
      return BigInt(`0x${many.value().split(':')[2]}`);
    };
    for (const rows of [2, 3, 1_000]) expect(sumOf(rows)).toBe(BigInt.asUintN(128, BigInt(rows) * sumOf(1)));
  });
});

function content(row: Row): string {
  const values = Object.entries(row).flatMap(([name, held]) =>
    held === null || held === undefined || name === '_synced_at'
      ? []
      : [`${name}=${typeof held}${JSON.stringify(String(held instanceof Date ? held.getTime() : held))}`],
  );
  return JSON.stringify(values.sort());
}
