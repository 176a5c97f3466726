import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { runCli } from './run-cli.ts';

let temporary: Awaited<ReturnType<typeof temporaryFolder>>;
let file: string;

beforeAll(async () => {
  temporary = await temporaryFolder();
  file = join(temporary.path, 'completion.bash');
  const { code, stdout } = await runCli(['completion', 'bash']);
  expect(code).toBe(0);
  await writeFile(file, stdout);
});
afterAll(() => temporary.remove());

const bash = (...args: string[]) => spawnSync('bash', args, { encoding: 'utf8' });

/** The words that bash offers for the last word, from the function that the script registers. */
function completed(words: readonly string[]): string[] {
  const call = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
    complete -p brand-reports >/dev/null && _brand_reports && printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = bash('-c', call, 'bash', file, 'brand-reports', ...words);
  expect(stderr).toBe('');
  return stdout.split('\n').filter((line) => line !== '');
}

it.each<[string, string[], string[]]>([
  ['commands', ['re'], ['reconcile', 'rebuild']],
  ['options', ['query', '--fo'], ['--format']],
  ['values of an option', ['query', '--format', 'c'], ['csv']],
  ['values of an argument', ['completion', 'z'], ['zsh']],
  ['files, which bash finds itself', ['query', '--output', ''], []],
  [
    'reports and tables',
    ['sync', 'order_list', 'cl'],
    ['clicks_list', 'clicks', 'clicks_detail', 'click_details'],
  ],
  ['tables in a query', ['query', '"SELECT * FROM fr'], ['SELECT * FROM freshness']],
  ['views after a comma', ['query', "'FROM orders,orders_"], ['FROM orders,orders_daily']],
  ['commands of help', ['help', 'ver'], ['verify']],
  ['nothing for a command that does not exist', ['nothing', 'x'], []],
])('bash completes %s', (_name, words, expected) => {
  expect(completed(words)).toEqual(expected);
});

it('bash accepts the script, and zsh gets the same script after its bashcompinit', async () => {
  expect(bash('-n', file)).toMatchObject({ status: 0, stderr: '' });
  const { stdout } = await runCli(['completion', 'zsh']);
  expect(stdout).toMatch(/^autoload -Uz compinit bashcompinit && .*\n_brand_reports\(\) \{\n/);
});

it('lists the supported shells', async () => {
  expect(await runCli(['completion', 'fish'])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/Allowed choices are bash, zsh/),
  });
});
