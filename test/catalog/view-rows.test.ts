import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type TableRoles, viewOver } from '../../shared/catalog/view-roles.ts';
import type { Column } from '../../shared/base/column-types.ts';
import { baseSchema } from '../../shared/table/columns.ts';
import type { BrandRoles } from '../../shared/lake/brand-settings.ts';
import { reports } from '../../shared/reports/index.ts';
import { COMPLETE_STATES, PROBLEM_STATES } from '../../shared/planning/day-state.ts';
import { createViews, insert } from '../views/lake-views.ts';

type Cell = string | number | null;
/** Rows by table, of brand `acme` and 31 January unless they have other values. */
type Records = Readonly<Record<string, readonly Readonly<Record<string, Cell>>[]>>;

const DEFAULTS = { brand: 'acme', dt: '2026-01-31' };

let connection: DuckDBConnection;
beforeEach(async () => {
  connection = await (await DuckDBInstance.create(':memory:')).connect();
});
afterEach(() => connection.closeSync());

/** The rows of the view, as text, over tables of these records; discovered columns are the columns of the records. */
async function rowsOf(
  name: string,
  records: Records,
  columns: string,
  roles: TableRoles = new Map(),
): Promise<Cell[][]> {
  const schemas = new Map(
    Object.values(reports).map((report) => {
      const documented = baseSchema(report.columns).columns;
      const known = [...documented.map((column) => column.name), ...Object.keys(DEFAULTS)];
      const met = new Set((records[report.table] ?? []).flatMap(Object.keys));
      const discovered = [...met]
        .filter((column) => !known.includes(column))
        .map((column): Column => ({ name: column, type: 'string' }));
      return [report.table, { columns: [...documented, ...discovered] }] as const;
    }),
  );
  await createViews(connection, schemas, { roles, only: [name] });
  for (const [table, rows] of Object.entries(records))
    await insert(
      connection,
      table,
      rows.map((row) => ({ ...DEFAULTS, ...row })),
    );
  const read = await connection.runAndReadAll(`SELECT ${columns} FROM ${name} ORDER BY ALL`);
  return read.getRowsJson() as Cell[][];
}

const click = (publisher_id: string | null, more: Record<string, Cell> = {}) => ({ publisher_id, ...more });
const order = (
  publisher_id: string | null,
  status: string | null,
  amount: string,
  commission: string,
  more: Record<string, Cell> = {},
) => ({ publisher_id, status, amount, commission, ...more });

describe('publisher_performance', () => {
  const columns = `dt, publisher_id, currency, clicks, orders, orders_new, orders_effective, orders_void,
    CAST(amount AS double), CAST(commission AS double), CAST(commission_new AS double),
    CAST(commission_effective AS double), CAST(commission_void AS double), CAST(bonus AS double)`;

  it.each<[string, Records, Cell[][]]>([
    [
      'counts every click and every order once, however many rows the other table has',
      {
        clicks: [click('1'), click('1'), click('1')],
        orders: [order('1', 'new', '10', '1'), order('1', 'effective', '20', '2')],
      },
      [['2026-01-31', '1', null, '3', '2', '1', '1', '0', 30, 3, 1, 2, 0, 0]],
    ],
    [
      'keeps void orders out of amount and commission, and shows their commission separately',
      { orders: [order('1', 'void', '10', '1'), order('1', 'effective', '20', '2')] },
      [['2026-01-31', '1', null, '0', '2', '0', '1', '1', 20, 2, 0, 2, 1, 0]],
    ],
    [
      'counts a bonus as commission and not as an order, unless it is void',
      {
        orders: [
          order('1', 'effective', '20', '2', { type: 'trans' }),
          order('1', 'new', '0', '50', { type: 'campaign_proposal_pay' }),
          order('1', 'void', '0', '7', { type: 'bonus' }),
        ],
      },
      [['2026-01-31', '1', null, '0', '1', '0', '1', '0', 20, 52, 50, 2, 7, 50]],
    ],
    [
      'never adds amounts of two currencies, and shows the clicks of the day once',
      {
        clicks: [click('1'), click('1')],
        orders: [
          order('1', 'new', '10', '1', { currency: 'USD' }),
          order('1', 'new', '7', '2', { currency: 'EUR' }),
          order('1', 'new', '5', '3', { currency: null }),
        ],
      },
      [
        ['2026-01-31', '1', 'EUR', '2', '1', '1', '0', '0', 7, 2, 2, 0, 0, 0],
        ['2026-01-31', '1', 'USD', '0', '1', '1', '0', '0', 10, 1, 1, 0, 0, 0],
        ['2026-01-31', '1', null, '0', '1', '1', '0', '0', 5, 3, 3, 0, 0, 0],
      ],
    ],
    [
      'has publishers with only clicks, and counts a click on its own day',
      {
        clicks: [click('1', { dt: '2026-01-30' }), click('2')],
        orders: [order('1', 'new', '10', '1', { currency: 'USD' })],
      },
      [
        ['2026-01-30', '1', null, '1', '0', '0', '0', '0', 0, 0, 0, 0, 0, 0],
        ['2026-01-31', '1', 'USD', '0', '1', '1', '0', '0', 10, 1, 1, 0, 0, 0],
        ['2026-01-31', '2', null, '1', '0', '0', '0', '0', 0, 0, 0, 0, 0, 0],
      ],
    ],
    [
      'puts records without a publisher into one row, whether the field is empty or missing',
      { clicks: [click(null), click('')], orders: [order(' ', 'new', '10', '1')] },
      [['2026-01-31', null, null, '2', '1', '1', '0', '0', 10, 1, 1, 0, 0, 0]],
    ],
    [
      'counts orders in an unknown state or without a state, with their money',
      { orders: [order('1', 'frozen', '10', '1'), order('1', null, '20', '2')] },
      [['2026-01-31', '1', null, '0', '2', '0', '0', '0', 30, 3, 0, 0, 0, 0]],
    ],
  ])('the view %s', async (_name, records, expected) => {
    expect(await rowsOf('publisher_performance', records, columns)).toEqual(expected);
  });

  it('has a name if the orders have names', async () => {
    const orders = [order('1', 'new', '1', '1', { publisher_name: 'Plain Finds' })];
    expect(await rowsOf('publisher_performance', { orders }, 'publisher_name')).toEqual([['Plain Finds']]);
  });
});

describe('channel_conversion', () => {
  const columns = 'month, channel_id, clicks, orders, orders_void, conversion_rate, from_day, to_day, days';
  const channel = (channel_id: string | null, more: Record<string, Cell> = {}) => ({ channel_id, ...more });
  const sale = (more: Record<string, Cell> = {}) => channel('7', { status: 'new', ...more });
  const covered = (
    report: string,
    dt: string,
    rows: number | null = 1,
    state: string | null = 'complete',
  ) => ({
    ...{ report, dt, rows, committed_state: state },
  });
  /** The coverage of both reports on these days of January. */
  const both = (...days: readonly number[]) =>
    days.flatMap((day) => ['clicks_list', 'order_list'].map((report) => covered(report, january(day))));
  const january = (day: number) => `2026-01-${String(day).padStart(2, '0')}`;
  const ofDays = (...days: readonly number[]) => ({
    clicks: days.map((day) => channel('7', { dt: january(day) })),
    orders: days.map((day) => sale({ dt: january(day) })),
  });
  const only31 = ['2026-01-31', '2026-01-31', '1'];

  it.each<[string, Records, Cell[][]]>([
    [
      'divides with a fraction, and leaves void orders and bonuses out',
      {
        clicks: [channel('7'), channel('7'), channel('7'), channel('7')],
        orders: [sale(), sale({ status: 'void' }), sale({ type: 'bonus' })],
        coverage: both(31),
      },
      [['2026-01', '7', '4', '2', '1', 0.25, ...only31]],
    ],
    [
      'counts a click on another day of the month',
      { clicks: [channel('7', { dt: january(1) })], orders: [sale()], coverage: both(1, 31) },
      [['2026-01', '7', '1', '1', '0', 1, january(1), january(31), '2']],
    ],
    [
      'has no rate without clicks, and one row for records without a channel',
      { orders: [channel(null, { status: null }), channel('', { status: 'new' })], coverage: both(31) },
      [['2026-01', null, '0', '2', '0', null, ...only31]],
    ],
    ['has no row if there are only bonuses', { orders: [sale({ type: 'bonus' })], coverage: both(31) }, []],
    [
      'has no number of void orders, and so no rate, without a field for the state',
      { clicks: [channel('7')], orders: [channel('7')], coverage: both(31) },
      [['2026-01', '7', '1', '1', null, null, ...only31]],
    ],
    [
      'counts a day without records between days with records',
      { ...ofDays(5, 7), coverage: [...both(5, 7), ...both(6).map((day) => ({ ...day, rows: 0 }))] },
      [['2026-01', '7', '2', '2', '0', 1, january(5), january(7), '3']],
    ],
    [
      'leaves out days before the first click that the service has, although they are complete',
      {
        clicks: [channel('7', { dt: january(9) })],
        orders: [sale({ dt: january(8) }), sale({ dt: january(9) })],
        coverage: [...both(9), covered('clicks_list', january(8), 0), covered('order_list', january(8))],
      },
      [['2026-01', '7', '1', '1', '0', 1, january(9), january(9), '1']],
    ],
    [
      'leaves out days that one of the reports lacks, and counts the days of other brands by themselves',
      {
        clicks: [channel('7', { dt: january(8) }), channel('7', { dt: january(9), brand: 'globex' })],
        orders: [sale({ dt: january(9) }), sale({ dt: january(9), brand: 'globex' })],
        coverage: [
          covered('clicks_list', january(8)),
          covered('order_list', january(9)),
          covered('transaction_list', january(9)),
          ...both(9).map((day) => ({ ...day, brand: 'globex' })),
        ],
      },
      [['2026-01', '7', '1', '1', '0', 1, january(9), january(9), '1']],
    ],
  ])('the view %s', async (_name, records, expected) => {
    expect(await rowsOf('channel_conversion', records, columns)).toEqual(expected);
  });

  const states: [state: string | null, isCounted: boolean][] = [
    ...COMPLETE_STATES.map((state): [string, boolean] => [state, true]),
    ...[...PROBLEM_STATES, 'open', null].map((state): [string | null, boolean] => [state, false]),
  ];
  it.each(states)('counts a day whose committed version is %s: %s', async (state, isCounted) => {
    const coverage = [covered('clicks_list', january(31)), covered('order_list', january(31), 1, state)];
    const found = await rowsOf('channel_conversion', { ...ofDays(31), coverage }, 'days');
    expect(found).toEqual(isCounted ? [['1']] : []);
  });
});

const transaction = (order_status: string | null, commission: string, more: Record<string, Cell> = {}) => ({
  order_status,
  commission,
  ...more,
});

describe('commission_due', () => {
  const columns =
    'month, publisher_id, state, currency, transactions, CAST(commission AS double), CAST(bonus AS double)';

  it.each<[string, Records, Cell[][]]>([
    [
      'uses the state of the line, because the order may be mixed',
      {
        transactions: [
          transaction('mixed', '1', { sku_status: 'paid' }),
          transaction('mixed', '2', { sku_status: 'void' }),
          transaction('locked', '4', { sku_status: null }),
          transaction('locked', '8', { sku_status: 'locked' }),
        ],
      },
      [
        ['2026-01', null, 'locked', null, '2', 12, 0],
        ['2026-01', null, 'paid', null, '1', 1, 0],
        ['2026-01', null, 'void', null, '1', 2, 0],
      ],
    ],
    [
      'uses the state of the order if lines have no state',
      { transactions: [transaction('mixed', '1')] },
      [['2026-01', null, 'mixed', null, '1', 1, 0]],
    ],
    [
      'counts every equal line, because lines have no key',
      { transactions: [transaction('locked', '3'), transaction('locked', '3')] },
      [['2026-01', null, 'locked', null, '2', 6, 0]],
    ],
    [
      'separates publishers, months and currencies, and shows bonuses as a part of the commission',
      {
        transactions: [
          transaction('locked', '1', { publisher_id: '1', currency: 'USD' }),
          transaction('locked', '5', {
            publisher_id: '1',
            currency: 'USD',
            transaction_type: 'campaign_payment',
          }),
          transaction('locked', '2', { publisher_id: '1', currency: 'EUR' }),
          transaction('locked', '3', { publisher_id: '2', currency: 'USD', dt: '2026-02-01' }),
        ],
      },
      [
        ['2026-01', '1', 'locked', 'EUR', '1', 2, 0],
        ['2026-01', '1', 'locked', 'USD', '2', 6, 5],
        ['2026-02', '2', 'locked', 'USD', '1', 3, 0],
      ],
    ],
  ])('the view %s', async (_name, records, expected) => {
    expect(await rowsOf('commission_due', records, columns)).toEqual(expected);
  });
});

describe('a bonus', () => {
  const records: Records = {
    transactions: [
      transaction('locked', '1', { kind: ' Sale' }),
      transaction('locked', '5', { kind: 'Extra ' }),
    ],
    orders: [order('1', 'new', '9', '1', { kind: 'sale' }), order('1', 'new', '0', '5', { kind: 'extra' })],
  };
  const rolesOf = (own: Partial<BrandRoles>): TableRoles =>
    new Map(['transactions', 'orders'].map((table) => [table, { acme: { fields: {}, words: {}, ...own } }]));

  it.each<[string, Partial<BrandRoles>, number]>([
    ['has one of the words of the setting kinds', { kinds: ['EXTRA'] }, 5],
    [
      'has a word of the field that has the role',
      { fields: { kind: ['gone', 'kind'] }, kinds: ['extra'] },
      5,
    ],
    ['has none of the words of the interface here', {}, 0],
    ['is nothing if no word is one', { kinds: [] }, 0],
    ['is nothing if the service has no kinds', { fields: { kind: null }, kinds: ['extra'] }, 0],
  ])('of a record %s', async (_name, own, bonus) => {
    const due = await rowsOf(
      'commission_due',
      records,
      'CAST(commission AS double), CAST(bonus AS double)',
      rolesOf(own),
    );
    expect(due).toEqual([[6, bonus]]);
    await connection.run('DROP VIEW commission_due; DROP TABLE transactions');
    const sums = await rowsOf(
      'publisher_performance',
      records,
      'orders, CAST(bonus AS double)',
      rolesOf(own),
    );
    expect(sums).toEqual([[bonus === 0 ? '2' : '1', bonus]]);
  });
});

describe('unsettled', () => {
  const columns = `state, currency, orders, CAST(orders_commission AS double),
    transactions, CAST(transactions_commission AS double)`;

  it.each<[string, Records, Cell[][]]>([
    [
      'has records that can still change, orders and transactions in separate columns',
      {
        orders: [
          order('1', 'new', '10', '1'),
          order('1', 'effective', '10', '2'),
          order('1', 'VOID', '10', '4'),
        ],
        transactions: [
          transaction('new', '1'),
          transaction('locked', '2'),
          transaction('mixed', '4', { sku_status: 'new' }),
          transaction('mixed', '8', { sku_status: 'paid' }),
          transaction('paid', '16'),
          transaction('void', '32'),
        ],
      },
      [
        ['locked', null, '0', 0, '1', 2],
        ['new', null, '1', 1, '2', 5],
      ],
    ],
    [
      'has records without a state, or in an undocumented state',
      { orders: [order('1', null, '1', '1'), order('1', 'frozen', '1', '2')] },
      [
        ['frozen', null, '1', 2, '0', 0],
        [null, null, '1', 1, '0', 0],
      ],
    ],
    [
      'separates currencies',
      {
        orders: [
          order('1', 'new', '1', '1', { currency: 'USD' }),
          order('1', 'new', '1', '2', { currency: 'EUR' }),
        ],
      },
      [
        ['new', 'EUR', '1', 2, '0', 0],
        ['new', 'USD', '1', 1, '0', 0],
      ],
    ],
  ])('the view %s', async (_name, records, expected) => {
    expect(await rowsOf('unsettled', records, columns)).toEqual(expected);
  });

  it.each([
    ['today', 0, '0 to 30 days'],
    ['at the end of the first month', 30, '0 to 30 days'],
    ['a day after the first month', 31, '31 to 60 days'],
    ['at the end of the second', 60, '31 to 60 days'],
    ['a day after the second', 61, '61 to 90 days'],
    ['at the end of the third', 90, '61 to 90 days'],
    ['a day after the third', 91, 'over 90 days'],
    ['tomorrow, if the zone is ahead of UTC', -1, '0 to 30 days'],
  ])('shows the age of an order of %s', async (_name, days, age) => {
    await connection.run("SET TimeZone = 'Pacific/Kiritimati'");
    const day = `strftime(CAST(current_timestamp AT TIME ZONE 'UTC' AS date) - ${days}, '%Y-%m-%d')`;
    const [[dt = null] = []] = (await connection.runAndReadAll(`SELECT ${day}`)).getRowsJson() as Cell[][];
    const found = await rowsOf(
      'unsettled',
      { orders: [order('1', 'new', '1', '1', { dt })] },
      'age_days, age',
    );
    expect(found).toEqual([[String(Math.max(days, 0)), age]]);
  });
});

describe('attribution_daily', () => {
  it('counts clicks once per tracking link and day, and sums page views', async () => {
    const attribution = [
      // Two products of one link: 7 clicks, not 14.
      { dt: '2026-01-01', publisher_uid: 1, country_code: 'US', track_url: 'a', dpv: 10, click: 7 },
      { dt: '2026-01-01', publisher_uid: 1, country_code: 'US', track_url: 'a', dpv: 5, click: 7 },
      { dt: '2026-01-01', publisher_uid: 1, country_code: 'US', track_url: 'b', dpv: 1, click: 2 },
      // The same link on another day counts again.
      { dt: '2026-01-02', publisher_uid: 1, country_code: 'US', track_url: 'a', dpv: 3, click: 4 },
      // Rows without a link are links of their own.
      { dt: '2026-01-02', publisher_uid: 2, country_code: 'DE', track_url: null, dpv: 0, click: 1 },
      { dt: '2026-01-02', publisher_uid: 2, country_code: 'DE', track_url: null, dpv: 0, click: 1 },
      // A link that two countries report is counted in one of them.
      { dt: '2026-01-03', publisher_uid: 3, country_code: 'DE', track_url: 'c', dpv: 1, click: 9 },
      { dt: '2026-01-03', publisher_uid: 3, country_code: 'US', track_url: 'c', dpv: 2, click: 9 },
    ];
    const columns = 'dt, publisher_uid, country_code, dpv, clicks';
    expect(await rowsOf('attribution_daily', { attribution }, columns)).toEqual([
      ['2026-01-01', '1', 'US', '16', '9'],
      ['2026-01-02', '1', 'US', '3', '4'],
      ['2026-01-02', '2', 'DE', '0', '2'],
      ['2026-01-03', '3', 'DE', '1', '9'],
      ['2026-01-03', '3', 'US', '2', '0'],
    ]);
  });
});

/** By view: its sums of the commission of one record, whose state is `new`. */
const SUMS_OF_COMMISSION: Readonly<Record<string, readonly string[]>> = {
  orders_daily: ['commission'],
  publisher_performance: ['commission', 'commission_new'],
  commission_due: ['commission'],
  unsettled: ['orders_commission', 'transactions_commission'],
};

/** An amount of a record, and the sum of 1.5, 0 and this amount as text; NULL: the amount is unknown. */
const READ: readonly (readonly [name: string, value: Cell, sum: string | null])[] = [
  ['missing', null, null],
  ['empty', '', null],
  ['only spaces', '  ', null],
  ['a word', 'abc', null],
  ['a number with commas', '1,500.25', null],
  ['an object', '{"value": 5}', null],
  ['a number with its currency', '5 USD', null],
  ['infinite', 'inf', null],
  ['with a tab before it', '\t12.5', null],
  ['with a separator of DuckDB', '12_500', null],
  ['in digits of another script, which Trino accepts', '١٢', null],
  ['not a number', 'NaN', null],
  ['1e30', '1e30', null],
  ['near the limit of decimals', '99999999999999999999999999999.999999999', null],
  ['near the limit, and negative', '-99999999999999999999999999999.999999999', null],
  ['10^20', '100000000000000000000', null],
  ['the largest amount', '99999999999999999999.999999999', '100000000000000000001.499999999'],
  ['a text with spaces', ' 12.5 ', '14.000000000'],
  ['with an exponent', '1e1', '11.500000000'],
  ['0', '0', '1.500000000'],
  ['negative', '-1.5', '0.000000000'],
];

describe.each(Object.entries(SUMS_OF_COMMISSION))('the commission in %s', (view, sums) => {
  const record = (commission: Cell) => ({ commission, status: 'new', order_status: 'new', amount: '1' });
  /** How many records the sums of a row include. */
  const tables = view === 'unsettled' ? 2 : 1;

  it('is added exactly, or makes the sums of its row NULL and is counted, whatever it is', async () => {
    const records = READ.flatMap(([, value], place) =>
      // Twice, because two amounts near the limit would overflow.
      ['1.5', value, '0', ...(READ[place]?.[2] === null ? [value] : [])].map((commission) => ({
        ...record(commission),
        currency: `C${10 + place}`,
      })),
    );
    const texts = sums.map((sum) => `CAST(${sum} AS varchar)`).join(', ');
    const found = await rowsOf(
      view,
      { orders: records, transactions: records },
      `currency, ${texts}, unknown_amounts`,
    );
    expect(found.map(([, ...row], place) => [READ[place]?.[0], ...row])).toEqual(
      READ.map(([name, , sum]) => [name, ...sums.map(() => sum), String(sum === null ? 2 * tables : 0)]),
    );
  });

  it('is NULL without a field for it', async () => {
    const records = [{ status: 'new', order_status: 'new', amount: '1' }];
    const columns = [...sums, 'unknown_amounts'].join(', ');
    expect(await rowsOf(view, { orders: records, transactions: records }, columns)).toEqual([
      [...sums.map(() => null), String(tables)],
    ]);
  });
});

describe('in a row of a view', () => {
  const performance = [
    'amount',
    'commission',
    'commission_new',
    'commission_effective',
    'commission_void',
    'bonus',
  ];

  it.each<[name: string, Records, view: string, columns: readonly string[], expected: Cell[]]>([
    [
      'of a part are known although another part is not',
      { orders: [order('1', 'void', '1', 'n/a'), order('1', 'new', '1', '2')] },
      'publisher_performance',
      performance,
      [1, 2, 2, 0, null, 0, '1'],
    ],
    [
      'leave out the unknown amount of a bonus and of a void order',
      {
        orders: [
          { publisher_id: '1', status: 'new', commission: '1', type: 'bonus' },
          { publisher_id: '1', status: 'void', commission: '1' },
          order('1', 'new', '5', '1'),
        ],
      },
      'publisher_performance',
      performance,
      [5, 2, 2, 0, 1, 1, '0'],
    ],
    [
      'that depend on the state are NULL without a field for it, also the sums of nothing',
      { orders: [{ publisher_id: '1', amount: '5', commission: '1' }] },
      'publisher_performance',
      [...performance, 'orders', 'orders_new', 'orders_effective', 'orders_void'],
      [null, null, null, null, null, null, 1, null, null, null, '2'],
    ],
    [
      'that do not depend on the state are known without a field for it',
      { orders: [{ amount: '5', commission: '1' }] },
      'orders_daily',
      ['amount', 'commission'],
      [5, 1, '0'],
    ],
    [
      'leave out a bonus without an amount, because nobody bought anything',
      { orders: [order('1', 'new', '5', '1'), { status: 'new', type: 'bonus', commission: '1' }] },
      'orders_daily',
      ['amount', 'commission'],
      [5, 2, '0'],
    ],
    [
      'of transactions need one of the two fields for the state',
      { transactions: [{ sku_status: 'paid', commission: '1' }] },
      'commission_due',
      ['commission', 'bonus'],
      [1, 0, '0'],
    ],
    [
      'of transactions are NULL without both fields for the state',
      { transactions: [{ commission: '1' }] },
      'commission_due',
      ['commission', 'bonus'],
      [null, null, '1'],
    ],
    [
      'are NULL while it is open which column is the currency',
      { orders: [{ ...order('1', 'new', '5', '1'), curr: 'USD' }] },
      'orders_daily',
      ['amount', 'commission'],
      [null, null, '2'],
    ],
    [
      'of a view are NULL if a count is missing or absurd',
      {
        attribution: [
          { publisher_uid: 1, track_url: 'a', dpv: 5, click: null },
          { publisher_uid: 1, track_url: 'b', dpv: '9223372036854775807', click: 3 },
        ],
      },
      'attribution_daily',
      ['dpv', 'clicks'],
      [null, null, '2'],
    ],
    [
      'use the clicks of the rows of a link that have them',
      {
        attribution: [
          { publisher_uid: 1, track_url: 'a', dpv: 5, click: null },
          { publisher_uid: 1, track_url: 'a', dpv: 5, click: 3 },
        ],
      },
      'attribution_daily',
      ['dpv', 'clicks'],
      [10, 3, '0'],
    ],
  ])('sums %s', async (_name, records, view, columns, expected) => {
    const numbers = columns.map((column) => `CAST(${column} AS double)`).join(', ');
    expect(await rowsOf(view, records, `${numbers}, unknown_amounts`)).toEqual([expected]);
  });

  it('are NULL for a brand whose settings have no field, and known for others', async () => {
    const of = (state: string | null) => ({ fields: { state }, words: {} });
    const roles = new Map([['orders', { acme: of('status'), globex: of(null), initech: of('typo') }]]);
    const orders = ['acme', 'globex', 'initech'].map((brand) => ({ ...order('1', 'void', '5', '1'), brand }));
    const columns =
      'brand, orders_void, CAST(commission AS double), CAST(commission_void AS double), unknown_amounts';
    expect(await rowsOf('publisher_performance', { orders }, columns, roles)).toEqual([
      ['acme', '1', 0, 1, '0'],
      ['globex', null, null, null, '2'],
      ['initech', null, null, null, '2'],
    ]);
  });
});

describe('views over brands whose fields differ', () => {
  const brand = (fields: BrandRoles['fields'], change: Partial<BrandRoles> = {}): BrandRoles => ({
    ...{ fields, words: {} },
    ...change,
  });
  const roles: TableRoles = new Map([
    [
      'orders',
      {
        acme: brand({ commission: 'sale_commission', state: 'status', currency: 'unit' }),
        globex: brand(
          { commission: 'money.due', state: 'stage', currency: null },
          { words: { Annulled: 'void', '4': 'effective', İptal: 'void', "Par l'annonceur": 'void' } },
        ),
        initech: brand({ commission: 'commission', state: 'status' }),
        umbrella: brand({ commission: 'commission', state: 'status', currency: 'curency' }),
        // No field of the records: the time of the reading.
        hooli: brand({ commission: '_synced_at' }),
      },
    ],
  ]);

  it('use the field, the path, the words and the currency of each row’s brand', async () => {
    const orders: Records[string] = [
      { status: ' VOID', sale_commission: '1', commission: '99', unit: 'usd' },
      { status: 'new', sale_commission: '2', unit: 'USD' },
      { brand: 'globex', stage: 'annulled ', money: '{"due": 1.50}', commission: '99' },
      { brand: 'globex', stage: '4', money: '{"due": "0.30000000000000004"}' },
      { brand: 'globex', stage: 'İPTAL', money: '{"due": 2}' },
      { brand: 'globex', stage: "par l'annonceur", money: '{"due": 4}' },
      { brand: 'globex', stage: 'Frozen', money: 'no object' },
      { brand: 'initech', status: 'new', commission: '5', unit: 'EUR' },
      { brand: 'umbrella', status: 'new', commission: '5', unit: 'EUR' },
      { brand: 'hooli', status: 'new', commission: '5' },
    ];
    const columns = 'brand, status, currency, orders, CAST(commission AS varchar)';
    expect(await rowsOf('orders_daily', { orders }, columns, roles)).toEqual([
      ['acme', 'new', 'USD', '1', '2.000000000'],
      ['acme', 'void', 'USD', '1', '1.000000000'],
      ['globex', 'effective', null, '1', '0.300000000'],
      ['globex', 'frozen', null, '1', null],
      ['globex', 'void', null, '3', '7.500000000'],
      ['hooli', 'new', null, '1', null],
      ['initech', 'new', null, '1', null],
      ['umbrella', 'new', null, '1', null],
    ]);
  });

  it('keep the name of a brand inside its text, whatever folders a lake has', () => {
    const columns = ['a', 'b'].map((name): Column => ({ name, type: 'string' }));
    const view = {
      ...{ name: 'v', description: '', columns: [] },
      tables: ['orders'],
      sql: '{orders.channel_id}',
    };
    const own = { acme: brand({ channel_id: 'a' }), "x' OR '1": brand({ channel_id: 'b' }) };
    const { sql } = viewOver(view, new Map([['orders', { columns }]]), new Map([['orders', own]]));
    expect(sql).toContain("WHERE brand IN ('x'' OR ''1')");
  });
});
