/** Each session of DuckDB has limits, and no SQL can change them. */
import { spawnSync } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { query, resultObjects } from '../../cli/query-result.ts';
import { openSession } from '../../cli/sql-session.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { runCli } from './run-cli.ts';

const MODULES = ['sql-session.ts', 'query-result.ts'].map(
  (name) => new URL(`../../cli/${name}`, import.meta.url).href,
);
const ENDLESS = 'SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range + b.range = -1';

let temporary: Awaited<ReturnType<typeof temporaryFolder>>;
beforeAll(async () => {
  temporary = await temporaryFolder();
  await mkdir(join(temporary.path, 'lake'));
});
afterAll(() => temporary.remove());

it('query has a limit of memory, no file outside the lake and a locked configuration', async () => {
  const names = ['memory_limit', 'enable_external_access', 'lock_configuration', 'temp_directory'];
  const sql = `SELECT ${names.map((name) => `current_setting('${name}')::VARCHAR AS ${name}`).join(', ')}`;
  const { stdout } = await runCli(['query', '--json', '--lake', join(temporary.path, 'lake'), sql]);
  expect(JSON.parse(stdout)).toEqual([
    {
      ...{ enable_external_access: 'false', lock_configuration: 'true', temp_directory: '' },
      memory_limit: expect.stringMatching(/^[1-4](\.\d)? GiB$/),
    },
  ]);
});

it('a query ends at the time limit', async () => {
  const connection = await openSession([], undefined, { memoryBytes: 2 ** 30, ms: 300 });
  const rows = query(connection, ENDLESS).then((result) => Array.fromAsync(resultObjects(result)));
  await expect(rows).rejects.toMatchObject({ code: 'sql', message: /took too long and was ended/ });
  connection.closeSync();
});

describe('the process ends if DuckDB does not stop', () => {
  it.each([
    ['after the time limit', "SELECT levenshtein(repeat('ab', 200000), repeat('ba', 200000))", 300, 'time'],
    ['above the limit of memory', 'SELECT len(range(1000000000))', 60_000, 'memory'],
  ])('with a message, %s', (_name, sql, ms, reason) => {
    const program = `const [{ openSession }, { query }] = await Promise.all(${JSON.stringify(MODULES)}.map((url) => import(url)));
const connection = await openSession([], undefined, { memoryBytes: 2 ** 26, ms: ${ms} });
await query(connection, ${JSON.stringify(sql)});`;
    const { signal, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8',
      env: { ...process.env, NODE_OPTIONS: '' },
      timeout: 60_000,
      killSignal: 'SIGKILL',
    });
    expect([signal, stderr]).toEqual(['SIGTERM', expect.stringContaining(`needs too much ${reason}`)]);
  });
});
