/** A file that the ledgers name and DuckDB cannot read fails each query of its table, so that no answer lacks rows silently. */
import { cp, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { query } from '../../cli/query-result.ts';
import { createSqlConnection } from '../../cli/sql-tables.ts';
import { openLocalStore } from '../../shared/adapters/local/store.ts';
import { DAY_MS } from '../../shared/base/days.ts';
import { reports } from '../../shared/reports/index.ts';
import { restate } from '../../sample/brand.ts';
import { writeLake } from '../fakes/lake-on-disk.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { type SampleLake, sampleLake } from '../sync/sample-lake.ts';

const DAY = '2026-03-08';

let temporary: Awaited<ReturnType<typeof temporaryFolder>>;
let sample: SampleLake;
let whole: string;
let copies = 0;

beforeAll(async () => {
  temporary = await temporaryFolder();
  sample = await sampleLake({ now: '2026-03-10T15:00:00Z', startDate: DAY, clicksPerDay: 6 });
  await sample.sync();
  restate(sample.brand, 'order_list', DAY, (held) => held.slice(1));
  sample.advance(DAY_MS);
  await sample.sync();
  whole = join(temporary.path, 'whole');
  await writeLake(sample.store, whole);
});
afterAll(() => temporary.remove());

async function damaged(damage: (folder: string, file: string) => Promise<unknown>, table = 'orders') {
  copies += 1;
  const folder = join(temporary.path, `lake-${copies}`);
  await cp(whole, folder, { recursive: true });
  const ofDay = join(folder, 'snapshots', table, 'brand=acme', `dt=${DAY}`);
  for (const id of await readdir(ofDay)) await damage(folder, join(ofDay, id, 'part-0000.parquet'));
  return lakeIn(folder);
}

function lakeIn(folder: string) {
  return { store: openLocalStore(folder), reports, settings: undefined, nowMs: sample.nowMs };
}

async function ask(lake: ReturnType<typeof lakeIn>, sql: string): Promise<unknown> {
  const connection = await createSqlConnection(lake, sql);
  try {
    return (await Array.fromAsync((await query(connection, sql)).blocks)).flat();
  } finally {
    connection.closeSync();
  }
}

const DAMAGES = [
  ['the file is gone', (_: string, file: string) => rm(file)],
  [
    'its folder is gone',
    (_: string, file: string) => rm(join(file, '../..'), { recursive: true, force: true }),
  ],
  ['the file is empty', (_: string, file: string) => writeFile(file, '')],
  ['the file is cut off', (_: string, file: string) => truncate(file, 100)],
  ['the file is something else', (_: string, file: string) => writeFile(file, 'PAR1 no PAR1')],
  [
    'the folder of the brand is gone',
    (lake: string) => rm(join(lake, 'snapshots/orders/brand=acme'), { recursive: true, force: true }),
  ],
  ['no file is left', (lake: string) => rm(join(lake, 'snapshots'), { recursive: true, force: true })],
] as const;

describe.each(DAMAGES)('if %s', (_what, damage) => {
  let lake: ReturnType<typeof lakeIn>;
  beforeAll(async () => {
    lake = await damaged(damage);
  });

  it.each([
    ['a table', 'SELECT count(*) FROM orders'],
    ['one day of a table', `SELECT count(*) FROM orders WHERE dt = '${DAY}'`],
    ['a view', 'SELECT count(*) FROM orders_daily'],
    ['a view without the day', `SELECT * FROM orders_daily WHERE dt > '${DAY}'`],
    ['a table without its columns', 'SELECT 1 FROM orders LIMIT 1'],
  ])('a query of %s names the day, and the command that heals it', async (_of, sql) => {
    await expect(ask(lake, sql)).rejects.toMatchObject({
      code: 'file_unreadable',
      message: expect.stringMatching(
        /^orders of acme, 2026-03-.* cannot be read: .*npx brand-reports verify/s,
      ),
    });
  });

  it.each(['SELECT 1', 'SHOW TABLES', 'SELECT count(*) FROM coverage'])('%s runs', async (sql) => {
    await expect(ask(lake, sql)).resolves.not.toEqual([]);
  });
});

it('a file of what was before fails its table and its views alone', async () => {
  const lake = await damaged((_, file) => rm(file), 'orders_before');
  const refused = { message: expect.stringContaining(`orders_before of acme, ${DAY} cannot be read: `) };
  for (const name of ['orders_before', 'order_history'])
    await expect(ask(lake, `SELECT count(*) FROM ${name}`)).rejects.toMatchObject(refused);
  expect(await ask(lake, 'SELECT count(*) > 0 FROM orders')).toEqual([[true]]);
});
