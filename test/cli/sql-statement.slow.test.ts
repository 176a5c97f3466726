/** A user's SQL only reads the lake, however it is written. */
import { mkdir, mkdtemp, readFile, readdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { query, resultObjects } from '../../cli/query-result.ts';
import { createSqlConnection } from '../../cli/sql-tables.ts';
import { openLocalStore } from '../../shared/adapters/local/store.ts';
import { reports } from '../../shared/reports/index.ts';
import { memoryStore } from '../fakes/memory-store.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { runCli } from './run-cli.ts';

const LEDGER = 'ledger/order_list/acme/other.txt';
let temporary: Awaited<ReturnType<typeof temporaryFolder>>;
let lake: string;
let outside: string;
let files: string[];

/** The paths of the lake and of the folder beside it are known only when the test runs. */
const placed = (sql: string) => sql.replaceAll('LAKE', lake).replaceAll('OUTSIDE', outside);

beforeAll(async () => {
  temporary = await temporaryFolder();
  outside = join(temporary.path, 'outside');
  await mkdir(outside);
  await writeFile(join(outside, 'secret.txt'), 'secret');
});
afterAll(() => temporary.remove());

beforeEach(async () => {
  lake = await mkdtemp(join(temporary.path, 'lake-'));
  await mkdir(dirname(join(lake, LEDGER)), { recursive: true });
  await writeFile(join(lake, LEDGER), 'the ledger');
  await writeFile(join(lake, 'schema.sql'), 'CREATE TABLE imported (a INT)');
  await writeFile(join(lake, 'load.sql'), '');
  await symlink(outside, join(lake, 'link'));
  await symlink(join(outside, 'secret.txt'), join(lake, 'link.txt'));
  files = await filesNow();
});

async function filesNow(): Promise<string[]> {
  return (await readdir(temporary.path, { recursive: true })).sort();
}

async function ask(sql: string): Promise<object[]> {
  const store = openLocalStore(lake);
  const connection = await createSqlConnection(
    { store, reports, settings: undefined, nowMs: Date.now() },
    sql,
  );
  try {
    return await Array.fromAsync(resultObjects(await query(connection, sql)));
  } finally {
    // DuckDB writes logs and profiles with the next statement or at the end.
    await connection.run('SELECT 1').catch(() => {});
    connection.closeSync();
  }
}

describe('SQL that reads', () => {
  it.each([
    ['a SELECT', 'SELECT 1 AS a', 1],
    ['the same with semicolons', ' ;; select 1 AS a ; ;', 1],
    ['the same after comments', '-- COPY\n/* DROP */ SELECT 1 AS a -- ; COPY', 1],
    ['a SELECT whose spaces are not those of ASCII', '\u00a0SELECT\u20031 AS a', 1],
    ['FROM first', 'FROM orders', 0],
    ['WITH', 'WITH a AS (SELECT 1) FROM a', 1],
    ['a query in parentheses', '((SELECT 1))', 1],
    ['VALUES', 'VALUES (1), (2)', 2],
    ['SHOW', 'SHOW orders', 5],
    ['PIVOT with its values', "PIVOT (SELECT 'x' AS a) ON a IN ('x') USING count(*)", 1],
    [
      'PIVOT of two columns',
      "PIVOT (SELECT 'x' AS a, 'y' AS b) ON a IN ('x'), b IN ('y') USING count(*); -- done",
      1,
    ],
    ['UNPIVOT', 'UNPIVOT (SELECT 1 AS a, 2 AS b) ON a, b', 2],
    ['a file of the lake', `SELECT * FROM read_text('LAKE/${LEDGER}')`, 1],
    ['the words of other statements in texts', "SELECT 'COPY; ATTACH' AS a", 1],
  ])('runs: %s', async (_name, sql, rows) => {
    expect(await ask(placed(sql))).toHaveLength(rows);
    expect(await filesNow()).toEqual(files);
  });
});

describe('SQL that does anything else', () => {
  it.each([
    ['COPY over a file of the lake', `COPY (SELECT 1) TO 'LAKE/${LEDGER}'`, /is not a query/],
    ['COPY to a new file of the lake', `copy/**/(SELECT 1) TO 'LAKE/new.csv'`, /is not a query/],
    ['COPY to a file outside', `COPY (SELECT 1) TO 'OUTSIDE/new.csv'`, /"COPY .* is not a query/],
    ['COPY of a database', 'COPY FROM DATABASE memory TO memory', /is several statements/],
    ['EXPLAIN', 'EXPLAIN SELECT 1', /is not a query/],
    ['COPY below EXPLAIN', `EXPLAIN ANALYZE COPY (SELECT 1) TO 'LAKE/${LEDGER}'`, /is not a query/],
    ['COPY in a WITH', `WITH a AS (COPY (SELECT 1) TO 'LAKE/new.csv') FROM a`, /A CTE needs a SELECT/],
    ['COPY in a FROM', `FROM (COPY (SELECT 1) TO 'LAKE/new.csv')`, /Parser Error/],
    ['ATTACH', `ATTACH 'LAKE/new.db'`, /is not a query/],
    ['EXPORT', `EXPORT DATABASE 'LAKE/export'`, /is not a query/],
    ['CREATE TABLE', 'CREATE TABLE a AS SELECT 1', /is not a query/],
    ['CREATE SECRET', "CREATE PERSISTENT SECRET a (TYPE http, BEARER_TOKEN 'x')", /not a query/],
    ['INSERT', "INSERT INTO coverage (brand) VALUES ('a') RETURNING 1", /is not a query/],
    ['INSERT behind WITH', 'WITH a AS (SELECT 1) INSERT INTO coverage (brand) FROM a', /is not a query\. /],
    ['DELETE', 'DELETE FROM coverage', /is not a query/],
    ['SET', 'SET threads = 1', /is not a query/],
    ['PRAGMA', 'PRAGMA enable_profiling', /is not a query/],
    ['PRAGMA that DuckDB makes a SELECT of', 'PRAGMA show_tables', /is not a query/],
    ['PRAGMA that runs files', `PRAGMA import_database('LAKE')`, /is several statements|is not a query/],
    ['CALL', 'CALL pragma_version()', /is not a query/],
    ['two queries', 'SELECT 1; SELECT 2', /is several statements/],
    ['a query before COPY', `SELECT 1; COPY (SELECT 1) TO 'LAKE/new.csv'`, /is several statements/],
    ['COPY before a query', `COPY (SELECT 1) TO 'LAKE/new.csv'; SELECT 1`, /is several statements/],
    ['CREATE TYPE before a query', "CREATE TYPE a AS ENUM ('x'); SELECT 1", /is several statements/],
    ['PIVOT without its values', "PIVOT (SELECT 'x' AS a) ON a", /is several statements.*PIVOT with IN/],
    ['PIVOT before a query', "PIVOT (SELECT 'x' AS a) ON a; SELECT 1", /is several statements/],
    [
      'PIVOT before COPY',
      `PIVOT (SELECT 'x' AS a) ON a; COPY (SELECT 1) TO 'LAKE/n'`,
      /is several statements/,
    ],
    ['PIVOT before COMMIT', "PIVOT (SELECT 'x' AS a) ON a; COMMIT", /is several statements/],
    ['CREATE before PIVOT', "CREATE TABLE b (c INT); PIVOT (SELECT 'x' AS a) ON a", /is several statements/],
    ['two queries around an empty one', 'SELECT 1;; /* ; */ ; SELECT 2', /is several statements/],
    ['CREATE SECRET before a query', 'CREATE SECRET a (TYPE http); SELECT 1', /is several statements/],
    [
      'EXPORT between PIVOT and a query',
      `PIVOT (SELECT 'x' AS a) ON a; EXPORT DATABASE 'LAKE/e'; SELECT 1`,
      /is several statements/,
    ],
    ['PREPARE', 'PREPARE a AS SELECT 1', /is not a query/],
    ['EXECUTE', 'EXECUTE a', /is not a query/],
    ['INSTALL', 'INSTALL httpfs', /is not a query/],
    ['LOAD', 'LOAD httpfs', /is not a query/],
    [
      'a text that DuckDB would read in part',
      "SELECT 1\0; COPY (SELECT 1) TO 'LAKE/new.csv'",
      /contains the character NUL/,
    ],
    ['lists that are nested too deeply', `SELECT ${'['.repeat(900)}1${']'.repeat(900)}`, /nested too deeply/],
    ['parentheses that are nested too deeply', `SELECT ${'('.repeat(100_000)}1`, /memory exhausted/],
    ['no SQL', '', /The SQL is empty/],
    ['comments', '-- SELECT 1\n/* SELECT 2 */', /The SQL is empty/],
    [
      'a log',
      `FROM enable_logging('QueryLog', storage = 'file', storage_path = 'LAKE/log')`,
      /enable_logging/,
    ],
    ['a log in a subquery', 'SELECT (SELECT 1 FROM "ENABLE_LOGGING"())', /enable_logging/],
    ['a log below PIVOT', 'PIVOT (SELECT 1 AS a FROM enable_logging()) ON a IN (1)', /enable_logging/],
    ['a computed text', "FROM query('FROM ena' || 'ble_logging()')", /calls query\(\)/],
    ['the name of a table in a text', "FROM query_table('orders')", /calls query_table\(\)/],
    [
      'a profile',
      `FROM enable_profiling(format = 'json', save_location = 'LAKE/profile.json')`,
      /enable_profiling/,
    ],
    [
      'a serialised statement',
      "FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
      /json_execute_serialized_sql/,
    ],
  ])('is refused and leaves every file unchanged: %s', async (_name, sql, message) => {
    await expect(ask(placed(sql))).rejects.toMatchObject({
      name: 'BrandReportsError',
      kind: 'config',
      message: expect.stringMatching(message),
    });
    expect(await filesNow()).toEqual(files);
    expect(await readFile(join(lake, LEDGER), 'utf8')).toBe('the ledger');
  });

  it.each([
    ['by its path', "FROM read_text('OUTSIDE/secret.txt')"],
    ['as a table', "FROM 'OUTSIDE/secret.txt'"],
    ['by a link to it', "FROM read_text('LAKE/link.txt')"],
    ['by a link to its folder', "FROM read_text('LAKE/link/secret.txt')"],
    ['by a pattern that finds the link', "FROM read_text('LAKE/*.txt')"],
    ['by ..', "FROM read_text('LAKE/../outside/secret.txt')"],
    ['by a URL of the file', "FROM read_text('file://OUTSIDE/secret.txt')"],
    ['in the current folder', "FROM read_text('package.json')"],
    ['below PIVOT', "PIVOT (FROM read_text('OUTSIDE/secret.txt')) ON content IN ('x') USING count(*)"],
    ['its name', "FROM glob('OUTSIDE/*')"],
    ['its name by ..', "FROM glob('LAKE/../outside/*')"],
    ['over HTTP', "FROM read_csv('http://127.0.0.1:9/')"],
    ['a variable of the environment', "SELECT getenv('HOME')"],
  ])('reads no file outside the lake: %s', async (_name, sql) => {
    await expect(ask(placed(sql))).rejects.toThrow(
      /Permission Error|does not exist|No files found|Missing Extension|disabled by configuration/,
    );
  });

  it.each(['country=US', 'la*ke', 'l?ke', 'l[a]ke'])(
    'reads no lake in %s, which is a partition or a pattern',
    async (name) => {
      lake = join(temporary.path, name, 'lake');
      await expect(ask('FROM orders')).rejects.toMatchObject({ code: 'lake_folder' });
    },
  );

  it('reads no file in the folder that DuckDB would use for temporary files', async () => {
    await expect(ask("FROM read_text('.tmp/secret.txt')")).rejects.toThrow(/Permission Error/);
  });

  it('reads no copy of another lake in S3', async () => {
    const { XDG_CACHE_HOME } = process.env;
    process.env.XDG_CACHE_HOME = outside;
    const other = join(outside, 'brand-reports', 'other-lake');
    await mkdir(other, { recursive: true });
    await writeFile(join(other, 'secret.txt'), 'secret');
    const sql = `FROM read_text('${other}/secret.txt')`;
    const s3 = { store: memoryStore(), reports, settings: undefined, nowMs: Date.now() };
    const connection = await createSqlConnection(s3, sql);
    await expect(query(connection, sql)).rejects.toThrow(/Permission Error/);
    connection.closeSync();
    if (XDG_CACHE_HOME === undefined) delete process.env.XDG_CACHE_HOME;
    else process.env.XDG_CACHE_HOME = XDG_CACHE_HOME;
  });
});

describe('the command', () => {
  it.each([
    ['a statement that writes', "COPY (SELECT 1) TO 'LAKE/new.csv'", 'sql_refused'],
    ['no SQL', ' ', 'sql_refused'],
    ['wrong SQL', 'SELECT nothing', 'sql'],
  ])('ends with exit code 1 and a document for %s', async (_name, sql, code) => {
    const empty = join(lake, 'new');
    await mkdir(empty);
    const result = await runCli(['query', '--json', '--lake', empty, placed(sql)]);
    expect(result.code).toBe(1);
    expect(JSON.parse(result.stdout)).toEqual({
      status: 'failed',
      error: { kind: 'config', code, message: expect.any(String) },
    });
    expect(await readdir(lake)).not.toContain('new.csv');
  });
});

describe('table functions of DuckDB', () => {
  let connection: DuckDBConnection;
  beforeAll(async () => {
    connection = await (await DuckDBInstance.create(':memory:')).connect();
  });

  it('are all listed, so that a new version cannot add a function that writes', async () => {
    const sql =
      "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type = 'table' ORDER BY ALL";
    const reader = await connection.runAndReadAll(sql);
    const names = reader.getRowsJson().flat();
    expect(names.join(' ')).toBe(KNOWN_FUNCTIONS);
  });
});

const KNOWN_FUNCTIONS = `
arrow_scan arrow_scan_dumb check_peg_parser checkpoint disable_logging disable_peg_parser
disable_profiling duckdb_approx_database_count duckdb_columns duckdb_connection_count duckdb_constraints
duckdb_coordinate_systems duckdb_databases duckdb_dependencies duckdb_extensions
duckdb_external_file_cache duckdb_functions duckdb_indexes duckdb_keywords duckdb_log_contexts
duckdb_logs duckdb_memory duckdb_optimizers duckdb_prepared_statements duckdb_schemas
duckdb_secret_types duckdb_secrets duckdb_sequences duckdb_settings duckdb_table_sample duckdb_tables
duckdb_temporary_files duckdb_types duckdb_variables duckdb_views enable_logging enable_peg_parser
enable_profiling force_checkpoint generate_series glob icu_calendar_names json_each
json_execute_serialized_sql json_tree parquet_bloom_probe parquet_file_metadata parquet_full_metadata
parquet_kv_metadata parquet_metadata parquet_scan parquet_schema pg_timezone_names pragma_collations
pragma_database_size pragma_metadata_info pragma_platform pragma_show pragma_storage_info
pragma_table_info pragma_user_agent pragma_version query query_table range read_blob read_csv
read_csv_auto read_duckdb read_json read_json_auto read_json_objects read_json_objects_auto read_ndjson
read_ndjson_auto read_ndjson_objects read_parquet read_text repeat repeat_row seq_scan sniff_csv
sql_auto_complete summary test_all_types test_vector_types truncate_duckdb_logs unnest which_secret`
  .trim()
  .replaceAll('\n', ' ');
