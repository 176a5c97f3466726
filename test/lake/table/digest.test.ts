import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Value } from '../../../shared/column-types.ts';
import type { Row } from '../../../shared/lake/table/columns.ts';
import { Digest, canonicalText } from '../../../shared/lake/table/digest.ts';

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

describe('digest of a partition', () => {
  it('does not depend on the order of the rows', () => {
    fc.assert(
      fc.property(fc.array(row), (rows) => {
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
      { numRuns: 2_000 },
    );
  });

  it.each<[string, Row[], Row[]]>([
    ['a value under another name', [{ a: 'x' }], [{ b: 'x' }]],
    ['a value cut elsewhere', [{ a: 'x', b: 'yz' }], [{ a: 'xy', b: 'z' }]],
    ['a text that looks like a column', [{ a: 'x', b: 'y' }], [{ a: 'xb 8 string y' }]],
    ['values that changed rows', [{ a: 'x', b: 'y' }, { a: 'z' }], [{ a: 'x' }, { a: 'z', b: 'y' }]],
    ['duplicates and other duplicates', [{ a: 'x' }, { a: 'x' }], [{ a: 'y' }, { a: 'y' }]],
    ['an empty text and NULL', [{ a: '' }], [{}]],
    ['an empty row and no row', [{}], []],
    ['a decimal’s last place', [{ a: 10n ** 37n }], [{ a: 10n ** 37n + 1n }]],
    ['an integer past 2^53', [{ a: 9007199254740993n }], [{ a: 9007199254740992n }]],
  ])('distinguishes %s', (_name, one, other) => {
    expect(digest(one)).not.toBe(digest(other));
  });

  it('is a count and 128 bits, the same on every machine and in every version', () => {
    expect(digest([])).toBe('0:00000000000000000000000000000000');
    expect(digest([{ a: 'x', n: 1n, d: 1.5, b: true, t: new Date(0) }])).toBe(
      '1:2a36b57e1a5cdb5bb6db978bb0d4e75d',
    );
  });

  it('has the same text for equal values of a column', () => {
    expect(canonicalText(-0)).toBe(canonicalText(0));
    expect(canonicalText(new Date(5))).toBe(canonicalText(new Date(5)));
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
