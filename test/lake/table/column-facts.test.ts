import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Column } from '../../../shared/column-types.ts';
import { CodedRows } from '../../../shared/lake/table/coded-rows.ts';
import { ColumnFacts } from '../../../shared/lake/table/column-facts.ts';
import type { Row } from '../../../shared/lake/table/columns.ts';
import type { States } from '../../../shared/reports/definition.ts';

const columns: Column[] = [
  { name: 'status', type: 'string' },
  { name: 'amount', type: 'decimal(38,9)' },
  { name: 'clicks', type: 'bigint' },
  { name: 'rate', type: 'double' },
  { name: 'made', type: 'timestamp' },
];
const states: States = { column: 'status', final: ['paid', 'void'] };

/** Counts rows as several row groups. */
function factsOf(groups: readonly (readonly Row[])[], of: States | undefined = states): ColumnFacts {
  const facts = new ColumnFacts(columns, of);
  for (const rows of groups) {
    const coded = new CodedRows();
    for (const row of rows) coded.append(row);
    const passed = [...facts.count(rows.length, coded.columns())];
    expect(passed.map(([name]) => name)).toEqual([...coded.columns().keys()]);
  }
  return facts;
}

describe('sums of numeric columns', () => {
  it.each<[string, Row[][], Record<string, string>]>([
    ['no row', [], {}],
    ['a column without a value', [[{ amount: null }]], {}],
    ['a value that several rows have', [[{ clicks: 2n }, { clicks: 2n }, { clicks: 3n }]], { clicks: '7' }],
    ['row groups', [[{ clicks: 2n }], [{ clicks: 5n }]], { clicks: '7' }],
    ['a decimal, with all its places', [[{ amount: 1_500_000_000n }]], { amount: '1.500000000' }],
    [
      'what no double could hold',
      [[{ clicks: 2n ** 62n }, { clicks: 1n }]],
      { clicks: String(2n ** 62n + 1n) },
    ],
    ['doubles', [[{ rate: 0.1 }, { rate: 0.2 }]], { rate: '0.3' }],
    ['a column that is no number', [[{ made: new Date(5), status: '7' }]], {}],
  ])('are right for %s', (_name, groups, sums) => {
    expect(factsOf(groups).sums).toEqual(sums);
  });

  it.each<[string, (string | null)[], string | undefined]>([
    ['numbers', ['1.50', ' 2 ', '-0.25'], '3.250000000'],
    ['numbers and other texts', ['1.50', 'on request', '', null], '1.500000000'],
    ['no number', ['on request', null], undefined],
  ])('have the column that says most even if its amounts are texts: %s', (_name, amounts, sum) => {
    const facts = new ColumnFacts([...columns, { name: 'commission', type: 'string' }], states, 'commission');
    const coded = new CodedRows();
    for (const commission of amounts) coded.append({ commission, status: 'paid' });
    expect([...facts.count(amounts.length, coded.columns())]).toHaveLength(2);
    expect(facts.sums).toEqual(sum === undefined ? {} : { commission: sum });
  });

  it('do not depend on the order of the rows', () => {
    const rows = fc.array(
      fc.record({ rate: fc.double({ noNaN: true, min: -1e6, max: 1e6 }), clicks: fc.bigInt() }),
    );
    fc.assert(
      fc.property(rows, (some) => {
        expect(factsOf([some.toReversed()]).sums).toEqual(factsOf([some]).sums);
      }),
    );
  });
});

describe('rows whose state can change', () => {
  it.each<[string, Row[][], number]>([
    ['final states only', [[{ status: 'paid' }, { status: 'void' }]], 0],
    ['another state', [[{ status: 'paid' }, { status: 'new' }]], 1],
    ['a final state in other letters', [[{ status: 'PAID' }]], 0],
    ['rows without a state', [[{ status: null }, { clicks: 1n }]], 2],
    ['a row group without the column', [[{ clicks: 1n }], [{ status: 'paid' }]], 1],
    ['no row', [], 0],
  ])('are counted for %s', (_name, groups, unsettled) => {
    expect(factsOf(groups).unsettled).toBe(unsettled);
  });

  it.each<[string, Column['type'], Row['state'], number]>([
    ['a whole number', 'bigint', 4n, 0],
    ['a decimal number', 'decimal(38,9)', 4_000_000_000n, 0],
    ['another number', 'decimal(38,9)', 4n, 1],
    ['a text', 'string', 'Effective', 0],
  ])('are counted by the text of a state that is %s', (_name, type, state, unsettled) => {
    const facts = new ColumnFacts([{ name: 'state', type }], { column: 'state', final: ['4', 'EFFECTIVE'] });
    const coded = new CodedRows();
    coded.append({ state });
    expect([...facts.count(1, coded.columns())]).toHaveLength(1);
    expect(facts.unsettled).toBe(unsettled);
  });

  it('are not counted where the report has no states', () => {
    const facts = new ColumnFacts(columns, undefined);
    expect(facts.unsettled).toBeUndefined();
  });
});

describe('rescued values', () => {
  const factsWith = (rescued: readonly [string, number][]) => {
    const facts = new ColumnFacts(columns, undefined);
    for (const [column, rows] of rescued) facts.addRescued(column, rows);
    return facts.rescued;
  };

  it('are counted by column over all row groups', () => {
    expect(
      factsWith([
        ['amount', 3],
        ['rate', 1],
        ['amount', 4],
      ]),
    ).toEqual({ amount: 7, rate: 1 });
  });

  it('are not told where there are none', () => {
    expect(factsWith([])).toBeUndefined();
  });

  it('are told of the twenty columns with the most', () => {
    const all = Array.from({ length: 30 }, (_, index): [string, number] => [`column_${index}`, 30 + index]);
    expect(factsWith(all)).toEqual(Object.fromEntries(all.slice(10)));
  });
});
