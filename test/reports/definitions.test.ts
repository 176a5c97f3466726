import { describe, expect, it } from '@jest/globals';
import { DuckDBInstance } from '@duckdb/node-api';
import { intervalMs } from '../../shared/days.ts';
import { baseSchema } from '../../shared/lake/table/columns.ts';
import type { Filter, ReportDefinition } from '../../shared/reports/definition.ts';
import { reports } from '../../shared/reports/index.ts';

const all = Object.values(reports);
const named = all.map((report) => [report.name, report] as const);

const text: Filter = { kind: 'text' };
const oneOf = (values: string): Filter => ({ kind: 'enum', values: values.split(' ') });

/** As docs/interface.md, sections 4.1 to 4.5 list them, without those of paging and of the range. */
const DOCUMENTED_FILTERS = {
  clicks_list: { publisher_id: text, channel_id: text },
  clicks_detail: {},
  order_list: {
    status: oneOf('new void effective'),
    type: oneOf('trans manual_trans bonus campaign_proposal_pay campaign_bonus campaign_proposal_bonus'),
    publisher_id: text,
    channel_id: text,
  },
  transaction_list: {
    order_status: oneOf('new void mixed locked paid'),
    sku_status: oneOf('new void locked paid'),
    transaction_type: oneOf('bonus manually_added normal campaign_bonus campaign_payment performance_bonus'),
    amazon_country: text,
    amazon_brand: text,
    order_id: text,
    sku: text,
    publisher_id: text,
    group_id: text,
  },
  amazon_attribution_report: { publisher_uid: { kind: 'integer', min: 0 }, country_code: text, asin: text },
};

describe('the reports', () => {
  it('are the five documented ones, named by the last part of their action', () => {
    expect(all.map(({ name, action, table }) => [name, action, table])).toEqual([
      ['clicks_list', 'report/clicks_list', 'clicks'],
      ['clicks_detail', 'report/clicks_detail', 'click_details'],
      ['order_list', 'report/order_list', 'orders'],
      ['transaction_list', 'report/transaction_list', 'transactions'],
      ['amazon_attribution_report', 'report/amazon_attribution_report', 'attribution'],
    ]);
    expect(Object.keys(reports)).toEqual(all.map(({ name }) => name));
  });

  it('have exactly the documented filters, enumerations and bounds', () => {
    expect(Object.fromEntries(all.map(({ name, filters }) => [name, filters]))).toEqual(DOCUMENTED_FILTERS);
  });

  it('have checks with names of their own, in snake_case, that name reports, and columns that these document if any', () => {
    const checks = all.flatMap((report) => report.checks.map((check) => ({ report, check })));
    const names = checks.map(({ check }) => check.name);
    expect(names).toEqual([...new Set(names)]);
    for (const { report, check } of checks) {
      expect(check.name).toMatch(/^[a-z]+(_[a-z]+)*$/);
      expect(check.advice).not.toMatch(/\.$/);
      const columns: [report: string, column: string][] =
        check.rule === 'one_value'
          ? [check.by, check.column].map((column) => [report.name, column])
          : [
              [check.values.report, check.values.column],
              ...check.places.columns.map((column): [string, string] => [check.places.report, column]),
            ];
      for (const [name, column] of columns) {
        const documented = baseSchema(reports[name]?.columns ?? []).columns.map((each) => each.name);
        const discovers = reports[name]?.columns.length === 0;
        expect({ name, column, isKnown: discovers || documented.includes(column) }).toMatchObject({
          isKnown: true,
        });
      }
    }
  });

  it.each(named)('%s is read again in tiers that ascend', (_name, { refresh }) => {
    const ages = refresh.map(({ untilAgeDays }) => untilAgeDays);
    expect(ages.length).toBeGreaterThan(0);
    expect(ages).toEqual([...new Set(ages)].sort((a, b) => a - b));
    for (const { every } of refresh) expect(intervalMs(every)).toBeGreaterThanOrEqual(0);
  });

  it('look up text columns of reports that come before them', () => {
    for (const [index, { day, paging }] of all.entries()) {
      expect(paging.style === 'lookup').toBe(day.by === 'upstream');
      if (paging.style !== 'lookup' || day.by !== 'upstream') continue;
      const upstream = all.slice(0, index).find(({ name }) => name === day.report);
      const texts = upstream?.columns.filter(({ type }) => type === 'string').map(({ field }) => field);
      for (const { column } of [paging.lookup.key, ...paging.lookup.optional])
        expect(texts).toContain(column);
    }
  });
});

describe('a view', () => {
  const views = all.flatMap((report) => report.views.map((view) => [view.name, view, report] as const));

  it('exists of attribution, orders and transactions', () => {
    expect(views.map(([name]) => name)).toEqual(['orders_daily', 'transactions_daily', 'attribution_daily']);
  });

  it('attribution_daily counts clicks once per tracking link and day, and sums page views', async () => {
    const rows = await attributionDaily([
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
    ]);
    expect(rows).toEqual([
      ['2026-01-01', '1', 'US', '16', '9'],
      ['2026-01-02', '1', 'US', '3', '4'],
      ['2026-01-02', '2', 'DE', '0', '2'],
      ['2026-01-03', '3', 'DE', '1', '9'],
      ['2026-01-03', '3', 'US', '2', null],
    ]);
  });

  it('orders_daily adds amounts that came as text, and skips what is not a number', async () => {
    const orders = reports.order_list;
    if (!orders) throw new Error('there is no order_list');
    const rows = await query(orders, [
      `INSERT INTO orders (brand, dt, status, amount, commission) VALUES
        ('acme', '2026-01-01', 'new', '10.10', '1'), ('acme', '2026-01-01', 'new', 'unknown', '0.000000001'),
        ('acme', '2026-01-01', 'void', NULL, NULL)`,
      'SELECT status, orders, amount, commission FROM orders_daily ORDER BY status',
    ]);
    expect(rows).toEqual([
      ['new', '2', '10.100000000', '1.000000001'],
      ['void', '1', null, null],
    ]);
  });
});

type AttributionRow = Record<'dt' | 'country_code', string> &
  Record<'publisher_uid' | 'dpv' | 'click', number> & { track_url: string | null };

async function attributionDaily(rows: readonly AttributionRow[]) {
  const report = reports.amazon_attribution_report;
  if (!report) throw new Error('there is no amazon_attribution_report');
  const values = rows.map(
    ({ dt, publisher_uid, country_code, track_url, dpv, click }) =>
      `('acme', '${dt}', ${publisher_uid}, '${country_code}', ${track_url && `'${track_url}'`}, ${dpv}, ${click})`,
  );
  return query(report, [
    `INSERT INTO attribution (brand, dt, publisher_uid, country_code, track_url, dpv, click) VALUES ${values.join()}`,
    'SELECT dt, publisher_uid, country_code, dpv, clicks FROM attribution_daily ORDER BY dt, publisher_uid, country_code',
  ]);
}

/** Runs the statements over the report's table and views; the rows of the last one, as text. */
async function query(report: ReportDefinition, statements: readonly string[]) {
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  const documented = baseSchema(report.columns).columns.map(({ name, type }) => [name, type] as const);
  const needed = report.views.flatMap(({ needs }) => needs.map((name) => [name, 'string'] as const));
  const columns = [...documented, ...new Map(needed), ['brand', 'string'], ['dt', 'string']] as const;
  await connection.run(
    `CREATE TABLE ${report.table} (${columns.map(([name, type]) => `"${name}" ${type}`).join(', ')})`,
  );
  for (const view of report.views) await connection.run(`CREATE VIEW ${view.name} AS ${view.sql}`);
  let rows: unknown[][] = [];
  for (const statement of statements) rows = (await connection.runAndReadAll(statement)).getRowsJson();
  connection.closeSync();
  return rows;
}
