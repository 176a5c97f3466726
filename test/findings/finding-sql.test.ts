import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type FindingPlace, findingSql } from '../../shared/findings/index.ts';
import { reports } from '../../shared/reports/index.ts';

const DAY = '2026-11-01';
const BRAND = "acme's";

let connection: DuckDBConnection;
beforeAll(async () => {
  connection = await (await DuckDBInstance.create(':memory:')).connect();
  const ofMonth = 'brand, report, month, dt';
  const partition = 'brand, dt';
  const tables: [name: string, columns: string, ...rows: string[]][] = [
    ['coverage', ofMonth, ...['2026-10-25', '2026-10-31', DAY, '2026-11-02'].map((dt) => `order_list ${dt}`)],
    ['orders_before', `${partition}, _place, _key`, '2026-10-31 1 t1', `${DAY} 2 t2`, `${DAY} 1 t1`],
    [
      'orders',
      `${partition}, transid, status, number`,
      '2026-10-31 1 NEW 9',
      `${DAY} 2 Lost 2`,
      `${DAY} 7 annulled 3`,
      '2026-11-03 4 Lost 4',
    ],
    [
      'transactions',
      `${partition}, order_id`,
      `${DAY} 1`,
      `${DAY} 2`,
      `${DAY} 3`,
      `${DAY} 4`,
      `${DAY} `,
      '2026-11-02 5',
    ],
    ['clicks', `${partition}, id`, `${DAY} 1`, `${DAY} 2`, '2026-11-02 3'],
    ['click_details', `${partition}, id`, `${DAY} 1`, '2026-11-02 2'],
    [
      'attribution',
      `${partition}, track_url, click`,
      `${DAY} a 1`,
      `${DAY} a 2`,
      `${DAY} b 1`,
      `${DAY} b 1`,
      '2026-11-02 b 2',
    ],
  ];
  for (const [name, columns, ...rows] of tables) {
    await connection.run(
      `CREATE TABLE ${name} (${columns
        .split(', ')
        .map((each) => `${each} varchar`)
        .join(', ')})`,
    );
    for (const row of rows) {
      const [first = '', ...rest] = row.split(' ');
      const values = columns.includes('month')
        ? [first, String(rest[0]).slice(0, 7), ...rest]
        : [first, ...rest];
      await connection.run(
        `INSERT INTO ${name} VALUES (${[BRAND, ...values].map((each) => `'${each.replace("'", "''")}'`).join(', ')})`,
      );
    }
    await connection.run(`INSERT INTO ${name} SELECT 'globex', * EXCLUDE (brand) FROM ${name}`);
  }
});
afterAll(() => connection.closeSync());

const COLUMNS: Record<string, string[]> = {
  order_list: ['transid', 'status', 'number'],
  transaction_list: ['order_id'],
  clicks_list: ['id'],
  clicks_detail: ['id'],
};

const place: Omit<FindingPlace, 'report'> = {
  brand: BRAND,
  reports,
  day: DAY,
  hasChanges: true,
  columnsOf: (name) => new Set(COLUMNS[name]),
  fieldsOf: () => ({}),
  state: { fields: ['Status'], words: ['Annulled'] },
};

function queryOf(name: string, check: string, but: Partial<FindingPlace> = {}): string | undefined {
  const { [name]: report } = reports;
  if (!report) throw new Error(`no report ${name}`);
  return findingSql(check, { ...place, report, ...but });
}

/** The rows that a finding’s query returns, without their partition columns. */
async function oddRows(name: string, check: string, but?: Partial<FindingPlace>): Promise<string[]> {
  const sql = queryOf(name, check, but) ?? 'no query';
  const found = (await connection.runAndReadAll(sql)).getRowObjectsJson();
  return found.map(({ brand, report: _report, month: _month, ...row }) => {
    expect(brand).toBe(BRAND);
    return Object.values(row).join(' ');
  });
}

describe('the query of a finding', () => {
  it.each<[string, report: string, check: string, rows: string[]]>([
    ['the changes if rows fell', 'order_list', 'rows_fell', [`${DAY} 1 t1`, `${DAY} 2 t2`]],
    ['the changes if a sum fell', 'order_list', 'sum_fell', [`${DAY} 1 t1`, `${DAY} 2 t2`]],
    ['the changes if no two readings agree', 'order_list', 'never_agrees', [`${DAY} 1 t1`, `${DAY} 2 t2`]],
    ['the changes of a day that was given up', 'order_list', 'given_up', [`${DAY} 1 t1`, `${DAY} 2 t2`]],
    ['the day in coverage if rows were kept', 'order_list', 'rows_kept', [DAY]],
    ['the day and the day before, at a seam of time zones', 'order_list', 'zone_seam', ['2026-10-31', DAY]],
    ['the same weekdays if rows are unusual', 'order_list', 'unusual_rows', ['2026-10-25', DAY]],
    ['orders that none of three days has', 'transaction_list', 'orders_unknown', [`${DAY} 3`, `${DAY} 4`]],
    ['all rows of a day with a new column', 'clicks_list', 'new_column', [`${DAY} 1`, `${DAY} 2`]],
    ['all rows of a day without a value', 'clicks_list', 'emptied_column', [`${DAY} 1`, `${DAY} 2`]],
    ['records in an unknown state', 'order_list', 'unknown_states', [`${DAY} 2 Lost 2`]],
    ['clicks without a detail', 'clicks_detail', 'clicks_without_detail', [`${DAY} 2`]],
    ['clicks whose lookup was given up', 'clicks_detail', 'lookups_given_up', [`${DAY} 2`]],
    [
      'links with two numbers of clicks',
      'amazon_attribution_report',
      'click_differs',
      [`${DAY} a 1`, `${DAY} a 2`],
    ],
  ])('returns %s', async (_name, report, check, rows) => {
    expect(await oddRows(report, check)).toEqual(rows);
  });

  it('returns the day in coverage if it fell before it was closed and so has no changes', async () => {
    expect(await oddRows('order_list', 'rows_fell', { hasChanges: false })).toEqual([DAY]);
  });

  it('compares the field that a setting names as the order id', async () => {
    const fieldsOf = (name: string) => (name === 'order_list' ? { order_id: 'Number' } : {});
    expect(await oddRows('transaction_list', 'orders_unknown', { fieldsOf })).toEqual([
      `${DAY} 1`,
      `${DAY} 4`,
    ]);
  });

  it.each([
    ['orders_unknown', 'transaction_list'],
    ['unknown_states', 'order_list'],
  ])('of %s is missing if the table has no column to compare', (check, report) => {
    expect(queryOf(report, check, { columnsOf: () => new Set() })).toBeUndefined();
  });
});
