import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { databaseFile, rewriteDatabase, scriptOf, writeDatabase } from '../../cli/open-database.ts';
import { createSqlConnection, viewsOfLake } from '../../cli/sql-tables.ts';
import { openLake } from '../../shared/adapters/open-lake.ts';
import { addDays } from '../../shared/base/days.ts';
import { restate } from '../../sample/brand.ts';
import { LEDGER_TABLES, beforeTable } from '../../shared/lake/paths.ts';
import { reports } from '../../shared/reports/index.ts';
import { writeLake } from '../fakes/lake-on-disk.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { type SampleLake, sampleLake } from '../sync/sample-lake.ts';
import { runCli } from './run-cli.ts';
import { serveSampleBrand } from './sample-brand.ts';

const DAY = '2026-03-09';
const ORDERS = 'SELECT order_number, amount FROM orders ORDER BY ALL';

const tables = Object.values(reports).map(({ table }) => table);
const before = tables.map(beforeTable);
/** Nothing was closed, and no other table has changed. */
const empty = new Set([
  ...before.filter((name) => name !== 'orders_before'),
  'closes',
  'since_close',
  'lifecycle_checks',
]);
const relations = [
  ...[...tables, ...before, ...LEDGER_TABLES],
  ...viewsOfLake(reports).map(({ name }) => name),
].sort();

let temporary: Awaited<ReturnType<typeof temporaryFolder>>;
let sample: SampleLake;
/** Contains every kind of character that a path can have. */
let folder: string;
const opened: DuckDBConnection[] = [];

beforeAll(async () => {
  temporary = await temporaryFolder();
  sample = await sampleLake({
    now: '2026-03-10T15:00:00Z',
    startDate: '2026-03-08',
    recordsTo: '2026-03-13T20:00:00Z',
    clicksPerDay: 20,
  });
  await sample.sync();
  restate(sample.brand, 'order_list', DAY, (held) => held.slice(1));
  sample.advance(86_400_000);
  await sample.sync();
  folder = await onDisk('before', sample);
});
afterAll(async () => {
  for (const connection of opened) connection.closeSync();
  await sample.close();
  await temporary.remove();
});

async function onDisk(name: string, { store }: SampleLake): Promise<string> {
  const path = join(temporary.path, `${name} "now" (x);'s`);
  await writeLake(store, path);
  return path;
}

async function lakeIn(path: string) {
  const { store } = await openLake(path);
  return { store, reports, settings: sample.settings(), nowMs: sample.nowMs };
}

/** A session of DuckDB with the file and nothing else of ours. */
async function plainDuckDb(file: string, mode = 'READ_ONLY'): Promise<DuckDBConnection> {
  const connection = await (await DuckDBInstance.create(file, { access_mode: mode })).connect();
  opened.push(connection);
  return connection;
}

async function rowsOf(connection: DuckDBConnection, sql: string): Promise<unknown[][]> {
  return (await connection.runAndReadAll(sql)).getRowsJson();
}

async function namesIn(connection: DuckDBConnection): Promise<string[]> {
  return (await rowsOf(connection, 'SHOW TABLES')).map(([name]) => String(name)).sort();
}

/** The types and rows of each table and view, without columns that depend on the time of the query. */
async function contents(connection: DuckDBConnection): Promise<Record<string, unknown[][][]>> {
  const found: Record<string, unknown[][][]> = {};
  for (const name of relations) {
    const columns = name === 'freshness' ? '* EXCLUDE (hours_since_read)' : '*';
    found[name] = [
      await rowsOf(connection, `DESCRIBE ${name}`),
      await rowsOf(connection, `SELECT ${columns} FROM ${name} ORDER BY ALL`),
    ];
  }
  return found;
}

async function queried(path: string): Promise<Record<string, unknown[][][]>> {
  const connection = await createSqlConnection(await lakeIn(path), '');
  opened.push(connection);
  return contents(connection);
}

describe('the database that open writes', () => {
  it.each(['UTC', 'Asia/Tokyo', 'America/New_York'])(
    'has each table and view of query, with its types and rows, in a session of %s',
    async (zone) => {
      const expected = await queried(folder);
      const connection = await plainDuckDb(await writeDatabase(await lakeIn(folder), folder));
      await connection.run(`SET TimeZone = '${zone}'`);
      expect(await namesIn(connection)).toEqual(relations);
      expect(await contents(connection)).toEqual(expected);
      for (const [name, [, rows = []]] of Object.entries(expected))
        expect({ name, isEmpty: rows.length === 0 }).toEqual({ name, isEmpty: empty.has(name) });
    },
  );

  it('has empty tables with their columns if no report was ever read', async () => {
    const path = await onDisk('empty', sample.emptyLake());
    const connection = await plainDuckDb(await writeDatabase(await lakeIn(path), path));
    expect(await namesIn(connection)).toEqual(expect.arrayContaining([...tables, 'coverage', 'changes']));
    for (const table of tables) {
      expect(await rowsOf(connection, `SELECT count(*), count(dt) FROM ${table}`)).toEqual([['0', '0']]);
      expect(await rowsOf(connection, `DESCRIBE ${table}`)).toContainEqual(
        expect.arrayContaining(['_synced_at', 'TIMESTAMP']),
      );
    }
  });

  it('has a format that DuckDB 1.0 reads', async () => {
    // After the checksum and the magic bytes: 64 is the format of 0.9 to 1.1.
    expect((await readFile(databaseFile(folder))).readBigUInt64LE(12)).toBe(64n);
  });

  it('is complete whenever it is opened while writers replace it, and they leave no other file', async () => {
    const lake = await lakeIn(folder);
    await writeDatabase(lake, folder);
    let writing = 3;
    const writers = [1, 2, 3].map(async () => {
      await writeDatabase(lake, folder);
      writing -= 1;
    });
    for (let opens = 0; opens < 30 && (writing > 0 || opens === 0); opens += 1)
      expect(await namesIn(await plainDuckDb(databaseFile(folder)))).toEqual(relations);
    await Promise.all(writers);
    expect(await namesIn(await plainDuckDb(databaseFile(folder)))).toEqual(relations);
    expect(await readdir(join(folder, '.tmp'))).toEqual([]);
  });

  it('has the newer days if a writer that read older ledgers ends last', async () => {
    const slow = await onDisk('two writers', sample);
    const { store, ...lake } = await lakeIn(slow);
    const writeLater = async () => {
      const later = sample.fork();
      later.advance(2 * 86_400_000);
      await later.sync();
      await writeLake(later.store, slow);
      await writeDatabase(await lakeIn(slow), slow);
    };
    let written: Promise<void> | undefined;
    const get = async (key: string) => {
      // By now the ledgers were read.
      if (key.startsWith('schema/')) written ??= writeLater();
      await written;
      return store.get(key);
    };
    const file = await writeDatabase({ ...lake, store: { ...store, get } }, slow);
    const days = 'SELECT DISTINCT dt FROM clicks ORDER BY dt';
    const current = await createSqlConnection(await lakeIn(slow), days);
    opened.push(current);
    expect(await rowsOf(current, days)).toContainEqual(['2026-03-12']);
    expect(await rowsOf(await plainDuckDb(file), days)).toEqual(await rowsOf(current, days));
  });

  it('names the missing file after the lake was moved, until the database is written again', async () => {
    const first = await onDisk('first place', sample);
    const file = await writeDatabase(await lakeIn(first), first);
    const moved = `${first} moved`;
    await rename(first, moved);
    const stale = await plainDuckDb(databaseFile(moved));
    await expect(rowsOf(stale, ORDERS)).rejects.toThrow(`No files found that match the pattern "${first}`);
    expect(existsSync(file)).toBe(false);
    expect(await contents(await plainDuckDb(await writeDatabase(await lakeIn(moved), moved)))).toEqual(
      await queried(moved),
    );
  });
});

describe('a later run', () => {
  it('leaves a lake without the file unchanged', async () => {
    await rm(databaseFile(folder), { force: true });
    await rewriteDatabase(await openLake(folder), sample.settings());
    expect(existsSync(databaseFile(folder))).toBe(false);
  });

  it('warns with the next step if it cannot replace the file, and leaves the file unchanged', async () => {
    const file = await writeDatabase(await lakeIn(folder), folder);
    const before = await readFile(file);
    const lake = await openLake(folder);
    const written = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    const list = () => {
      throw new Error('the disk\nis gone');
    };
    await rewriteDatabase({ ...lake, store: { ...lake.store, list } }, sample.settings());
    const said = written.mock.calls.map(([text]) => text).join('');
    written.mockRestore();
    expect(said).toMatch(
      /^warning: .* could not be replaced .* the disk\\nis gone\..* brand-reports open --lake '/,
    );
    expect(await readFile(file)).toEqual(before);
    expect(await readdir(join(folder, '.tmp'))).toEqual([]);
  });
});

it('the script for a lake in S3 creates the same tables and views in a session each time it runs', async () => {
  const lake = await lakeIn(folder);
  const { localFolder: _, ...store } = lake.store;
  const script = await scriptOf({ ...lake, store: { ...store, url: 's3://bucket/lake' } });
  const [load, secret, ...statements] = script.split(';\n');
  expect(load).toContain('LOAD httpfs');
  expect(secret).toContain("PROVIDER credential_chain, SCOPE 's3://bucket/lake/'");
  const local = statements.join(';\n').replaceAll('s3://bucket/lake', folder.replaceAll("'", "''"));
  const connection = await plainDuckDb(':memory:', 'READ_WRITE');
  for (let runs = 0; runs < 2; runs += 1) await connection.run(local);
  expect(await contents(connection)).toEqual(await queried(folder));
});

describe('on the command line', () => {
  it('sync and rollback replace the file that open wrote, also while a session writes into it', async () => {
    const brand = await serveSampleBrand();
    const inLake = ['--lake', brand.lake];
    const refused = await runCli(['open', ...inLake]);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('There is no lake') });
    const day = addDays(brand.today, -1);
    const sync = ['sync', 'order_list', '--from', day, '--to', day, ...brand.flags];
    expect((await runCli(sync)).code).toBe(0);
    const file = databaseFile(brand.lake);
    expect(existsSync(file)).toBe(false);

    const written = await runCli(['open', ...brand.flags.slice(0, 2), ...inLake]);
    expect(written).toMatchObject({ code: 0, stdout: expect.stringMatching(/^written: /) });
    expect(written.stderr).toMatch(/^note: settings of acme: [0-9a-f]{8}, since 2/);
    await rename(file, `${file}.aside`);
    await mkdir(file);
    expect(await runCli(['open', ...inLake])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/cannot be written \(E/),
    });
    await rm(file, { recursive: true });
    await rename(`${file}.aside`, file);
    const session = await plainDuckDb(file, 'READ_WRITE');
    await session.run('CREATE TABLE mine AS SELECT 1; CREATE OR REPLACE VIEW orders_daily AS SELECT 2');
    const orders = await rowsOf(session, ORDERS);

    restate(brand.acme, 'order_list', day, (held) => held.slice(1));
    expect((await runCli([...sync, '--accept-fewer'])).code).toBe(0);
    expect(await rowsOf(session, ORDERS)).toEqual(orders);
    const next = await plainDuckDb(file);
    expect(await rowsOf(next, ORDERS)).toHaveLength(orders.length - 1);
    expect(await namesIn(next)).not.toContain('mine');

    const kept = JSON.parse((await runCli(['rollback', 'order_list', day, '--json', ...inLake])).stdout);
    const back = ['--to', kept.versions[0].snapshot, ...brand.flags.slice(0, 2), ...inLake];
    expect((await runCli(['rollback', 'order_list', day, ...back])).code).toBe(0);
    expect(await rowsOf(await plainDuckDb(file), ORDERS)).toEqual(orders);
    expect((await runCli(['open', ...inLake])).stdout).toMatch(/^written again: /);
    await brand.close();
  });
});
