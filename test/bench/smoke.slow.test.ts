import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

const execute = promisify(execFile);
const script = fileURLToPath(new URL('../../bench/smoke.sh', import.meta.url));

const DAY = '2026-01-15';
const COMPLETE = { status: 'complete', reports: [{ days: [{ dt: DAY, rows: 42 }] }] };
const SUCCESS = {
  FunctionError: undefined,
  check: { status: 'ok' },
  days: [COMPLETE],
  counted: 42,
  left: '',
};

/** Stubs of `aws` and `npx` that record their calls; `aws` answers with what the file `answers` holds. */
const AWS = `#!/usr/bin/env node
const { appendFileSync, readFileSync, writeFileSync } = require('node:fs');
const args = process.argv.slice(2);
process.chdir(process.env.STUBS);
appendFileSync('calls', args.slice(0, 2).join(' ') + '\\n');
const answers = JSON.parse(readFileSync('answers', 'utf8'));
const after = (name) => args[args.indexOf(name) + 1];
if (args[1] === 'invoke') {
  const answer = JSON.parse(after('--payload')).check ? answers.check : answers.days.shift();
  writeFileSync('answers', JSON.stringify(answers));
  writeFileSync(args.at(-1), JSON.stringify(answer));
  console.log(JSON.stringify({ StatusCode: 200, FunctionError: answers.FunctionError }));
}
if (args[1] === 'get-query-execution') console.log('SUCCEEDED');
if (args[1] === 'get-query-results') console.log(answers.counted);
if (args[1] === 'list-buckets') console.log(answers.left);
`;
const NPX = `#!/usr/bin/env node
const { appendFileSync, copyFileSync, writeFileSync } = require('node:fs');
const args = process.argv.slice(2);
process.chdir(process.env.STUBS);
appendFileSync('calls', args.slice(0, 2).join(' ') + ' ' + args.at(-1) + '\\n');
const [settings] = args.filter((arg) => arg.startsWith('settings='));
copyFileSync(settings.slice('settings='.length), 'deployed');
const outputs = { 'BrandReports-smoke': { DatabaseName: 'brand_reports_smoke', LakeUrl: 's3://lake-1' } };
if (args[1] === 'deploy') writeFileSync(args[args.indexOf('--outputs-file') + 1], JSON.stringify(outputs));
`;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'smoke-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('the smoke script', () => {
  it('deploys, checks, syncs a day, counts it in Athena, destroys, and looks for leftovers', async () => {
    const { code, calls, stdout } = await smoke(SUCCESS);
    expect(stdout).toContain('42 rows in Athena');
    expect(stdout).toMatch(/left behind\nnothing\n.*passed/);
    expect(code).toBe(0);
    expect(calls).toEqual([
      'sts get-caller-identity',
      'cdk deploy BrandReports-smoke',
      'lambda invoke',
      'lambda invoke',
      'athena start-query-execution',
      'athena get-query-execution',
      'athena get-query-results',
      'cdk destroy BrandReports-smoke',
      'logs describe-log-groups',
      'cloudformation list-stacks',
      's3api list-buckets',
      'glue get-databases',
      'logs describe-log-groups',
    ]);
  });

  it('invokes the function again when one run has not enough time for the day', async () => {
    const { code, calls } = await smoke({
      ...SUCCESS,
      days: [{ ...COMPLETE, status: 'incomplete' }, COMPLETE],
    });
    expect({ code, invoked: calls.filter((call) => call === 'lambda invoke').length }).toEqual({
      code: 0,
      invoked: 3,
    });
  });

  it.each([
    ['the check', { check: { status: 'failed' } }, /status of the check is "failed"/],
    ['a function', { FunctionError: 'Unhandled' }, /error of BrandReports-smoke-order_list is "Unhandled"/],
    ['the day', { days: [{ ...COMPLETE, status: 'failed' }] }, /status of the day is "failed"/],
    ['the count', { counted: 41 }, /count in Athena is "41", not "42"/],
    ['the removal', { left: 'lake-1' }, /FAILED/],
  ])('fails when %s fails, and destroys the stack all the same', async (_name, change, message) => {
    const { code, calls, stderr } = await smoke({ ...SUCCESS, ...change });
    expect(code).not.toBe(0);
    expect(stderr).toMatch(message);
    expect(calls).toContain('cdk destroy BrandReports-smoke');
  });

  it('deploys neither what belongs to another deployment nor what would stay behind', async () => {
    const deployment = {
      keepLake: true,
      adoptBucket: 'lake',
      adoptDatabase: 'reports',
      alarmEmail: 'a@b.example',
    };
    const { settings } = await smoke(SUCCESS, {
      deployment: { ...deployment, tablePermissions: 'lake_formation' },
    });
    expect(settings).toEqual({
      brands: { acme: {} },
      deployment: { tablePermissions: 'lake_formation', keepLake: false, schedules: false },
      environments: { smoke: {} },
    });
  });
});

async function smoke(answers: object, settings: object = {}) {
  const path = (name: string) => join(folder, name);
  const write = (name: string, text: string) => writeFileSync(path(name), text, { mode: 0o755 });
  const file = { context: { brandReports: { brands: { acme: {} }, ...settings } } };
  write('settings.json', JSON.stringify(file));
  write('answers', JSON.stringify(answers));
  write('aws', AWS);
  write('npx', NPX);
  const env = { ...process.env, STUBS: folder, PATH: `${folder}${delimiter}${process.env.PATH}` };
  const run = await execute(script, [path('settings.json'), 'acme', DAY], { env }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: Record<'code' | 'stdout' | 'stderr', unknown>) => ({ code, stdout, stderr }),
  );
  const deployed: unknown = JSON.parse(readFileSync(path('deployed'), 'utf8'));
  return { ...run, calls: readFileSync(path('calls'), 'utf8').trim().split('\n'), settings: deployed };
}
