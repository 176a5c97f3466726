import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addDays } from '../../shared/base/days.ts';
import { runCli } from './run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from './sample-brand.ts';

let sample: SampleBrandForCli;
let day: string;
let inLake: string[];

beforeAll(async () => {
  sample = await serveSampleBrand();
  day = addDays(sample.firstDay, 1);
  inLake = ['--lake', sample.lake];
  const range = ['--from', day, '--to', day];
  expect((await runCli(['sync', 'order_list', ...range, ...sample.flags])).code).toBe(0);
  sample.alter('order_list', day, (index) =>
    index === 0 ? undefined : index === 1 ? { status: 'restated' } : {},
  );
  expect((await runCli(['sync', 'order_list', ...range, ...sample.flags])).code).toBe(0);
  sample.alter('order_list', day, (index) => (index === 0 ? { status: '\u001b[31mred' } : {}));
  expect((await runCli(['sync', 'order_list', ...range, ...sample.flags])).code).toBe(0);
});
afterAll(() => sample.close());

describe('diff', () => {
  it('shows each record that changed, the newest change first, with what differs', async () => {
    const { code, stdout, stderr } = await runCli(['diff', 'orders', day, ...inLake]);
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(
        new RegExp(`^\\(acme orders ${day}: [\\d,]+ rows?, 2 changes since it was closed first\\)\n$`),
      ),
    ]);
    const [, , ...rows] = stdout.trim().split('\n');
    const at = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d UTC  reading`;
    expect(rows).toEqual([
      expect.stringMatching(`^acme +2  ${at}  altered +1  .*status: restated → \\\\u001b\\[31mred$`),
      expect.stringMatching(`^acme +1  ${at}  removed +1  .*"status":`),
      expect.stringMatching(`^acme +1  ${at}  altered +1  .*status: \\w+ → restated$`),
    ]);
  });

  it('also accepts the name of the report, and prints the rows of the view as JSON', async () => {
    const { stdout } = await runCli(['diff', 'order_list', day, '--brand', 'acme', '--json', ...inLake]);
    const sql = 'FROM changes ORDER BY place DESC, what DESC, key';
    expect(JSON.parse(stdout)).toEqual(
      JSON.parse((await runCli(['query', '--json', sql, ...inLake])).stdout),
    );
    expect(JSON.parse(stdout)).toHaveLength(3);
  });

  it.each([
    ['a day that the lake does not have', ['orders', '2020-01-01'], /has nothing of order_list 2020-01-01/],
    [
      'a brand without the day',
      ['orders', '{day}', '--brand', 'x'],
      /of the brand "x"\. Brands that have the day: acme.*brand-reports status/,
    ],
  ])('names the next step for %s', async (_name, args, message) => {
    const named = args.map((arg) => (arg === '{day}' ? day : arg));
    const { code, stderr } = await runCli(['diff', ...named, ...inLake]);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });
});
