import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { runCli } from './run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from './sample-brand.ts';

let sample: SampleBrandForCli;
let placed: (args: readonly string[]) => string[];

beforeAll(async () => {
  sample = await serveSampleBrand();
  const [day, settings, lake] = [sample.firstDay, sample.flags.slice(0, 2), ['--lake', sample.lake]];
  const words: Record<string, string[]> = {
    '{day}': [day],
    '{range}': ['--from', day, '--to', day],
    '{lake}': lake,
    '{settings}': [...settings, ...lake],
    '{service}': sample.flags,
  };
  placed = (args) => args.flatMap((arg) => words[arg] ?? [arg]);
  expect((await runCli(placed(['sync', 'orders', '{range}', '{service}']))).code).toBe(0);
});
afterAll(() => sample.close());

/** Removes the values that differ from run to run. */
const timeless = (text: string) => text.replaceAll(/\d+(\.\d+)? s\b/g, 'n s');

it.each<[string, ...string[]]>([
  ['check', 'check', '{report}', '{service}'],
  ['sync', 'sync', '{report}', '{range}', '{service}'],
  ['diff', 'diff', '{report}', '{day}', '{lake}'],
  ['rollback', 'rollback', '{report}', '{day}', '{lake}'],
  ['rebuild', 'rebuild', '{report}', '{range}', '{settings}'],
  ['verify', 'verify', '{report}', '{lake}'],
])(
  '%s takes a report by its name and by its table, and lists both for another word',
  async (_name, ...args) => {
    const run = (report: string) => runCli(placed(args.map((arg) => (arg === '{report}' ? report : arg))));
    const [byName, byTable, unknown] = [await run('order_list'), await run('orders'), await run('order')];
    expect(byName.code).toBe(0);
    expect({ ...byTable, stdout: timeless(byTable.stdout) }).toMatchObject({
      code: 0,
      stdout: timeless(byName.stdout),
    });
    expect(unknown).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /"order"\. Allowed: .*order_list \(table orders\).*Did you mean orders\?/,
      ),
    });
  },
);
