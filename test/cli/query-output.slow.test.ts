/** Rows of a query as files and texts, read back by independent readers. */
import { spawnSync } from 'node:child_process';
import { mkdir, readFile, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { zstdDecompressSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parquetReadObjects } from 'hyparquet';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { runCli } from './run-cli.ts';

const LAUNCHER = fileURLToPath(new URL('../../cli/brand-reports.js', import.meta.url));
/** NULL, an empty text, quotes, lines, a formula, control characters, and a number too exact for a double. */
const ROWS = `SELECT * FROM (VALUES
  (1, '9007199254740993', 1234567890123.450000000::DECIMAL(38,9), 'a "b", c', DATE '2026-01-31', true),
  (9007199254740993, '=cmd|A1', 0.1::DECIMAL(38,9), e'x\\ny\\r\\nz', NULL, false),
  (-5, '', 12345678901234567.5::DECIMAL(38,9), e'\\x1b[31m |<b>', DATE '1850-01-01', NULL),
  (NULL, NULL, NULL, ' lead', NULL, NULL)
) AS t(n, id, amount, note, day, ok)`;
const NAMES = ['n', 'id', 'amount', 'note', 'day', 'ok'];
const HOSTILE = '\x1b[31m |<b>';

let temporary: Awaited<ReturnType<typeof temporaryFolder>>;
let lake: string;
const place = (name: string) => join(temporary.path, name);
const run = (...args: string[]) => runCli(['query', '--lake', lake, ...args]);

beforeAll(async () => {
  temporary = await temporaryFolder();
  lake = place('lake');
  await mkdir(lake);
});
afterAll(() => temporary.remove());

async function saved(ending: string): Promise<Buffer> {
  const file = place(`rows.${ending}`);
  const { code, stdout, stderr } = await run('--output', file, ROWS);
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '', stderr: `(4 rows in ${file})\n` });
  return readFile(file);
}

async function duckdb(sql: string): Promise<unknown[]> {
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  const reader = await connection.runAndReadAll(sql);
  return reader.getRowsJson();
}

describe('query --output', () => {
  it('writes CSV of RFC 4180, with NULL as an empty cell and the empty text in quotes', async () => {
    expect((await saved('csv')).toString().split('\r\n').slice(0, 2)).toEqual([
      NAMES.join(','),
      '1,9007199254740993,1234567890123.450000000,"a ""b"", c",2026-01-31,true',
    ]);
    const read = await duckdb(
      `FROM read_csv('${place('rows.csv')}', all_varchar = true, header = true, quote = '"', escape = '"', allow_quoted_nulls = false, new_line = '\\r\\n')`,
    );
    expect(read.slice(1)).toEqual([
      ['9007199254740993', '=cmd|A1', '0.100000000', 'x\ny\r\nz', null, 'false'],
      ['-5', '', '12345678901234567.500000000', HOSTILE, '1850-01-01', null],
      [null, null, null, ' lead', null, null],
    ]);
  });

  it('writes JSON with all digits', async () => {
    const text = (await saved('json')).toString();
    expect(text).toContain('{"n":9007199254740993,"id":"=cmd|A1","amount":0.100000000,');
    const rows = JSON.parse(text);
    expect(rows).toHaveLength(4);
    expect(rows[2]).toMatchObject({ id: '', note: HOSTILE, day: '1850-01-01', ok: null });
  });

  it('writes Parquet with the types of the query', async () => {
    const bytes = await saved('parquet');
    const rows = await parquetReadObjects({
      file: {
        byteLength: bytes.length,
        slice: (from, to) => Uint8Array.from(bytes.subarray(from, to)).buffer,
      },
      columns: ['n', 'id', 'note'],
      compressors: { ZSTD: (packed) => zstdDecompressSync(packed) },
    });
    expect(rows[1]).toEqual({ n: 9007199254740993n, id: '=cmd|A1', note: 'x\ny\r\nz' });
    expect(rows[2]).toEqual({ n: -5n, id: '', note: HOSTILE });
    const types = await duckdb(`SELECT column_type FROM (DESCRIBE FROM '${place('rows.parquet')}')`);
    expect(types.flat()).toEqual(['BIGINT', 'VARCHAR', 'DECIMAL(38,9)', 'VARCHAR', 'DATE', 'BOOLEAN']);
  });

  it('writes sums as Parquet with all digits', async () => {
    const sums = "SELECT sum(9007199254740993) AS x, {'n': [9007199254740993::HUGEINT]} AS nested";
    expect(await run('--output', place('sums.parquet'), sums)).toMatchObject({ code: 0 });
    expect(await duckdb(`SELECT x::VARCHAR, nested.n[1]::VARCHAR FROM '${place('sums.parquet')}'`)).toEqual([
      ['9007199254740993', '9007199254740993'],
    ]);
  });

  it.each<[string, string, string, RegExp]>([
    ['another ending', 'rows.txt', 'SELECT 1', /no known ending\. Allowed: \.csv, \.json, \.parquet\./],
    ['a folder that is not there', 'none/rows.csv', 'SELECT 1', /ENOENT.*mkdir -p .*\/none\n/],
    ['the lake', 'lake/rows.csv', 'SELECT 1', /is in the lake.*another folder/],
    ['a link into the lake', 'link/rows.csv', 'SELECT 1', /is in the lake/],
    ['a folder', 'folder.csv', 'SELECT 1', /is a folder, .*Name a file/],
    ['a pipe', 'pipe.csv', 'SELECT 1', /a pipe\. Name a file/],
    [
      'rows that fail',
      'old.csv',
      "SELECT CASE WHEN i = 200000 THEN error('no') END FROM range(300000) r(i)",
      /no\n/,
    ],
    ['Parquet that fails', 'old.parquet', "SELECT error('no') FROM range(3)", /no\n/],
    ['SQL that is no query', 'old.parquet', "SELECT 1) TO 'x.csv' --", /syntax error at or near "\)"/],
  ])('refuses %s, and leaves the existing file', async (_name, name, sql, message) => {
    await mkdir(place('folder.csv'), { recursive: true });
    spawnSync('sh', ['-c', 'mkfifo "$0"', place('pipe.csv')]);
    await symlink(lake, place('link')).catch(() => undefined);
    for (const ending of ['csv', 'parquet']) await writeFile(place(`old.${ending}`), 'older');
    const { code, stderr } = await run('--output', place(name), sql);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(message);
    expect(await readdir(lake)).toEqual([]);
    for (const ending of ['csv', 'parquet'])
      expect(await readFile(place(`old.${ending}`), 'utf8')).toBe('older');
    expect((await readdir(temporary.path)).filter((entry) => entry.startsWith('.'))).toEqual([]);
  });
});

describe('query --format', () => {
  it.each<[string, string[], string]>([
    ['csv', ['--format', 'csv'], 'a,b\n1,"x\ny\\u001b"\n'],
    ['json', ['--format', 'json'], '[{"a":1,"b":"x\\ny\\u001b"}]\n'],
    ['table', ['--format', 'table'], 'a  b\n─  ──────────\n1  x\\ny\\u001b\n'],
  ])('print %s that steers no terminal', async (_name, flags, expected) => {
    const { stdout } = await run(...flags, "SELECT 1 AS a, e'x\\ny\\x1b' AS b");
    expect(stdout).toBe(expected);
  });

  it.each(['SELECT (1, 2)', "SELECT [(1, 'a')] AS a"])(
    'loses no value of a row without names: %s',
    async (sql) => {
      expect(await run('--json', sql)).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/have no names/),
      });
    },
  );

  it('reads SQL from a pipe or a hyphen', () => {
    const piped = (...args: string[]) =>
      spawnSync(process.execPath, [LAUNCHER, 'query', '--lake', lake, '--json', ...args], {
        input: '\ufeffSELECT 1 AS one; -- and no more\n',
        encoding: 'utf8',
      }).stdout;
    expect([piped(), piped('-')]).toEqual(Array(2).fill('[{"one":1}]\n'));
  });

  it.each<[string, string[], RegExp]>([
    ['a lake that is not there', ['--lake', '/nowhere', 'SELECT 1'], /\/nowhere does not exist.*--lake/],
    ['a table with a typo', ['FROM ordes'], /Unknown table "ordes".*Allowed: .*orders/],
    ['a report', ['FROM order_list JOIN clicks USING (dt)'], /Unknown table "order_list".*Allowed: .*orders/],
    ['no days', ['FROM orders'], /no day of the tables yet.*--lake/],
  ])('names the next step for %s', async (_name, args, message) => {
    expect((await run(...args)).stderr).toMatch(message);
  });
});
