/** Rows of a query as files and texts, read back by independent readers. */
import { spawnSync } from 'node:child_process';
import { mkdir, readFile, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inflateRawSync, zstdDecompressSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parquetReadObjects } from 'hyparquet';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { runCli } from './run-cli.ts';

const LAUNCHER = fileURLToPath(new URL('../../cli/brand-reports.js', import.meta.url));
/** NULL, an empty text, quotes, lines, a formula, a workbook's escape, control characters, and a number too exact for a double. */
const ROWS = `SELECT * FROM (VALUES
  (1, '9007199254740993', 1234567890123.450000000::DECIMAL(38,9), 'a "b", c', DATE '2026-01-31', true),
  (9007199254740993, '=cmd|A1', 0.1::DECIMAL(38,9), e'x\\ny\\r\\nz', NULL, false),
  (-5, '', 12345678901234567.5::DECIMAL(38,9), e'\\x1b[31m _x0041_ |<b>', DATE '1850-01-01', NULL),
  (NULL, NULL, NULL, ' lead', NULL, NULL)
) AS t(n, id, amount, note, day, ok)`;
const NAMES = ['n', 'id', 'amount', 'note', 'day', 'ok'];
const HOSTILE = '\x1b[31m _x0041_ |<b>';

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

/** The files of an archive, with the sizes in its central directory. */
function unzipped(zip: Buffer): Map<string, string> {
  const files = new Map<string, string>();
  for (let at = zip.indexOf('PK\x01\x02'); at >= 0; at = zip.indexOf('PK\x01\x02', at + 4)) {
    const [size, from] = [zip.readUInt32LE(at + 20), zip.readUInt32LE(at + 42)];
    const name = zip.toString('utf8', at + 46, at + 46 + zip.readUInt16LE(at + 28));
    const start = from + 30 + zip.readUInt16LE(from + 26) + zip.readUInt16LE(from + 28);
    const bytes = zip.subarray(start, start + size);
    files.set(name, (zip.readUInt16LE(at + 10) === 8 ? inflateRawSync(bytes) : bytes).toString());
  }
  return files;
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

  it('writes a workbook without formulas, and writes numbers that a spreadsheet would round as text', async () => {
    const sheet = unzipped(await saved('xlsx')).get('xl/worksheets/sheet1.xml') ?? '';
    const cells = new Map(
      [...sheet.matchAll(/<c r="([A-F]\d)"([^>]*)>(.*?)<\/c>/gs)].map(([, at = '', kind, inner = '']) => {
        const value = inner.replaceAll(/<[^>]*>/g, '');
        return [at, /inlineStr/.test(kind ?? '') ? { text: value } : value] as const;
      }),
    );
    expect(sheet).not.toContain('<f>');
    expect(Object.fromEntries(cells)).toMatchObject({
      A2: '1',
      B2: { text: '9007199254740993' },
      C2: '1234567890123.45',
      D2: { text: 'a "b", c' },
      E2: '46053',
      F2: '1',
      A3: { text: '9007199254740993' },
      B3: { text: '=cmd|A1' },
      C3: '0.1',
      A4: '-5',
      B4: { text: '' },
      C4: { text: '12345678901234567.5' },
      D4: { text: '_x001B_[31m _x005F_x0041_ |&lt;b&gt;' },
      E4: { text: '1850-01-01' },
    });
    expect(cells.has('B5')).toBe(false);
  });

  it.each<[string, string, string, RegExp]>([
    ['another ending', 'rows.txt', 'SELECT 1', /no known ending\. Allowed: \.csv, .*\.xlsx\./],
    ['a folder that is not there', 'none/rows.csv', 'SELECT 1', /ENOENT.*mkdir -p .*\/none\n/],
    ['the lake', 'lake/rows.csv', 'SELECT 1', /is in the lake.*another folder/],
    ['a link into the lake', 'link/rows.csv', 'SELECT 1', /is in the lake/],
    ['a folder', 'folder.csv', 'SELECT 1', /is a folder\. Name a file/],
    [
      'rows that fail',
      'old.csv',
      "SELECT CASE WHEN i = 200000 THEN error('no') END FROM range(300000) r(i)",
      /no\n/,
    ],
    ['Parquet that fails', 'old.parquet', "SELECT error('no') FROM range(3)", /no\n/],
    [
      'a text that is too long for a cell',
      'old.xlsx',
      "SELECT repeat('x', 32768)",
      /32,768 characters .*Use \.csv/,
    ],
    ['SQL that is no query', 'old.parquet', "SELECT 1) TO 'x.csv' --", /syntax error at or near "\)"/],
  ])('refuses %s, and leaves the existing file', async (_name, name, sql, message) => {
    await mkdir(place('folder.csv'), { recursive: true });
    await symlink(lake, place('link')).catch(() => undefined);
    for (const ending of ['csv', 'parquet', 'xlsx']) await writeFile(place(`old.${ending}`), 'older');
    const { code, stderr } = await run('--output', place(name), sql);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(message);
    expect(await readdir(lake)).toEqual([]);
    for (const ending of ['csv', 'parquet', 'xlsx'])
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

  it('reads SQL from a file, a pipe or a hyphen, and refuses two of them', async () => {
    const file = place('one.sql');
    await writeFile(file, '\ufeffSELECT 1 AS one; -- and no more\n');
    const piped = (...args: string[]) =>
      spawnSync(process.execPath, [LAUNCHER, 'query', '--lake', lake, '--json', ...args], {
        input: 'SELECT 1 AS one',
        encoding: 'utf8',
      }).stdout;
    expect((await run('--json', '-f', file)).stdout).toBe('[{"one":1}]\n');
    expect([piped(), piped('-')]).toEqual(Array(2).fill('[{"one":1}]\n'));
    expect(await run('-f', file, 'SELECT 2')).toMatchObject({ code: 2, stderr: /Give the SQL once/ });
    await writeFile(file, 'SELECT 1; SELECT 2');
    expect((await run('-f', file)).stderr).toMatch(/several statements.*run each by itself/);
  });

  it.each<[string, string[], RegExp]>([
    ['a lake that is not there', ['--lake', '/nowhere', 'SELECT 1'], /\/nowhere does not exist.*--lake/],
    ['a table with a typo', ['FROM ordes'], /Unknown table "ordes".*Did you mean orders\?/],
    ['a report', ['FROM order_list JOIN clicks USING (dt)'], /Did you mean orders\?/],
    ['no days', ['FROM orders'], /no day of the tables yet.*--lake/],
  ])('names the next step for %s', async (_name, args, message) => {
    expect((await run(...args)).stderr).toMatch(message);
  });
});

describe('on a terminal', () => {
  /** `script` gives the command a terminal. */
  const onTerminal = (sql: string, pager: string) => {
    const quoted = [process.execPath, LAUNCHER, 'query', '--lake', lake, sql]
      .map((word) => `'${word}'`)
      .join(' ');
    const env = { ...process.env, PAGER: pager, NO_COLOR: '1', NODE_OPTIONS: '' };
    const command = `stty cols 40 rows 10; ${quoted}`;
    const { stdout } = spawnSync('script', ['-qec', command, '/dev/null'], {
      env,
      encoding: 'utf8',
      timeout: 60_000,
    });
    return stdout.replaceAll('\r', '').replaceAll('\x1b[2K', '');
  };

  it.each<[string, string, number, RegExp]>([
    ['a table of one screen as it is', 'head -1', 3, /^range\n─+\n +0\n +1\n +2\n\(3 rows\)\n$/],
    ['a longer table in the pager', 'tail -1', 20, /^ +19\n\(20 rows\)\n$/],
    ['nothing more if the pager ends early', 'true', 1_000_000, /^$/],
    ['all of it without a pager', '', 20, /^range\n[\s\S]* 19\n\(20 rows\)\n$/],
    ['all of it if the pager is missing', 'no-such-pager', 20, /^range\n[\s\S]* 19\n\(20 rows\)\n$/],
  ])('shows %s', (_name, pager, rows, expected) => {
    expect(onTerminal(`FROM range(${rows})`, pager)).toMatch(expected);
  });
});
