import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { query, resultObjects } from '../../cli/query-result.ts';
import type { Past } from '../../cli/options.ts';
import { createSqlConnection } from '../../cli/sql-tables.ts';
import { restate } from '../../sample/brand.ts';
import { openLocalStore } from '../../shared/adapters/local/store.ts';
import { DAY_MS, HOUR_MS } from '../../shared/base/days.ts';
import { reports } from '../../shared/reports/index.ts';
import { writeLake } from '../fakes/lake-on-disk.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { type SampleLake, sampleLake } from '../sync/sample-lake.ts';

const FIRST = '2026-03-08';
const SECOND = '2026-03-09';
/** The last day that each moment knows whole. */
const LAST = '2026-03-09';
const WHOLE = `dt <= '${LAST}'`;
const EVERYTHING = [
  `SELECT dt, count(*) AS rows, sum(CAST(amount AS DECIMAL(18,2))) AS amount, max(status) AS status FROM orders WHERE ${WHOLE} GROUP BY dt ORDER BY dt`,
  ...['orders_daily', 'attribution_daily', 'order_states', 'order_history', 'changes'].map(
    (view) => `SELECT * FROM ${view} WHERE ${WHOLE} ORDER BY ALL`,
  ),
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

async function ask(sql: string, where = folder, asOf?: Past, lines: string[] = []): Promise<unknown[]> {
  const onGap = (line: string) => void lines.push(line);
  const connection = await createSqlConnection(
    { store: openLocalStore(where), reports, settings: undefined, nowMs: lake.nowMs, asOf, onGap },
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

  it('leaves out days that were first read later, and counts them', async () => {
    const lines: string[] = [];
    const days = 'SELECT max(dt) AS last, count(DISTINCT dt) AS days FROM orders WHERE dt <> $$2026-03-10$$';
    expect(await ask(days, folder, moments[0]?.atMs, lines)).toEqual([{ last: LAST, days: 2 }]);
    expect(lines).toEqual(['1 day without rows, because they were first read later']);
  });

  it('shows no time of a reading', async () => {
    const times = `SELECT count(*) > 0 AS rows, count(_synced_at) AS times FROM orders WHERE ${WHOLE}`;
    for (const { atMs } of moments)
      expect(await ask(times, folder, atMs)).toEqual([{ rows: true, times: 0 }]);
  });

  it('is refused if it reads a day that was only open then, with a condition that leaves it out', async () => {
    const atMs = moments[0]?.atMs;
    const orders = "SELECT count(*) AS n FROM orders WHERE dt <= '2026-03-10'";
    const message = /acme orders 2026-03-10 were open.* dt < '2026-03-10'\.$/;
    await expect(ask(orders, folder, atMs)).rejects.toMatchObject({
      code: 'not_known_then',
      message: expect.stringMatching(message),
    });
    for (const sql of ['SELECT count(*) FROM order_states', 'SELECT count(*) FROM orders']) {
      const message = expect.stringMatching(/ dt < '2026-03-10'\.$/);
      await expect(ask(sql, folder, atMs)).rejects.toMatchObject({ code: 'not_known_then', message });
      await ask(`${sql} WHERE ${WHOLE}`, folder, atMs);
    }
  });

  it.each([
    ['a table', 'coverage', 'SELECT * FROM coverage'],
    ['a view', 'freshness', 'SELECT * FROM orders, freshness'],
    ['a table in a second statement', 'coverage', 'FROM orders; FROM main.Coverage'],
    ['a table in a subquery', 'coverage', 'SELECT (SELECT max(dt) FROM coverage) FROM orders'],
    ['a table that its own alias hides', 'coverage', 'WITH coverage AS (FROM coverage) FROM coverage'],
  ])('refuses %s that exists only as of now: %s', async (_what, name, sql) => {
    await expect(ask(sql, folder, moments[0]?.atMs)).rejects.toMatchObject({
      kind: 'config',
      code: 'not_as_of',
      message: expect.stringContaining(`cannot answer for ${name}.`),
    });
  });

  it.each([
    ['a column', `SELECT count(*) AS coverage FROM orders WHERE ${WHOLE}`],
    ['the alias of a table', `SELECT count(coverage.dt) AS n FROM orders AS coverage WHERE ${WHOLE}`],
    ['text', `SELECT count(*) AS n FROM orders WHERE ${WHOLE} AND dt <> 'freshness coverage'`],
    ['a quoted name', `SELECT count(*) AS n FROM (SELECT dt AS "coverage" FROM orders WHERE ${WHOLE})`],
    [
      'a common table expression',
      `WITH coverage AS (FROM orders) SELECT count(*) AS n FROM coverage WHERE ${WHOLE}`,
    ],
    [
      'a recursive query',
      `WITH RECURSIVE coverage AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM coverage WHERE n < 1) SELECT count(*) AS n FROM orders, coverage WHERE coverage.n = 1 AND ${WHOLE}`,
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
