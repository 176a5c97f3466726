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
  it('shows the changes of a later reading: counts, and each record', async () => {
    const { code, stdout } = await runCli(['diff', 'orders', day, ...inLake]);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      new RegExp(
        `^acme orders ${day}: [\\d,]+ rows?, changed 2 times since it was closed first\n\n.* \\+0 −0 ~1\n`,
      ),
    );
    expect(stdout).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d UTC {2}reading {2}\+0 −1 ~1$/m);
    expect(stdout).toMatch(/^ {2}− \S+ {2}.*status=/m);
    expect(stdout).toMatch(/^ {2}~ \S+ {2}status: \w+ → restated$/m);
    expect(stdout).toContain('status: restated → \\u001b[31mred\n');
  });

  it('also accepts the name of the report, and prints one JSON document', async () => {
    const { stdout } = await runCli(['diff', 'order_list', day, '--brand', 'acme', '--json', ...inLake]);
    const { days } = JSON.parse(stdout);
    expect(days).toMatchObject([
      {
        ...{ brand: 'acme', report: 'order_list', day, closed: true },
        changes: [
          { diff: { added: 0, removed: 0, altered: 1 } },
          { cause: 'reading', diff: { added: 0, removed: 1, altered: 1 } },
        ],
      },
    ]);
    const [newest, first] = days[0].changes;
    expect(newest.previousId).toBe(first.id);
    expect(first.diff.records).toEqual([
      {
        what: 'removed',
        key: expect.any(String),
        copies: 1,
        record: expect.objectContaining({ status: expect.any(String) }),
      },
      {
        what: 'altered',
        key: expect.any(String),
        columns: [{ name: 'status', before: expect.any(String), after: 'restated' }],
      },
    ]);
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
