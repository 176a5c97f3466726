import { describe, expect, it } from '@jest/globals';
import type { Column } from '../../../shared/column-types.ts';
import { CodedRows } from '../../../shared/lake/table/coded-rows.ts';
import { type RoleBasis, Amounts } from '../../../shared/lake/table/amounts.ts';
import type { Row } from '../../../shared/lake/table/columns.ts';

const text = (name: string): Column => ({ name, type: 'string', field: name });
const money = (name: string): Column => ({ name, type: 'decimal(38,9)', field: name });
const columns = [
  text('_rescued'),
  text('status'),
  money('amount'),
  text('commission'),
  text('currency'),
  text('unit'),
];
const NANO = 1_000_000_000n;

/** Counts rows as several row groups. */
function factsOf(
  groups: readonly (readonly Row[])[],
  basis: RoleBasis = {},
  of: readonly Column[] = columns,
): Amounts {
  const facts = new Amounts(of, basis);
  for (const rows of groups) {
    const coded = new CodedRows();
    for (const row of rows) coded.append(row);
    const passed = [...facts.count(rows.length, coded.columns())];
    expect(passed.map(([name]) => name)).toEqual([...coded.columns().keys()]);
  }
  return facts;
}

describe('totals', () => {
  const usd = (amount: bigint, more: Row = {}): Row => ({ amount: amount * NANO, currency: 'USD', ...more });
  const rows: [string, Row[][], object | undefined, RoleBasis?][] = [
    ['no row', [], {}],
    [
      'rows without a currency',
      [[{ amount: NANO }, { amount: 2n * NANO }]],
      { '': { amount: '3.000000000' } },
    ],
    [
      'two currencies, over row groups',
      [[usd(1n), usd(2n), usd(4n, { currency: 'eur ' })], [usd(8n)]],
      { USD: { amount: '11.000000000' }, EUR: { amount: '4.000000000' } },
    ],
    [
      'texts and floats, rounded to nine places',
      [
        [
          { commission: ' 1.50 ' },
          { commission: '1.0320000000000003' },
          { commission: '1e2' },
          { commission: 'n/a' },
        ],
      ],
      { '': { commission: '102.532000000' } },
    ],
    [
      'large and small exponents, of which an amount has 29 places before the point',
      [[{ commission: '1.5e25' }, { commission: '-25e-1' }, { commission: '1e29' }]],
      { '': { commission: '14999999999999999999999997.500000000' } },
    ],
    [
      'a float that its column cannot hold',
      [[usd(1n), { currency: 'USD', _rescued: '{"amount":0.30000000000000004}' }]],
      { USD: { amount: '1.300000000' } },
    ],
    ['a currency that is not a currency', [[usd(1n, { currency: 'dollars of the USA' })]], undefined],
    [
      'more currencies than there can be',
      [Array.from({ length: 21 }, (_, index) => usd(1n, { currency: `C${index}` }))],
      undefined,
    ],
    ['a table without a currency', [[{ amount: NANO, unit: 'EUR' }]], undefined, {}],
    [
      'a misspelt currency in the settings',
      [[{ amount: NANO, currency: 'EUR' }]],
      undefined,
      { fields: { currency: 'curency' } },
    ],
    [
      'a service that has no currency by its settings',
      [[{ amount: NANO, unit: 'EUR' }]],
      { '': { amount: '1.000000000' } },
      { fields: { currency: null } },
    ],
  ];
  it.each(rows.map(([name, groups, totals, basis]) => [name, groups, totals, basis] as const))(
    'are right for %s',
    (_name, groups, byCurrency, basis) => {
      const of = basis ? columns.filter(({ name }) => name !== 'currency') : columns;
      expect(factsOf(groups, basis, of).values.totals?.byCurrency).toEqual(byCurrency);
    },
  );

  it('are sums of the decided fields, also in nested objects', () => {
    const of = [text('pay'), text('commission')];
    const fields = { commission: 'pay.net', currency: 'pay.unit', amount: null };
    const rows = [
      { pay: '{"net": "1.20", "unit": "EUR"}' },
      { pay: '{"net": 2, "unit": "EUR"}' },
      { pay: '{' },
    ];
    expect(factsOf([rows], { fields }, of).values.totals).toEqual({
      fields: { commission: 'pay.net', currency: 'pay.unit' },
      byCurrency: { EUR: { commission: '3.200000000' } },
    });
  });
});

describe('rows whose state can change', () => {
  const states = { words: { Annulled: 'void', '4': 'paid' } };
  it.each<[string, Row[][], number]>([
    ['final states only', [[{ status: 'paid' }, { status: 'void' }]], 0],
    ['another state', [[{ status: 'paid' }, { status: 'new' }]], 1],
    ['a final state in other letters, with spaces', [[{ status: ' PAID ' }]], 0],
    ['a word of the service', [[{ status: 'annulled' }, { status: '4' }]], 0],
    ['rows without a state', [[{ status: null }, { commission: '1' }]], 2],
    ['a row group without the column', [[{ commission: '1' }], [{ status: 'paid' }]], 1],
    ['no row', [], 0],
  ])('are counted for %s', (_name, groups, unsettled) => {
    expect(factsOf(groups, { states }).unsettled).toBe(unsettled);
  });

  it.each<[string, Column['type'], Row['state'], number]>([
    ['a whole number', 'bigint', 4n, 0],
    ['a decimal number', 'decimal(38,9)', 4n * NANO, 0],
    ['another number', 'decimal(38,9)', 4n, 1],
    ['a text', 'string', '4', 0],
  ])('are counted by the text of a state that is %s', (_name, type, state, unsettled) => {
    expect(factsOf([[{ state }]], { states }, [{ name: 'state', type }]).unsettled).toBe(unsettled);
  });

  it('are not counted if the report has no states', () => {
    expect(factsOf([[{ status: 'paid' }]]).unsettled).toBeUndefined();
  });

  it('name the unknown states', () => {
    const rows = ['Annulled', 'new', 'İptal', 'İptal', 'void\t', '', null].map((status) => ({ status }));
    expect(factsOf([rows], { states }).values.unknownStates).toEqual({ İptal: 2, 'void\t': 1 });
  });
});
