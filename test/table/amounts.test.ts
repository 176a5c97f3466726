import { describe, expect, it } from '@jest/globals';
import type { Column } from '../../shared/base/column-types.ts';
import { Amounts } from '../../shared/table/amounts.ts';
import type { RoleFields } from '../../shared/reports/roles.ts';
import type { Row } from '../../shared/table/columns.ts';
import { counted } from './count-groups.ts';

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

function factsOf(
  groups: readonly (readonly Row[])[],
  fields: RoleFields = {},
  of: readonly Column[] = columns,
): Amounts {
  return counted(new Amounts(of, fields), of, groups);
}

describe('totals', () => {
  const usd = (amount: bigint, more: Row = {}): Row => ({ amount: amount * NANO, currency: 'USD', ...more });
  const rows: [string, Row[][], object | undefined, RoleFields?][] = [
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
      'large and small exponents, of which an amount has 20 places before the point',
      [[{ commission: '1.5e19' }, { commission: '-25e-1' }, { commission: '1e20' }, { amount: 10n ** 29n }]],
      { '': { commission: '14999999999999999997.500000000' } },
    ],
    [
      'a float that its column cannot hold',
      [[usd(1n), { currency: 'USD', _rescued: '{"amount":0.30000000000000004}' }]],
      { USD: { amount: '1.300000000' } },
    ],
    [
      'a renamed field, of which a record may have both',
      [
        [usd(1n, { commission: '5' }), usd(2n, { commission: ' ' }), usd(4n, { commission: 'n/a' })],
        [{ commission: '7', _rescued: '{"amount":0.30000000000000004}' }],
      ],
      { USD: { commission: '7.000000000' }, '': { commission: '7.000000000' } },
      { commission: ['commission', 'amount'], amount: null },
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
      { currency: 'curency' },
    ],
    [
      'a service that has no currency by its settings',
      [[{ amount: NANO, unit: 'EUR' }]],
      { '': { amount: '1.000000000' } },
      { currency: null },
    ],
  ];
  it.each(rows.map(([name, groups, totals, basis]) => [name, groups, totals, basis] as const))(
    'are right for %s',
    (_name, groups, byCurrency, basis) => {
      const of = basis && !('amount' in basis) ? columns.filter(({ name }) => name !== 'currency') : columns;
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
    expect(factsOf([rows], fields, of).values.totals).toEqual({
      fields: { commission: ['pay.net'], currency: ['pay.unit'] },
      byCurrency: { EUR: { commission: '3.200000000' } },
    });
  });
});

describe('values that are no amounts', () => {
  it.each<[string, Row[], object]>([
    ['amounts and empty texts', [{ commission: '1.5' }, { commission: ' ' }, { amount: NANO }], {}],
    [
      'texts with a separator of thousands',
      [{ commission: '1,500.25' }, { commission: '2,000.00' }, { commission: '1,500.25' }],
      { commission: { rows: 3, example: '1,500.25' } },
    ],
    [
      'objects in a column of texts, of which the beginning is kept',
      [{ commission: `{"value":1,"note":"${'x'.repeat(99)}"}` }],
      { commission: { rows: 1, example: `{"value":1,"note":"${'x'.repeat(41)}` } },
    ],
    [
      'values that a column of numbers cannot have',
      [
        { _rescued: '{"amount":"n/a"}' },
        { _rescued: '{"amount":{"value":2}}' },
        { _rescued: '{"amount":1e-12}' },
      ],
      { amount: { rows: 2, example: 'n/a' } },
    ],
    [
      'a number that is too large',
      [{ amount: 10n ** 29n }],
      { amount: { rows: 1, example: '100000000000000000000.000000000' } },
    ],
  ])('are counted among %s', (_name, rows, unreadable) => {
    expect(factsOf([rows]).values.unreadable).toEqual({ commission: { rows: 0 }, ...unreadable });
  });

  it('are counted at the path that has the role', () => {
    const rows = [
      { unit: '{"net":"1,5"}' },
      { unit: '{"net":{"value":2}}' },
      { unit: '{"net":3}' },
      { unit: '{}' },
    ];
    const found = factsOf([rows], { amount: 'unit.net', currency: null }).values.unreadable;
    expect(found).toEqual({ 'unit.net': { rows: 2, example: '{"net":"1,5"}' }, commission: { rows: 0 } });
  });
});
