import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type TableRoles, viewOver } from '../../shared/catalog/view-roles.ts';
import type { Column } from '../../shared/column-types.ts';
import { baseSchema } from '../../shared/lake/table/columns.ts';
import { inDuckDb } from '../../shared/reports/views/view-sql.ts';
import type { BrandRoles } from '../../shared/lake/documents/roles.ts';
import { reports } from '../../shared/reports/index.ts';

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
  const view = Object.values(reports)
    .flatMap(({ views }) => views)
    .find((each) => each.name === name);
  if (!view) throw new Error(`there is no view ${name}`);
  const tables = new Map<string, Column[]>();
  for (const table of view.tables) {
    const report = Object.values(reports).find((each) => each.table === table);
    const documented = baseSchema(report?.columns ?? []).columns;
    const met = [...(records[table] ?? []).flatMap((record) => Object.keys(record)), 'brand', 'dt'];
    const known = new Set(documented.map((column) => column.name));
    const discovered = [...new Set(met)].filter((column) => !known.has(column));
    const all = [...documented, ...discovered.map((column): Column => ({ name: column, type: 'string' }))];
    tables.set(table, all);
    await connection.run(
      `CREATE TABLE ${table} (${all.map((column) => `"${column.name}" ${column.type}`).join(', ')})`,
    );
    for (const record of records[table] ?? []) await insert(table, { ...DEFAULTS, ...record });
  }
  await connection.run(`CREATE VIEW ${name} AS ${inDuckDb(viewOver(view, tables, roles).sql)}`);
  const read = await connection.runAndReadAll(`SELECT ${columns} FROM ${name} ORDER BY ALL`);
  return read.getRowsJson() as Cell[][];
}

async function insert(table: string, record: Readonly<Record<string, Cell>>): Promise<void> {
  const values = Object.values(record).map((value) =>
    typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value),
  );
  await connection.run(
    `INSERT INTO ${table} (${Object.keys(record).join(', ')}) VALUES (${values.join(', ')})`,
  );
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
      [['2026-01-31', '1', null, '3', '2', '1', '1', '0', 30, 3, 1, 2, null, null]],
    ],
    [
      'keeps void orders out of amount and commission, and shows their commission separately',
      { orders: [order('1', 'void', '10', '1'), order('1', 'effective', '20', '2')] },
      [['2026-01-31', '1', null, '0', '2', '0', '1', '1', 20, 2, null, 2, 1, null]],
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
        ['2026-01-31', '1', 'EUR', '2', '1', '1', '0', '0', 7, 2, 2, null, null, null],
        ['2026-01-31', '1', 'USD', '0', '1', '1', '0', '0', 10, 1, 1, null, null, null],
        ['2026-01-31', '1', null, '0', '1', '1', '0', '0', 5, 3, 3, null, null, null],
      ],
    ],
    [
      'has publishers with only clicks, and counts a click on its own day',
      {
        clicks: [click('1', { dt: '2026-01-30' }), click('2')],
        orders: [order('1', 'new', '10', '1', { currency: 'USD' })],
      },
      [
        ['2026-01-30', '1', null, '1', '0', '0', '0', '0', null, null, null, null, null, null],
        ['2026-01-31', '1', 'USD', '0', '1', '1', '0', '0', 10, 1, 1, null, null, null],
        ['2026-01-31', '2', null, '1', '0', '0', '0', '0', null, null, null, null, null, null],
      ],
    ],
    [
      'puts records without a publisher into one row, whether the field is empty or missing',
      { clicks: [click(null), click('')], orders: [order(' ', 'new', '10', '1')] },
      [['2026-01-31', null, null, '2', '1', '1', '0', '0', 10, 1, 1, null, null, null]],
    ],
    [
      'counts orders in an unknown state or without a state, with their money',
      { orders: [order('1', 'frozen', '10', '1'), order('1', null, '20', '2')] },
      [['2026-01-31', '1', null, '0', '2', '0', '0', '0', 30, 3, null, null, null, null]],
    ],
    [
      'adds up amounts, whatever else the column contains',
      { orders: [order('1', 'new', ' 12.50 ', 'n/a'), order('1', 'new', '12,50', '0.000000001')] },
      [['2026-01-31', '1', null, '0', '2', '2', '0', '0', 12.5, 1e-9, 1e-9, null, null, null]],
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
  const columns = 'month, channel_id, clicks, orders, orders_void, conversion_rate';
  const channel = (channel_id: string | null, more: Record<string, Cell> = {}) => ({ channel_id, ...more });

  it.each<[string, Records, Cell[][]]>([
    [
      'divides with a fraction, and leaves void orders and bonuses out',
      {
        clicks: [channel('7'), channel('7'), channel('7'), channel('7')],
        orders: [
          channel('7', { status: 'new' }),
          channel('7', { status: 'void' }),
          channel('7', { status: 'new', type: 'bonus' }),
        ],
      },
      [['2026-01', '7', '4', '2', '1', 0.25]],
    ],
    [
      'counts a click on another day of the month',
      { clicks: [channel('7', { dt: '2026-01-01' })], orders: [channel('7', { status: 'new' })] },
      [['2026-01', '7', '1', '1', '0', 1]],
    ],
    [
      'has no rate without clicks, and one row for records without a channel',
      { clicks: [], orders: [channel(null, { status: null }), channel('', { status: 'new' })] },
      [['2026-01', null, '0', '2', '0', null]],
    ],
    [
      'has no row if there are only bonuses',
      { orders: [channel('7', { status: 'new', type: 'bonus' })] },
      [],
    ],
  ])('the view %s', async (_name, records, expected) => {
    expect(await rowsOf('channel_conversion', records, columns)).toEqual(expected);
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
        ['2026-01', null, 'locked', null, '2', 12, null],
        ['2026-01', null, 'paid', null, '1', 1, null],
        ['2026-01', null, 'void', null, '1', 2, null],
      ],
    ],
    [
      'uses the state of the order if lines have no state',
      { transactions: [transaction('mixed', '1')] },
      [['2026-01', null, 'mixed', null, '1', 1, null]],
    ],
    [
      'counts every equal line, because lines have no key',
      { transactions: [transaction('locked', '3'), transaction('locked', '3')] },
      [['2026-01', null, 'locked', null, '2', 6, null]],
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
        ['2026-01', '1', 'locked', 'EUR', '1', 2, null],
        ['2026-01', '1', 'locked', 'USD', '2', 6, 5],
        ['2026-02', '2', 'locked', 'USD', '1', 3, null],
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

  it.each<[string, Partial<BrandRoles>, number | null]>([
    ['has one of the words of the setting kinds', { kinds: ['EXTRA'] }, 5],
    [
      'has a word of the field that has the role',
      { fields: { kind: ['gone', 'kind'] }, kinds: ['extra'] },
      5,
    ],
    ['has none of the words of the interface here', {}, null],
    ['is nothing if no word is one', { kinds: [] }, null],
    ['is nothing if the service has no kinds', { fields: { kind: null }, kinds: ['extra'] }, null],
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
    expect(sums).toEqual([[bonus === null ? '2' : '1', bonus]]);
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
        ['locked', null, '0', null, '1', 2],
        ['new', null, '1', 1, '2', 5],
      ],
    ],
    [
      'has records without a state, or in an undocumented state',
      { orders: [order('1', null, '1', '1'), order('1', 'frozen', '1', '2')] },
      [
        ['frozen', null, '1', 2, '0', null],
        [null, null, '1', 1, '0', null],
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
        ['new', 'EUR', '1', 2, '0', null],
        ['new', 'USD', '1', 1, '0', null],
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
      ['2026-01-03', '3', 'US', '2', null],
    ]);
  });
});

describe('orders_daily', () => {
  it('adds amounts that are texts, and skips values that are not numbers', async () => {
    const orders = [
      order('1', 'new', '10.10', '1', { dt: '2026-01-01' }),
      order('1', 'new', 'unknown', '0.000000001', { dt: '2026-01-01' }),
      { dt: '2026-01-01', status: 'void', amount: null, commission: null },
    ];
    expect(await rowsOf('orders_daily', { orders }, 'status, orders, amount, commission')).toEqual([
      ['new', '2', '10.100000000', '1.000000001'],
      ['void', '1', null, null],
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
          { words: { Annulled: 'void', '4': 'effective', İptal: 'void' } },
        ),
        initech: brand({ commission: 'commission', state: 'status' }),
        umbrella: brand({ commission: 'commission', state: 'status', currency: 'curency' }),
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
      { brand: 'globex', stage: 'Frozen', money: 'no object' },
      { brand: 'initech', status: 'new', commission: '5', unit: 'EUR' },
      { brand: 'umbrella', status: 'new', commission: '5', unit: 'EUR' },
    ];
    const columns = 'brand, status, currency, orders, CAST(commission AS varchar)';
    expect(await rowsOf('orders_daily', { orders }, columns, roles)).toEqual([
      ['acme', 'new', 'USD', '1', '2.000000000'],
      ['acme', 'void', 'USD', '1', '1.000000000'],
      ['globex', 'effective', null, '1', '0.300000000'],
      ['globex', 'frozen', null, '1', null],
      ['globex', 'void', null, '2', '3.500000000'],
      ['initech', 'new', null, '1', null],
      ['umbrella', 'new', null, '1', null],
    ]);
  });
});
