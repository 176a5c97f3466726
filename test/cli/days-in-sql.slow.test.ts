import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { query, resultObjects } from '../../cli/query-result.ts';
import { createSqlConnection } from '../../cli/sql-tables.ts';
import { openLocalStore } from '../../shared/adapters/local/store.ts';
import { allViews } from '../../shared/reports/definition.ts';
import { reports } from '../../shared/reports/index.ts';
import { dayColumn } from '../../shared/reports/views/typed-day.ts';
import { writeLake } from '../fakes/lake-on-disk.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { alter } from '../sync/lake-contents.ts';
import { type SampleLake, sampleLake } from '../sync/sample-lake.ts';

const FIRST = '2026-03-08';
const DAY = '2026-03-09';

let temporary: Awaited<ReturnType<typeof temporaryFolder>>;
let lake: SampleLake;

beforeAll(async () => {
  temporary = await temporaryFolder();
  lake = await sampleLake({ now: '2026-03-10T15:00:00Z', startDate: FIRST, clicksPerDay: 6 });
  // A field with the name of the column keeps its name (I6).
  alter(lake, 'transaction_list', DAY, { day: 'Monday' });
  expect((await lake.sync()).status).toBe('complete');
  await writeLake(lake.store, temporary.path);
});
afterAll(() => temporary.remove());

async function ask(sql: string): Promise<Record<string, unknown>[]> {
  const store = openLocalStore(temporary.path);
  const connection = await createSqlConnection(
    { store, reports, settings: undefined, nowMs: lake.nowMs },
    sql,
  );
  try {
    return JSON.parse(JSON.stringify(await Array.fromAsync(resultObjects(await query(connection, sql)))));
  } finally {
    connection.closeSync();
  }
}

const dated = allViews(reports).filter(({ columns }) => dayColumn(columns.map(([name]) => name)));
const tables = ['orders', 'clicks', 'attribution', 'coverage', 'closes', 'orders_before'];

it.each([...tables, ...dated.map(({ name }) => name)])(
  '%s has dt as a DATE, as its last column',
  async (name) => {
    const columns = await ask(`DESCRIBE ${name}`);
    expect(columns.at(-1)).toMatchObject({ column_name: 'day', column_type: 'DATE' });
    const [found] = await ask(
      `SELECT count(*) FILTER (day = CAST(dt AS DATE)) AS same, count(*) AS rows FROM ${name}`,
    );
    expect(found?.same).toBe(found?.rows);
  },
);

it('a field of the records with the name day keeps its values', async () => {
  expect(await ask(`SELECT DISTINCT day FROM transactions WHERE dt = '${DAY}'`)).toEqual([{ day: 'Monday' }]);
});

it.each([
  ["day >= DATE '2026-03-09'", 1],
  ["day >= '2026-03-09'", 1],
  ["day BETWEEN DATE '2026-03-08' AND DATE '2026-03-09'", 2],
  ["dt LIKE '2026-03%' AND dt < '2026-03-10'", 2],
  ["dt > DATE '2026-03-09'", undefined],
  ["dt = DATE '2026-03-09'", undefined],
  ["dt IN (DATE '2026-03-09')", undefined],
])('conditions on days: %s', async (condition, days) => {
  const sql = `SELECT count(DISTINCT dt) AS days FROM orders WHERE ${condition} AND dt < '2026-03-10'`;
  const found = await ask(sql).catch((thrown: Error) => thrown.message);
  if (days !== undefined) expect(found).toEqual([{ days }]);
  else
    expect(JSON.stringify(found)).toMatch(
      /"days":1|Binder Error: Cannot (compare|mix).*: compare the column day/,
    );
});

it.each([
  ["SELECT 1 FROM orders WHERE dt >= '2026-3-9'", "dt >= '2026-03-09'"],
  ["SELECT 1 FROM orders WHERE dt = '20260309'", "dt = '2026-03-09'"],
  ["SELECT 1 FROM orders WHERE dt <> '2026-03-09 00:00:00'", "dt <> '2026-03-09'"],
  ["SELECT 1 FROM orders WHERE dt > '03/09/2026'", "dt > '2026-11-09'"],
  ["SELECT 1 FROM orders WHERE dt <= '2026-03'", "dt LIKE '2026-11-%'"],
  ["SELECT 1 FROM orders WHERE dt BETWEEN '2026-03-01' AND '2026-3-31'", "dt <= '2026-03-31'"],
  ["SELECT 1 FROM orders WHERE dt NOT BETWEEN '2026-3-1' AND '2026-03-31'", "dt >= '2026-03-01'"],
  ["SELECT 1 FROM orders WHERE dt IN ('2026-03-08', '2026-3-9')", "dt = '2026-03-09'"],
  ["SELECT 1 FROM orders WHERE dt NOT IN ('2026/03/09')", "dt <> '2026-03-09'"],
  ["SELECT 1 FROM orders WHERE dt IN ['2026-3-9']", "dt = '2026-03-09'"],
  ["SELECT 1 FROM orders WHERE (brand, dt) IN (('acme', '2026-3-9'))", "dt = '2026-03-09'"],
  ["SELECT 1 FROM orders WHERE dt LIKE '2026-03-1'", 'LIKE'],
  ["SELECT 1 FROM orders WHERE dt NOT LIKE '2026-3-%'", 'LIKE'],
  ["SELECT 1 FROM orders WHERE dt ILIKE '202603%'", 'LIKE'],
  ["SELECT 1 FROM orders WHERE dt LIKE '2026-3!-%' ESCAPE '!'", 'LIKE'],
  ["SELECT 1 FROM orders WHERE dt GLOB '2026-3-*'", 'LIKE'],
  ["SELECT 1 FROM orders WHERE dt SIMILAR TO '2026-3-.*'", 'LIKE'],
  ["SELECT 1 FROM orders WHERE NOT regexp_matches(dt, '^2026-3-')", 'LIKE'],
  ["SELECT 1 FROM orders WHERE starts_with(dt, '2026-3-')", 'LIKE'],
  ["SELECT 1 FROM orders WHERE '2026-3-9' <= dt", "dt >= '2026-03-09'"],
  ["SELECT 1 FROM orders WHERE '2026-3-9' BETWEEN dt AND dt", "dt >= '2026-03-09'"],
  ["SELECT 1 FROM orders WHERE dt IS DISTINCT FROM '2026-3-9'", "dt <> '2026-03-09'"],
  ["SELECT 1 FROM orders WHERE dt > '2026-3' || '-9'", "dt > '2026-03-09'"],
  ["SELECT 1 FROM orders WHERE dt > strftime(DATE '2026-03-09', '%Y%m%d')", "dt > '2026-03-09'"],
  ["SELECT 1 FROM orders WHERE CAST(dt AS varchar) > CAST('2026-3-9' AS varchar)", "dt > '2026-03-09'"],
  ["SELECT 1 FROM orders WHERE dt || '' = '2026-3-9'", "dt = '2026-03-09'"],
  ["SELECT 1 FROM orders WHERE substr(dt, 1, 7) = '2026-3'", 'LIKE'],
  [`SELECT 1 FROM orders o WHERE o."DT" = '2026-3-9'`, "dt = '2026-03-09'"],
  ["SELECT dt AS d FROM orders WHERE d = '2026-3-9'", "dt = '2026-03-09'"],
  ["SELECT 1 FROM (SELECT dt AS d FROM orders) WHERE d = '2026-3-9'", "dt = '2026-03-09'"],
  ["WITH x(d) AS (SELECT dt FROM orders), y AS (FROM x) SELECT 1 FROM y WHERE y.d = '2026-3-9'", 'dt ='],
  ["SELECT 1 FROM orders JOIN clicks c ON c.dt = '2026-3-9'", "dt = '2026-03-09'"],
  ["SELECT 1 FROM (FROM orders UNION ALL FROM orders) WHERE dt = '2026-3-9'", "dt = '2026-03-09'"],
  ["SELECT count(*) FILTER (dt = '2026-3-9') FROM orders", "dt = '2026-03-09'"],
  ["SELECT CASE dt WHEN '2026-3-9' THEN 1 END FROM orders", "dt = '2026-03-09'"],
  ["SELECT max(dt) FROM orders HAVING max(dt) > '2026-3-9'", "dt > '2026-03-09'"],
  ["SELECT 1 FROM orders_daily WHERE dt = '2026-3-9'", "dt = '2026-03-09'"],
  ["SELECT 1 FROM coverage WHERE dt = '2026-3-9'", "dt = '2026-03-09'"],
  ["SELECT 1 FROM orders_before WHERE dt = '2026-3-9'", "dt = '2026-03-09'"],
  ["SELECT 1 FROM clicks WHERE EXISTS (SELECT 1 FROM orders WHERE clicks.dt = '2026-3-9')", 'dt ='],
  ["SELECT 1 FROM orders WHERE list_contains(['20260309'], dt)", "dt = '2026-03-09'"],
  ['SELECT 1 FROM orders WHERE dt = current_timestamp::varchar', 'dt ='],
  ["SELECT 1 FROM orders WHERE dt >= (current_date - INTERVAL 1 DAY)::varchar || ''", 'dt >='],
  ["SELECT 1 FROM orders WHERE left(dt, 7) >= '2026-3'", 'LIKE'],
  ["SELECT 1 FROM orders WHERE left(dt, 7) <= '2026'", 'LIKE'],
  ["SELECT 1 FROM orders WHERE dt || '' < '2026-3-9'", "dt < '2026-03-09'"],
])('refuses %s', async (sql, next) => {
  const message = await ask(sql).then(JSON.stringify, (thrown: Error) => thrown.message);
  expect(message).toContain('selects wrong days, because dt is text');
  expect(message).toContain(next);
});

it.each([
  ["SELECT 1 FROM commission_due WHERE month = '2026-9'", "Use month = '2026-09'"],
  ["SELECT 1 FROM payouts WHERE month >= '202609'", "Use month >= '2026-09'"],
  ["SELECT 1 FROM closes WHERE month BETWEEN '2026-09' AND '2026-9'", "Use month <= '2026-09'"],
  ["SELECT 1 FROM payouts WHERE month LIKE '2026-9%'", 'Use month ='],
])('refuses %s', async (sql, next) => {
  const message = await ask(sql).then(JSON.stringify, (thrown: Error) => thrown.message);
  expect(message).toContain('selects wrong months, because month is text');
  expect(message).toContain(next);
});

it.each([
  "dt LIKE '2026-03-%'",
  "dt NOT LIKE '%-09'",
  "dt >= '2026-03' AND dt < '2026-04'",
  "dt BETWEEN '2026-02-01' AND '2026-02-31'",
  "dt <> '' AND dt NOT IN ('total') AND nullif(dt, '') > ''",
  "dt IN ('2026-03-08', '2026-03-09')",
  "substr(dt, 1, 7) = '2026-03' AND right(dt, 2) = '09'",
  "replace(dt, '-', '') = '20260309'",
  "regexp_matches(dt, '^2026-0[1-3]')",
  "CAST(dt AS date) = '2026-3-9'",
  "day = '2026-3-9'",
  "dt >= strftime(DATE '2026-03-09', '%Y-%m-%d')",
  'dt > (SELECT max(dt) FROM clicks)',
  'dt = o.dt AND dt IN (SELECT dt FROM orders)',
  "brand = '2026-3-9' OR '2026-3-9' <> 'dt >= 2026-3-9' -- dt = '2026-3-9'",
  "EXISTS (SELECT 1 FROM (SELECT substr(dt, 1, 7) AS dt FROM orders) m WHERE m.dt = '2026-03')",
  "EXISTS (SELECT 1 FROM (SELECT * REPLACE (replace(dt, '-', '') AS dt) FROM orders) WHERE dt >= '20260309')",
  "EXISTS (SELECT 1 FROM (SELECT dt FROM orders UNION ALL SELECT 'total') WHERE dt = 'total')",
  "EXISTS (SELECT coalesce(dt, 'total') AS d FROM orders GROUP BY ROLLUP (dt) HAVING d = 'total')",
  "EXISTS (WITH orders AS (SELECT '2026-3-9' AS dt) SELECT 1 FROM orders WHERE dt = '2026-3-9')",
  "EXISTS (SELECT 1 FROM (SELECT unnest(['2026-3-9']) AS dt) AS invoice WHERE dt = '2026-3-9')",
  "EXISTS (SELECT 1 FROM (VALUES ('2026-3-9')) AS invoice(dt) WHERE invoice.dt = '2026-3-9')",
  "EXISTS (SELECT 1 FROM (VALUES ('2026-03-09')) AS invoice(dt) LEFT JOIN orders USING (dt))",
  'dt <= current_date::varchar AND list_contains([dt], dt)',
  "left(dt, 7) >= '2026-03' AND left(dt, 7) < '2027' AND replace(dt, '-', '') >= '202603'",
  "CAST(dt AS timestamp) > '2026-03-08 12:00' AND dayname(CAST(dt AS date)) > 'A'",
  "EXISTS (SELECT 1 FROM payouts WHERE month >= '2026-03' AND month < '2027' AND month <> 'all')",
  "EXISTS (SELECT 1 FROM payouts WHERE month BETWEEN '1900-01' AND '9999-12') OR right(dt, 5) <= '02-31'",
  "replace(dt, '-', '') BETWEEN '20260201' AND '20260231'",
  'EXISTS (SELECT 1 FROM (SELECT left(dt, 7) AS month FROM orders) JOIN payouts USING (month))',
])('accepts %s', async (condition) => {
  expect(await ask(`SELECT count(*) AS rows FROM orders o WHERE ${condition}`)).toHaveLength(1);
});
