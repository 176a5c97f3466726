import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { query, resultObjects } from '../../cli/query-result.ts';
import { createSqlConnection } from '../../cli/sql-tables.ts';
import { restate } from '../../sample/brand.ts';
import { openLocalStore } from '../../shared/adapters/local/store.ts';
import { DAY_MS, HOUR_MS } from '../../shared/days.ts';
import { reports } from '../../shared/reports/index.ts';
import { writeLake } from '../fakes/lake-on-disk.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { type SampleLake, sampleLake } from '../sync/sample-lake.ts';

const FIRST = '2026-03-08';
const SECOND = '2026-03-09';
const EVERYTHING = [
  "SELECT dt, count(*) AS rows, sum(CAST(amount AS DECIMAL(18,2))) AS amount, max(status) AS status FROM orders WHERE brand = 'acme' GROUP BY dt ORDER BY dt",
  'SELECT * FROM orders_daily ORDER BY ALL',
  'SELECT * FROM attribution_daily ORDER BY ALL',
  'SELECT * FROM order_states ORDER BY ALL',
];

interface Moment {
  atMs: number;
  found: unknown[][];
}

let temporary: Awaited<ReturnType<typeof temporaryFolder>>;
let sample: SampleLake;
let lake: SampleLake;
let folder: string;
const moments: Moment[] = [];

async function ask(sql: string, where = folder, asOf?: number): Promise<unknown[]> {
  const connection = await createSqlConnection(
    { store: openLocalStore(where), reports, settings: undefined, nowMs: lake.nowMs, asOf },
    sql,
  );
  const rows = await Array.fromAsync(resultObjects(await query(connection, sql)));
  connection.closeSync();
  return JSON.parse(JSON.stringify(rows));
}

function rowsOfThen(): unknown {
  const [perDay = []] = moments[0]?.found ?? [];
  return perDay.reduce<number>((sum, day) => sum + Number(Object(day).rows), 0);
}

async function folderNow(): Promise<string> {
  const path = await mkdtemp(join(temporary.path, "now (x);'s-"));
  await writeLake(lake.store, path);
  return path;
}

async function syncAndLook(): Promise<void> {
  expect((await lake.sync()).status).toBe('complete');
  lake.nowMs += HOUR_MS;
  const path = await folderNow();
  moments.push({ atMs: lake.nowMs, found: await Promise.all(EVERYTHING.map((sql) => ask(sql, path))) });
  lake.nowMs += HOUR_MS;
}

function setWord(day: string, word: string): void {
  restate(lake.brand, 'order_list', day, (held) =>
    held.map(({ at, record }, index) => ({
      at,
      record: index === 0 ? { ...record, word, amount: word.length + 0.5 } : record,
    })),
  );
}

beforeAll(async () => {
  temporary = await temporaryFolder();
  sample = await sampleLake({
    now: '2026-03-10T15:00:00Z',
    startDate: FIRST,
    recordsTo: '2026-03-13T00:00:00Z',
    reports: ['order_list', 'amazon_attribution_report'],
    brandSettings: { snapshotRetentionDays: 3 },
  });
  lake = sample.emptyLake();
  await syncAndLook();
  setWord(FIRST, 'first word');
  await syncAndLook();
  setWord(FIRST, 'second word');
  setWord(SECOND, 'also restated');
  await syncAndLook();
  lake.nowMs += DAY_MS;
  await syncAndLook();
  folder = await folderNow();
});
afterAll(async () => {
  await sample.close();
  await temporary.remove();
});

describe('a query as of an instant', () => {
  it('returns the result that the same query returned then, for every table and view', async () => {
    expect(moments).toHaveLength(4);
    for (const { atMs, found } of moments)
      expect(await Promise.all(EVERYTHING.map((sql) => ask(sql, folder, atMs)))).toEqual(found);
    expect(new Set(moments.map(({ found }) => JSON.stringify(found))).size).toBeGreaterThan(1);
  });

  it('leaves out days that were committed later', async () => {
    const days = 'SELECT max(dt) AS last, count(DISTINCT dt) AS days FROM orders';
    expect(await ask(days, folder, moments[0]?.atMs)).toEqual([{ last: '2026-03-10', days: 3 }]);
    expect(await ask(days, folder, moments.at(-1)?.atMs)).toEqual([{ last: '2026-03-11', days: 4 }]);
  });

  it('is refused before the first commit, with the first instant that it accepts', async () => {
    const first = ask('FROM orders', folder, (moments[0]?.atMs ?? 0) - 3 * HOUR_MS);
    await expect(first).rejects.toMatchObject({
      code: 'before_first_version',
      message: expect.stringMatching(/at 2026-03-10T13:00:00\.000Z: .*--as-of 2026-03-10T15:00:00\.\d{3}Z$/),
    });
  });

  it('lists days whose version is no longer kept, the setting, and the first instant that works', async () => {
    const before = lake.nowMs;
    for (let day = 0; day < 5; day += 1) {
      lake.nowMs += DAY_MS;
      await lake.sync();
    }
    lake.nowMs += HOUR_MS;
    const path = await folderNow();
    const asked = ask('SELECT count(*) FROM orders', path, moments[0]?.atMs);
    await expect(asked).rejects.toMatchObject({
      kind: 'config',
      code: 'version_not_kept',
      message: expect.stringMatching(
        /2026-03-10T16:00:00\.000Z.*acme orders 2026-03-08, acme orders 2026-03-09.*"snapshotRetentionDays".*from 2026-03-\d\dT[\d:.]+Z on/,
      ),
    });
    expect(await ask('SELECT count(*) > 0 AS some FROM orders', path, lake.nowMs)).toEqual([{ some: true }]);
    lake.nowMs = before;
  });

  it.each([
    ['a table', 'coverage', 'SELECT * FROM coverage'],
    ['a view', 'freshness', 'SELECT * FROM orders, freshness'],
    ['a table in a second statement', 'coverage', 'FROM orders; FROM main.Coverage'],
    ['a table in a subquery', 'coverage', 'SELECT (SELECT max(dt) FROM coverage) FROM orders'],
    ['a table that its own alias hides', 'changes', 'WITH changes AS (FROM changes) FROM changes'],
    ['a table in the SQL of a function', 'restatements', "FROM query('FROM restatements')"],
    ['a table in a statement of another kind', 'coverage', 'EXPLAIN FROM coverage'],
  ])('refuses %s that exists only as of now: %s', async (_what, name, sql) => {
    await expect(ask(sql, folder, moments[0]?.atMs)).rejects.toMatchObject({
      kind: 'config',
      code: 'not_as_of',
      message: expect.stringContaining(`cannot answer for ${name}:`),
    });
  });

  it.each([
    ['a column', 'SELECT count(*) AS changes FROM orders'],
    ['the alias of a table', 'SELECT count(coverage.dt) AS n FROM orders AS coverage'],
    ['text', "SELECT count(*) AS n FROM orders WHERE dt <> 'freshness changes'"],
    ['a quoted name', 'SELECT count(*) AS n FROM (SELECT dt AS "coverage" FROM orders)'],
    ['a common table expression', 'WITH coverage AS (FROM orders) SELECT count(*) AS n FROM coverage'],
    [
      'a recursive query',
      'WITH RECURSIVE changes AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM changes WHERE n < 1) SELECT count(*) AS n FROM orders, changes WHERE changes.n = 1',
    ],
  ])('accepts the name of a refused table as %s', async (_what, sql) => {
    const [counted] = await ask(sql, folder, moments[0]?.atMs);
    expect(Object.values(counted ?? {})).toEqual([rowsOfThen()]);
  });

  it('does not list refused tables', async () => {
    const names = (await ask('SHOW TABLES', folder, moments[0]?.atMs)).map((row) => JSON.stringify(row));
    expect(names).toContain('{"name":"orders"}');
    expect(names.filter((name) => /coverage|freshness/.test(name))).toEqual([]);
  });
});
