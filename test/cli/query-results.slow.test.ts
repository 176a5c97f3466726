/** Results of any size: rows are written as DuckDB computes them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { runCli } from './run-cli.ts';

const LAUNCHER = fileURLToPath(new URL('../../cli/brand-reports.js', import.meta.url));
/** More rows than the arguments that a call may have. */
const MANY = 130_000;
let temporary: Awaited<ReturnType<typeof temporaryFolder>>;

beforeAll(async () => {
  temporary = await temporaryFolder();
});
afterAll(() => temporary.remove());

const run = (...args: string[]) => runCli(['query', '--lake', temporary.path, ...args]);

describe('a long result', () => {
  it('is one table with columns as wide as its first rows need; later cells keep their full length', async () => {
    const sql = `SELECT i, CASE WHEN i = ${MANY - 1} THEN 'longer' ELSE 'é' END AS text, CASE WHEN i = 120000 THEN 0.125 ELSE 1.5 END::DECIMAL(9,4) AS d FROM range(${MANY}) r(i)`;
    const { code, stdout, stderr } = await run(sql);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '(130,000 rows)\n' });
    const lines = stdout.split('\n');
    expect(lines.slice(0, 3)).toEqual(['   i  text    d', '────  ────  ───', '   0  é     1.5']);
    expect(lines[120_002]).toBe('120000  é     0.125');
    expect(lines.slice(-2)).toEqual(['129999  longer  1.5', '']);
    expect(lines).toHaveLength(MANY + 3);
  });

  it('is one JSON array, with all digits of its numbers', async () => {
    const { code, stdout } = await run(
      '--json',
      `SELECT i, 9007199254740993 AS big FROM range(${MANY}) r(i)`,
    );
    expect(code).toBe(0);
    expect(stdout.slice(0, 60)).toMatch(/^\[\{"i":0,"big":9007199254740993\},\{"i":1,/);
    expect(JSON.parse(stdout)).toHaveLength(MANY);
  });

  it('has NaN and Infinity, which are not JSON numbers, as texts', async () => {
    const { stdout } = await run(
      '--json',
      "SELECT 'nan'::DOUBLE AS a, '-inf'::FLOAT AS b, -1.5::DOUBLE AS c",
    );
    expect(stdout).toBe('[{"a":"NaN","b":"-Infinity","c":-1.5}]\n');
  });

  it.each([
    ['a table', []],
    ['JSON', ['--json']],
  ])('takes little memory as %s', async (_name, flags) => {
    const sql = "SELECT i, repeat('x', 200) AS a, repeat('y', 200) AS b FROM range(600000) r(i)";
    const heap = ['--max-old-space-size=64'];
    const child = spawn(
      process.execPath,
      [...heap, LAUNCHER, 'query', ...flags, '--lake', temporary.path, sql],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    );
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  it('ends quietly when its reader has enough', async () => {
    const sql = 'SELECT i FROM range(5000000) r(i)';
    const child = spawn(process.execPath, [LAUNCHER, 'query', '--lake', temporary.path, sql], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    await once(child.stdout, 'data');
    child.stdout.destroy();
    expect(await once(child, 'close')).toEqual([0, null]);
    expect(stderr).toBe('');
  });
});

describe('a result without rows', () => {
  it.each([
    ['a table', [], 'a  b\n─  ─\n'],
    ['JSON', ['--json'], '[]\n'],
  ])('is %s', async (_name, flags, expected) => {
    expect((await run(...flags, 'SELECT 1 AS a, 2 AS b WHERE false')).stdout).toBe(expected);
  });
});

describe('a query that fails after its first rows', () => {
  const failing = (after: number) =>
    `SELECT CASE WHEN i = ${after} THEN error('no more') ELSE i END AS i FROM range(300000) r(i)`;

  it('prints the first rows, then the error, and ends with exit code 1', async () => {
    const { code, stdout, stderr } = await run(failing(200_000));
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'error: Invalid Input Error: no more\n' });
    expect(stdout).toMatch(/^ +i\n─+\n +0\n +1\n/);
  });

  it('leaves an array that no reader accepts as complete, and the error in a document below', async () => {
    const { code, stdout } = await run('--json', failing(200_000));
    expect(code).toBe(1);
    expect(() => JSON.parse(stdout)).toThrow();
    const [array = '', document = ''] = stdout.split('\n');
    expect(array).toMatch(/^\[\{"i":0\},\{"i":1\},/);
    expect(JSON.parse(document)).toEqual({
      status: 'failed',
      error: { kind: 'config', code: 'sql', message: 'Invalid Input Error: no more' },
    });
  });

  it('prints only the document if no row was printed', async () => {
    const { stdout } = await run('--json', failing(100));
    expect(JSON.parse(stdout)).toMatchObject({ status: 'failed', error: { code: 'sql' } });
  });
});
