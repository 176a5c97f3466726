/** `query --csv` makes tables of CSV files, row by row as they are, and refuses every other file by its kind. */
import { spawnSync } from 'node:child_process';
import { appendFile, mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { query, resultObjects } from '../../cli/query-result.ts';
import { createSqlConnection } from '../../cli/sql-tables.ts';
import { reports } from '../../shared/reports/index.ts';
import { memoryStore } from '../fakes/memory-store.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { runCli } from './run-cli.ts';

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

async function file(content: string | Buffer, name = 'invoice.csv'): Promise<string> {
  const folder = await mkdtemp(place('files-'));
  await writeFile(join(folder, name), content);
  return join(folder, name);
}

async function table(content: string | Buffer, name?: string) {
  const path = await file(content, name);
  const { stdout, stderr, code } = await run('--json', '--csv', `t=${path}`, 'FROM t');
  const [note = ''] = stderr.split('\n');
  return { code, rows: code === 0 ? JSON.parse(stdout) : stdout, note: note.replace(path, 'FILE') };
}

const A_B = [{ a: '1', b: '2' }];

describe('a CSV file becomes a table of texts', () => {
  it.each<[string, string | Buffer, object[], string]>([
    ['commas', 'a,b\n1,2\n', A_B, "delimiter ',', first line is the header, columns: a, b"],
    ['semicolons and decimal commas', 'a;b\n1,5;2,0\n', [{ a: '1,5', b: '2,0' }], "delimiter ';'"],
    ['a comma in each heading and amount', 'a;b, c\n1;2,0\n', [{ a: '1', 'b, c': '2,0' }], "delimiter ';'"],
    ['semicolons without a header', 'A1;1,5\nA2;2,0\n', [{ A1: 'A2', '1,5': '2,0' }], "delimiter ';'"],
    ['tabs', 'a\tb\n1\t2\n', A_B, 'delimiter tab'],
    ['bars', 'a|b\n1|2\n', A_B, "delimiter '|'"],
    ['CRLF', 'a,b\r\n1,2\r\n', A_B, 'columns: a, b'],
    ['CR', 'a,b\r1,2\r', A_B, 'columns: a, b'],
    ['no line break at the end', 'a,b\n1,2', A_B, '1 row of FILE'],
    ['a mark of UTF-8', '\ufeffa,b\n1,2\n', A_B, 'columns: a, b'],
    ['a mark of UTF-8 before a quote', '\ufeff"a";"b"\n"1";"2"\n', A_B, 'columns: a, b'],
    ['line breaks in quotes', 'a,b\r\n"x\ny",2\r\n', [{ a: 'x\ny', b: '2' }], '1 row'],
    ['delimiters and quotes in quotes', 'a,b\n"x,""y""",2\n', [{ a: 'x,"y"', b: '2' }], "','"],
    [
      'another delimiter in quotes in each line',
      'a,"b;c",d\n1,"2;3",4\n',
      [{ a: '1', 'b;c': '2;3', d: '4' }],
      "','",
    ],
    ['quotes inside cells', '5" a;6" b\n1;2\n', [{ '5" a': '1', '6" b': '2' }], "delimiter ';'"],
    ['blank lines above the header', '\ufeff\n  \na,b\n1,2\n', A_B, '1 row of FILE'],
    ['one column', 'id\n1\n2\n', [{ id: '1' }, { id: '2' }], 'one column'],
    ['one column of decimal commas', 'id\n1,5\n2,50\n', [{ id: '1,5' }, { id: '2,50' }], 'one column'],
    ['one column in quotes', '"a;b"\n"1;2"\n', [{ 'a;b': '1;2' }], 'one column'],
    ['a header alone', 'a,b,c\n', [], '0 rows of FILE'],
    [
      'no header',
      '1,2\n3,4\n',
      [
        { column0: '1', column1: '2' },
        { column0: '3', column1: '4' },
      ],
      'no header found',
    ],
    [
      'headings twice, and an empty one',
      'a,a,A,\n1,2,3,4\n',
      [{ a: '1', a_1: '2', A_2: '3', column3: '4' }],
      'columns: a, a_1, A_2, column3',
    ],
    [
      'numbers, days and zeros as they are',
      'a,b\n007,1e5\n1.10,2026-10-01\n',
      [
        { a: '007', b: '1e5' },
        { a: '1.10', b: '2026-10-01' },
      ],
      '2 rows',
    ],
    ['an empty cell as NULL, and an empty text', 'a,b\n,""\n', [{ a: null, b: '' }], '1 row'],
    ['lines that begin like a comment', 'a,b\n#1,2\n', [{ a: '#1', b: '2' }], '1 row'],
    ['words of SQL as headings', 'select,"a ""b"\n1,2\n', [{ select: '1', 'a "b': '2' }], 'a "b'],
  ])('is read if it has %s', async (_name, content, rows, note) => {
    expect(await table(content)).toEqual({ code: 0, rows, note: expect.stringContaining(note) });
  });

  it.each([
    '*.csv',
    '[a-z].csv',
    '?.csv',
    "it's.csv",
    'a b{1,2}.csv',
    'brand=x.csv',
    'x.csv.gz',
    'a\\b.csv',
    '-.csv',
    'a=b.csv',
  ])('is read whatever its name is: %s', async (name) => {
    expect(await table('a,b\n1,2\n', name)).toMatchObject({ code: 0, rows: A_B });
  });

  it('and does not follow the name as a pattern', async () => {
    const path = await file('a,b\n1,2\n', 'x.csv');
    const { code, stderr } = await run('--csv', `t=${path.replace('x.csv', '*.csv')}`, 'FROM t');
    expect([code, stderr]).toEqual([2, expect.stringMatching(/\*\.csv does not exist/)]);
  });

  it('beside others, with --output and --format, in any order', async () => {
    const [one, two] = [await file('id,x\n1,a\n2,b\n'), await file('id;y\n2;c\n')];
    const sql = 'SELECT id, x, y FROM One JOIN two USING (id)';
    const csvs = ['--csv', `one=${one}`, '--csv', `Two=${two}`];
    expect((await run('--format', 'csv', sql, ...csvs)).stdout).toBe('id,x,y\n2,b,c\n');
    expect(await run(...csvs, '--output', place('rows.csv'), sql)).toMatchObject({ code: 0, stdout: '' });
    expect((await run(...csvs, '--format', 'csv', 'SHOW TABLES')).stdout).toMatch(/^one$/m);
  });

  it('while every other file stays locked', async () => {
    const path = await file('a,b\n1,2\n');
    for (const sql of [`FROM read_csv('${path}')`, `FROM read_text('${path}')`, "FROM glob('/tmp/*')"])
      expect((await run('--csv', `t=${path}`, sql)).stderr).toMatch(/Permission Error/);
  });

  it('beside a lake in S3, of which it needs no file', async () => {
    const { XDG_CACHE_HOME } = process.env;
    process.env.XDG_CACHE_HOME = place('cache');
    const csvs = [{ name: 'invoice', file: await file('a,b\n1,2\n') }];
    const lake = { store: memoryStore(), reports, settings: undefined, nowMs: Date.now(), csvs };
    const connection = await createSqlConnection(lake, 'FROM invoice');
    expect(await Array.fromAsync(resultObjects(await query(connection, 'FROM invoice')))).toEqual(A_B);
    const views = 'SELECT view_name FROM duckdb_views() WHERE NOT internal';
    const created = await Array.fromAsync(resultObjects(await query(connection, views)));
    expect(created).toEqual([{ view_name: 'freshness' }]);
    connection.closeSync();
    if (XDG_CACHE_HOME === undefined) delete process.env.XDG_CACHE_HOME;
    else process.env.XDG_CACHE_HOME = XDG_CACHE_HOME;
  });

  it('of many rows, and names the line far down that does not fit', async () => {
    const path = await file('id,x\n');
    const block = 'some text,of some length\n'.repeat(100_000);
    for (let blocks = 0; blocks < 5; blocks += 1) await appendFile(path, block);
    expect((await run('--format', 'csv', '--csv', `t=${path}`, 'SELECT count(*) AS n FROM t')).stdout).toBe(
      'n\n500000\n',
    );
    await appendFile(path, 'a,b,c\n');
    expect((await run('--csv', `t=${path}`, 'FROM t')).stderr).toMatch(/line 500002, .*Columns: 2 Found: 3/);
  });
});

describe('a file is refused by its kind, with the next step', () => {
  const sheet = Buffer.concat([Buffer.from('PK\x03\x04'), Buffer.alloc(99)]);
  const bytes = (...all: number[]) => Buffer.from(all);
  it.each<[string, string | Buffer, RegExp]>([
    ['a line with fewer cells', 'a,b,c\n1,2,3\n4,5\n6,7,8\n', /line 3, does not fit .*3 Found: 2/],
    ['a line with more cells', 'a;b\n1;2\n3;4;5\n', /line 3, does not fit .*2 Found: 3/],
    ['a header with fewer cells', 'a,b\n1,2,3\n4,5,6\n', /line 2, does not fit/],
    ['blank lines and a line with more cells', '\n\na,b\n1,2,3\n', /line 4, does not fit/],
    ['an open quote', 'a,b\n1,"x\n2,y\n', /line 2, does not fit .*unterminated quote/],
    ['a text after a quote', 'a,b\n1,"x"y\n2,y\n', /line 2, does not fit/],
    ['a quote after a backslash', 'a,b\n"x\\"y",2\n', /line 2, does not fit/],
    ['a title above the header', 'Invoice 5\na;b;c\n1;2;3\n', /line 2, does not fit/],
    ['lines that end in two ways', 'a,b\r\n1,2\n3,4\r\n', /one kind of line end/],
    ['no content', '', /is empty/],
    ['blank lines', '\n \n', /is empty/],
    ["a spreadsheet's delimiter above the header", 'sep=;\r\na;b\r\n1;2\r\n', /"sep=;".*tail -n \+2/],
    ['a workbook', sheet, /is a workbook.*save it as CSV/],
    ['an older workbook', bytes(0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1, 0, 0), /is a workbook/],
    ['gzip', gzipSync('a,b\n1,2\n'), /compressed with gzip/],
    ['zstd', zstdCompressSync('a,b\n1,2\n'), /NUL|not UTF-8/],
    ['Parquet', 'PAR1....PAR1', /is Parquet/],
    ['JSON', ' [{"a":1}]', /is JSON/],
    ['lists of JSON', '["a","b"]\n[1,2]\n', /is JSON/],
    ['lines of JSON', '{"a":1}\n{"a":2}\n', /is JSON/],
    ['HTML', '<html><table><tr><td>1</td></tr></table>', /is HTML/],
    ['PDF', '%PDF-1.7 ...', /a PDF/],
    ['UTF-16 with a mark', Buffer.from('\ufeffa,b\n1,2\n', 'utf16le'), /is UTF-16.*iconv -f UTF-16 -t UTF-8/],
    ['UTF-16 without a mark', Buffer.from('a,b\n1,2\n', 'utf16le'), /is UTF-16.*iconv -f UTF-16LE/],
    [
      'UTF-16 of the other order',
      Buffer.from('a,b\n1,2\n', 'utf16le').swap16(),
      /is UTF-16.*iconv -f UTF-16BE/,
    ],
    ['NUL', 'a,b\n1,\0\n', /contains the character NUL/],
    [
      'Windows-1252',
      Buffer.from('Name;Stadt\nM\xfcller;K\xf6ln\n', 'latin1'),
      /not UTF-8.*Windows-1252.*iconv -f WINDOWS-1252 -t UTF-8/,
    ],
    ['a character that ends early', Buffer.from('a,b\n1,\xc3', 'latin1'), /not UTF-8/],
  ])('says what is wrong with %s', async (_name, content, note) => {
    const { code, rows, note: said } = await table(content);
    expect([code, rows.includes('bad_csv'), said]).toEqual([2, true, expect.stringMatching(note)]);
  });

  it.each<[string, string[], RegExp]>([
    ['a folder', ['t=LAKE'], /lake is a folder/],
    ['a missing file', ['t=/nowhere.csv'], /\/nowhere\.csv does not exist/],
    ['a path through a file', ['t=/dev/null/x.csv'], /cannot be read \(ENOTDIR\)/],
    ['a pipe', ['t=/dev/null'], /\/dev\/null is not a file/],
    ['no name', ['invoice.csv'], /Use NAME=FILE/],
    ['no file', ['t='], /Use NAME=FILE/],
    ['a name with spaces', ['my table=x.csv'], /a name of letters, digits/],
    ['a name that ends the SQL', ['t";DROP TABLE x;--=x.csv'], /a name of letters, digits/],
    ['a table of the lake', ['Orders=x.csv'], /Orders is already a table/],
    ['a view of the lake', ['orders_daily=x.csv'], /is already a table/],
    ['a table of what was before', ['orders_before=x.csv'], /is already a table/],
    ['a name twice', ['t=x.csv', 'T=y.csv'], /T is already a table/],
  ])('says what is wrong with --csv for %s', async (_name, csvs, message) => {
    const flags = csvs.flatMap((csv) => ['--csv', csv.replace('LAKE', lake)]);
    expect(await run(...flags, 'SELECT 1')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(message),
    });
  });

  it.each(['select', 'LEFT'])('the name %s, which is a word of SQL, needs quotes', async (name) => {
    const flags = ['--json', '--csv', `${name}=${await file('a,b\n1,2\n')}`];
    expect((await run(...flags, `FROM ${name}`)).stderr).toMatch(/syntax error/);
    expect(JSON.parse((await run(...flags, `FROM "${name}"`)).stdout)).toEqual(A_B);
  });

  it('with a command that converts it', async () => {
    const path = await file(Buffer.from('Name;Stadt\nM\xfcller;K\xf6ln\n', 'latin1'), "it's invoice.csv");
    const { stderr } = await run('--csv', `t=${path}`, 'FROM t');
    const [, command = ''] = /Convert it: (.*)/.exec(stderr) ?? [];
    expect(spawnSync('sh', ['-c', command], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
    const { stdout } = await run('--json', '--csv', `t=${path}.utf8.csv`, 'FROM t');
    expect(JSON.parse(stdout)).toEqual([{ Name: 'Müller', Stadt: 'Köln' }]);
  });
});
