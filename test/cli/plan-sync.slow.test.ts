import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { outcomeIn, runCli } from './run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from './sample-brand.ts';

let sample: SampleBrandForCli;
let settings: { brands: { acme: object } };
beforeAll(async () => {
  sample = await serveSampleBrand({ daysBefore: 4 });
  settings = JSON.parse(await readFile(join(sample.folder, 'settings.json'), 'utf8'));
});
afterAll(() => sample.close());

interface Day {
  dt: string;
  reason?: string;
}
interface Reports {
  reports: { report: string; days: Day[] }[];
}

const daysIn = ({ reports }: Reports) =>
  Object.fromEntries(reports.map(({ report, days }) => [report, days.map(({ dt }) => dt).sort()]));
const withBrand = (name: string, changes: object) =>
  sample.writeSettings(name, { ...settings, brands: { acme: { ...settings.brands.acme, ...changes } } });
const lakeNamed = (name: string) => join(sample.folder, name);
const filesIn = (lake: string) => readdir(lake, { recursive: true }).catch(() => 'no folder');

async function plan(lake: string, file: string, ...more: string[]) {
  const flags = ['--settings', file, '--lake', lake, ...more];
  const { code, stdout, stderr } = await runCli(['sync', '--plan', ...flags]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return { text: stdout, json: JSON.parse((await runCli(['sync', '--plan', '--json', ...flags])).stdout) };
}

async function sync(lake: string, file: string, ...more: string[]): Promise<Reports> {
  const flags = ['--settings', file, ...sample.flags.slice(2, 4), '--lake', lake, ...more];
  return outcomeIn((await runCli(['sync', '--json', ...flags])).stdout);
}

describe('sync --plan', () => {
  it('shows the days that the next run reads, and neither requests nor writes', async () => {
    const lake = lakeNamed('lake');
    const file = sample.flags[1] ?? '';
    const changed = await withBrand('changed.json', {
      reports: { order_list: { filters: { status: 'effective' } }, transaction_list: { enabled: false } },
    });
    const rows: [string, string, string[], RegExp][] = [
      [
        'a fresh lake',
        file,
        [],
        /never read: .* to .*\n[\s\S]*\n20 days, about 20 requests, about 1 s at 1000 requests\/s\. Nothing was/,
      ],
      [
        'a filled lake',
        file,
        [],
        /order_list: \d days, about \d+ requests\n {2}open: \S+\n {2}yesterday: \S+\n {2}refresh: /,
      ],
      [
        'named days',
        file,
        ['order_list', '--from', sample.firstDay, '--to', sample.firstDay],
        /requested: \S+\n/,
      ],
      [
        'other settings',
        changed,
        [],
        /order_list: \d days, about \d+ requests\n {2}open: \S+\n {2}yesterday: \S+\n {2}settings: \S+ to \S+\n/,
      ],
    ];
    for (const [name, of, more, text] of rows) {
      const before: [unknown, number] = [await filesIn(lake), sample.service.requests.length];
      const planned = await plan(lake, of, ...more);
      expect([name, await filesIn(lake), sample.service.requests.length]).toEqual([name, ...before]);
      expect(planned.text).toMatch(text);
      expect([name, daysIn(planned.json)]).toEqual([name, daysIn(await sync(lake, of, ...more))]);
      const sent = sample.service.requests.length - before[1];
      expect([name, planned.json.requests > sent / 4, planned.json.requests < sent * 2]).toEqual([
        name,
        true,
        true,
      ]);
    }
  });

  it('shows which days of a report of lookups may follow', async () => {
    const file = await withBrand('details.json', { reports: { clicks_detail: { enabled: true } } });
    const lake = lakeNamed('details');
    const { json, text } = await plan(lake, file);
    const [clicks, details] = json.reports;
    expect(details).toMatchObject({ report: 'clicks_detail', days: [] });
    expect(details.mayFollow).toEqual(clicks.days.map(({ dt }: Day) => dt));
    expect(text).toContain('after the days that have their records');
    expect(text).toContain('requests/s, and more for days that follow. Nothing was requested');
  });
});

describe('sync', () => {
  it.each<[string, string[], object, number, RegExp]>([
    [
      'a disabled report',
      ['order_list'],
      { reports: { order_list: { enabled: false } } },
      2,
      /soon\.json: brands\.acme\.reports\.order_list\.enabled is false\. Set it to true/,
    ],
    [
      'a start date in the future',
      [],
      { startDate: '2999-01-01' },
      2,
      /soon\.json: brands\.acme\.startDate is "2999-01-01", .*Allowed: up to \d{4}-\d\d-\d\d,/,
    ],
    [
      'a start date of a report in the future',
      ['order_list'],
      { reports: { order_list: { startDate: '2999-01-01' } } },
      2,
      /soon\.json: brands\.acme\.reports\.order_list\.startDate is "2999-01-01"/,
    ],
  ])('and its plan handle %s', async (_name, args, changes, expected, message) => {
    const file = await withBrand('soon.json', changes);
    const from = ['--from', sample.today];
    const flags = ['--lake', lakeNamed('none'), '--settings', file, ...sample.flags.slice(2, 4)];
    for (const how of [[], ['--plan']]) {
      const { code, stderr } = await runCli(['sync', ...args, ...how, ...from, ...flags]);
      expect([code, stderr]).toEqual([expected, expect.stringMatching(message)]);
    }
  });
});

describe('status', () => {
  it('fails on the words that --fail-on names, and shows a failure once for all its days', async () => {
    const lake = lakeNamed('failing');
    const failing = (await plan(lake, sample.flags[1] ?? '', 'transaction_list')).json.reports[0].days
      .map(({ dt }: Day) => dt)
      .sort()
      .slice(0, 3);
    const ids = failing.map((dt: string) => dt.replaceAll('-', ''));
    sample.service.addFault({
      on: { action: 'report/transaction_list', when: ({ fields }) => ids.includes(fields.start_date) },
      fault: { kind: 'missing_list' },
    });
    await sync(lake, sample.flags[1] ?? '');
    const status = (...more: string[]) =>
      runCli(['status', '--settings', sample.flags[1] ?? '', '--lake', lake, ...more]);
    const failed = `acme transactions: 3 days WORDS: ${failing[0]} to ${failing[2]}`;
    const rows: [string[], number, string][] = [
      [[], 0, ''],
      [['--fail-on', 'failed'], 1, `--fail-on: ${failed.replace('WORDS', 'failed')}\n`],
      [
        ['--fail-on', 'missing, problem', '--json'],
        1,
        `--fail-on: ${failed.replace('WORDS', 'missing or problem')}\n`,
      ],
      [['--fail-on', 'missing,overdue,finding'], 0, ''],
      [['--fail-on', 'failed', '--month', '2020-01'], 0, ''],
    ];
    for (const [args, code, stderr] of rows)
      expect([args, await status(...args)]).toEqual([args, expect.objectContaining({ code, stderr })]);
    const { stdout } = await status();
    expect(stdout).toMatch(/^acme {2}days in America\/New_York, today is \d{4}-\d\d-\d\d$/m);
    expect(stdout.split('contract (')).toHaveLength(2);
    expect(stdout).toContain(`\n3 days of transactions: ${failing[0]} to ${failing[2]}\ncontract (`);
    const wrong = await status('--fail-on', 'gaps');
    expect([wrong.code, wrong.stderr]).toEqual([
      2,
      expect.stringMatching(/Unknown state "gaps". Allowed: failed, missing, .*finding/),
    ]);
  });
});

it('a lake that does not exist is an error with the next step', async () => {
  const lake = lakeNamed('not there');
  const { code, stderr } = await runCli(['status', '--lake', lake, ...sample.flags.slice(0, 2)]);
  expect(code).toBe(2);
  expect(stderr).toMatch(
    /There is no lake: the folder .*not there does not exist\..* npx brand-reports sync .*--lake /,
  );
});
