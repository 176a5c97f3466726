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
  ["dt = DATE '2026-03-09'", undefined],
  ["dt IN (DATE '2026-03-09')", undefined],
])('conditions on days: %s', async (condition, days) => {
  const sql = `SELECT count(DISTINCT dt) AS days FROM orders WHERE ${condition} AND dt < '2026-03-10'`;
  const found = await ask(sql).catch((thrown: Error) => thrown.message);
  if (days !== undefined) expect(found).toEqual([{ days }]);
  else expect(JSON.stringify(found)).toMatch(/"days":1|Binder Error: Cannot (compare|mix)/);
});
