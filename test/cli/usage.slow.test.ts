import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { commands } from '../../cli/program.ts';
import { reports } from '../../shared/reports/index.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { runCli, startCli } from './run-cli.ts';

const brand = {
  baseUrl: 'https://service.example/api/acme',
  service: 'ACME',
  timeZone: 'America/New_York',
  startDate: '2026-01-01',
  secretName: 'brand-reports/acme',
};
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let settings: string;
let credentials: string;
let lake: string;

beforeAll(async () => {
  folder = await temporaryFolder();
  const file = async (name: string, content: unknown) => {
    const path = join(folder.path, name);
    await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content), { mode: 0o600 });
    return path;
  };
  settings = await file('settings.json', {
    brands: { acme: brand },
  });
  credentials = await file('credentials.json', { acme: { bid: '1', token: 'tttt', secret: 'ssss' } });
  await file('elsewhere.json', {
    acme: { bid: '1', token: 'tttt', secret: 'ssss', baseUrl: 'https://elsewhere.example.com/' },
  });
  lake = join(folder.path, 'lake');
  await mkdir(lake);
});

afterAll(() => folder.remove());

it('help has one line for each command, in groups, and every exit code', async () => {
  const { stdout } = await runCli(['--help']);
  const [, ...groups] = stdout.slice(0, stdout.indexOf('\nExit codes:')).split(/\n\n(?=[\w ]+:\n)/);
  const lines = groups.map((group) => group.trim().split('\n'));
  expect(lines.map(([heading]) => heading)).toEqual([
    'Options:',
    'Read the reports:',
    'Ask:',
    'Look after the lake:',
    'Month end:',
    'Other tools:',
  ]);
  const listed = lines.slice(1).flatMap(([, ...own]) => own.map((line) => line.trim().split(/ {2,}/)));
  expect(listed.map(([name]) => name)).toEqual([...Object.keys(commands), 'help']);
  expect(listed.filter(([, description = '']) => description === '')).toEqual([]);
  expect(stdout).toMatch(
    /0 {2}complete\n.*1 {2}failed\n.*2 {2}usage or settings\n.*3 {2}incomplete.*\n.*4 {2}busy/,
  );
});

it('--version prints the version of package.json, from any folder', async () => {
  const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'));
  expect(version).toMatch(/^\d+\.\d+\.\d+$/);
  expect(await runCli(['--version'], { cwd: folder.path })).toEqual({
    code: 0,
    stdout: `${version}\n`,
    stderr: '',
  });
});

describe('wrong usage or settings', () => {
  const given = () => ['--settings', settings, '--credentials', credentials, '--lake', lake];
  const at = (name: string) => join(folder.path, name);
  it.each<[string, () => string[], RegExp]>([
    ['no command', () => [], /Read the reports:/],
    ['an unknown command', () => ['snyc'], /unknown command 'snyc'[\s\S]*Did you mean sync/],
    ['an unknown brand', () => ['sync', '--brand', 'acne', ...given()], /"acne".*Allowed: acme/],
    [
      'a day that does not exist',
      () => ['sync', '--from', '2026-02-30', ...given()],
      /2026-02-30.*YYYY-MM-DD/,
    ],
    [
      'days in the wrong order',
      () => ['sync', '--from', '2026-01-02', '--to', '2026-01-01', ...given()],
      /--from 2026-01-02 is after --to 2026-01-01/,
    ],
    [
      'an instant in the future',
      () => ['sync', '--now', '2126-01-02T12:00:00Z', ...given()],
      /in the future/,
    ],
    ...['2026-01-31T06:00:00', 'yesterday', '2026-01-01', '2199-01-01T00:00:00Z'].map(
      (time): [string, () => string[], RegExp] => [
        `a query as of ${time}`,
        () => ['query', '--as-of', time, 'SELECT 1'],
        /a past instant nor a month.*2026-01-31T06:00:00Z or 2026-01/,
      ],
    ),
    [
      'a query of coverage as of a past time',
      () => ['query', '--as-of', '2026-01-31T06:00:00Z', '--lake', lake, 'FROM coverage'],
      /--as-of cannot answer for coverage/,
    ],
    [
      'a settings file that does not exist',
      () => ['sync', ...given(), '--settings', at('absent.json')],
      /absent\.json cannot be read \(ENOENT\).*--settings FILE/,
    ],
    [
      'no credentials',
      () => ['sync', '--settings', settings, '--lake', lake],
      /--credentials FILE.*BRAND_REPORTS_CREDENTIALS\n- --credentials aws /s,
    ],
    ...['sync', 'check'].map((command): [string, () => string[], RegExp] => [
      `${command} with credentials for another address`,
      () => [command, ...given(), '--credentials', at('elsewhere.json')],
      /are for https:\/\/elsewhere\.example\.com\/ only, so no request was sent/,
    ]),
    [
      'a database for a lake in a folder',
      () => ['sync', '--database', 'reports', ...given()],
      /Glue reads lakes in S3 only/,
    ],
    [
      'a removal of a close without its month',
      () => ['close', '--remove'],
      /--remove needs a month, YYYY-MM\. Name the month, e\.g\. npx brand-reports close 2026-10 --remove/,
    ],
    [
      'a rebuild without days',
      () => ['rebuild', 'orders'],
      /'--from <day>' not specified\nExample: npx brand-reports rebuild .* --from \S+ --to/,
    ],
    [
      'a rollback without a day',
      () => ['rollback', 'orders'],
      /Example: npx brand-reports rollback order_list /,
    ],
    ['a demo in S3', () => ['demo', '--lake', 's3://bucket/lake'], /to a folder/],
  ])('%s ends with exit code 2 and a message with the allowed values', async (_name, args, message) => {
    const { code, stdout, stderr } = await runCli(args());
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(message);
  });

  it('with --json prints the error as the one JSON document', async () => {
    const { code, stdout } = await runCli(['sync', 'nothing', '--json', ...given()]);
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toEqual({
      status: 'failed',
      reports: [],
      error: {
        kind: 'config',
        code: 'unknown_report',
        message: expect.stringContaining(
          Object.values(reports)
            .map(({ name, table }) => `${name} (table ${table})`)
            .join(', '),
        ),
      },
    });
  });
});

describe('a command that ends without finishing', () => {
  const NEVER_READS = `data:text/javascript,
    import promises from 'node:fs/promises';
    import { syncBuiltinESMExports } from 'node:module';
    promises.readFile = () => new Promise(() => {});
    syncBuiltinESMExports();`;

  it('fails, although no work is left', async () => {
    const nodeFlags = ['--import', NEVER_READS.replaceAll(/\n */g, '')];
    const { code, stdout, stderr } = await startCli(['sync', '--settings', settings, '--json'], { nodeFlags })
      .result;
    expect(code).toBe(1);
    expect(stderr).toContain('stopped without finishing');
    expect(JSON.parse(stdout)).toMatchObject({ status: 'failed', error: { code: 'never_ends' } });
  });
});
