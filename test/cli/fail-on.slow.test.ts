import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addDays } from '../../shared/base/days.ts';
import { runCli } from './run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from './sample-brand.ts';

let sample: SampleBrandForCli;
beforeAll(async () => {
  sample = await serveSampleBrand({ daysBefore: 4 });
});
afterAll(() => sample.close());

const lakeNamed = (name: string) => join(sample.folder, name);
async function sync(lake: string, file: string, ...more: string[]): Promise<void> {
  const flags = ['--settings', file, ...sample.flags.slice(2, 4), '--lake', lake, ...more];
  await runCli(['sync', ...flags]);
}

describe('status', () => {
  it('fails on the words that --fail-on names, and shows a failure once for all its days', async () => {
    const lake = lakeNamed('failing');
    const failing = [0, 1, 2].map((days) => addDays(sample.firstDay, days));
    const ids = failing.map((dt) => dt.replaceAll('-', ''));
    sample.service.addFault({
      on: {
        action: 'report/transaction_list',
        when: ({ fields }) => ids.includes(String(fields.start_date)),
      },
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
    expect(stdout).toContain(`\ntransactions: 3 days failed: ${failing[0]} to ${failing[2]}\ncontract (`);
    const wrong = await status('--fail-on', 'gaps');
    expect([wrong.code, wrong.stderr]).toEqual([
      2,
      expect.stringMatching(/Unknown state "gaps". Allowed: failed, missing, .*finding/),
    ]);
  });
});
