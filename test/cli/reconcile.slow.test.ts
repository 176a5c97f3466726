import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { recordsOfDay } from '../../sample/brand.ts';
import { amountOf } from '../../cli/reconcile/file.ts';
import { addDays } from '../../shared/days.ts';
import { isRawNumber } from '../../shared/json.ts';
import { runCli } from './run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from './sample-brand.ts';

let sample: SampleBrandForCli;
let day: string;
let before: string;

const text = (value: unknown) => (isRawNumber(value) ? value.rawJSON : String(value));

/** The current orders of a day in the service. */
function exported(): string {
  const orders = recordsOfDay(sample.acme, 'order_list', day);
  const lines = orders.map(({ transid, status, commission }) =>
    [transid, status, commission].map(text).join(','),
  );
  return `Order ID,Status,Commission\n${lines.join('\n')}\n`;
}

async function reconcile(content: string, ...flags: string[]) {
  const file = join(sample.folder, 'export.csv');
  await writeFile(file, content);
  return runCli(['reconcile', file, '--lake', sample.lake, ...flags], { cwd: sample.folder });
}

beforeAll(async () => {
  sample = await serveSampleBrand();
  day = addDays(sample.today, -1);
  const read = () =>
    runCli(['sync', 'order_list', 'transaction_list', '--from', day, '--to', day, ...sample.flags]);
  await read();
  before = exported();
  sample.alter('order_list', day, (index) => (index % 5 === 0 ? { status: 'void' } : {}));
  await read();
});

afterAll(() => sample.close());

describe('reconcile', () => {
  it('agrees with an export of today, and the lake explains an older one', async () => {
    const now = await reconcile(exported());
    expect(now).toMatchObject({ code: 0, stdout: expect.stringContaining('Everything agrees') });
    expect(now.stderr).toContain('commission = Commission, state = Status, order_id = Order ID');
    const output = join(sample.folder, 'differences.csv');
    const { code, stdout } = await reconcile(before, '--json', '--output', output);
    const { status, causes, differences, sums } = JSON.parse(stdout);
    expect({ code, status, causes }).toMatchObject({
      ...{ code: 0, status: 'explained' },
      causes: [{ cause: 'voided_since', explained: true, commission_difference: sums[0].difference }],
    });
    expect((await readFile(output, 'utf8')).trim().split('\r\n')).toHaveLength(differences.length + 1);
  });

  it('fails if something is not explained, and prints causes and orders', async () => {
    const { code, stdout } = await reconcile(`${exported()}77,new,12.50\n`);
    expect(code).toBe(1);
    expect(stdout).toMatch(/missing_here +false +1 +12\.5/);
    expect(stdout).toContain('1 difference of 1 not explained');
  });

  it('compares orders with transactions without a file', async () => {
    const { code, stdout, stderr } = await runCli(['reconcile', '--json', '--lake', sample.lake], {
      cwd: sample.folder,
    });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining('transactions with orders of acme'),
    });
    const { sums, causes, days } = JSON.parse(stdout);
    const sum = causes.reduce(
      (all: number, each: { commission_difference: number }) => all + each.commission_difference,
      0,
    );
    expect(sum).toBeCloseTo(sums[0].difference, 9);
    expect(days[0]).toMatchObject({ dt: day, causes: expect.any(String) });
  });

  it('does not accept a month in which no report has a record', async () => {
    const args = ['reconcile', '--month', '2020-01', '--lake', sample.lake];
    expect(await runCli(args, { cwd: sample.folder })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/nothing to compare from 2020-01-01 to 2020-01-31.*status/),
    });
  });

  it.each<[string, string, string[], RegExp]>([
    ['no file', '', [], /The file is empty/],
    ['only a head', 'Order ID,Commission\n', [], /no line below its head in line 1/],
    [
      'a line with too few cells',
      'Order ID,Commission\n1,2\n3\n',
      [],
      /Line 3 has 1 cell, but the head in line 1 has 2/,
    ],
    [
      'a quote without end',
      'Order ID,Commission\n1,2\n"3,4\n',
      [],
      /Line 3 has a quoted cell that never ends/,
    ],
    [
      'no amount',
      'Order ID,Note\n1,x\n',
      [],
      /No column of the file is its commission.*"Order ID", "Note".*--map commission=/,
    ],
    [
      'a cell that is not an amount',
      'Order ID,Commission\n1,2\n2,x\n',
      ['--map', 'commission=Commission'],
      /Line 3: "x" in the column "Commission"/,
    ],
    [
      'ids that a spreadsheet has rounded',
      'Order ID,Commission\n8.2E+11,2\n',
      [],
      /Line 2: .*rounded the order id/,
    ],
    [
      'a column that does not exist',
      'Order ID,Commission\n1,2\n',
      ['--map', 'amount=Sum'],
      /--map amount=Sum names no column/,
    ],
    [
      'a role that does not exist',
      'Order ID,Commission\n1,2\n',
      ['--map', 'sum=Sum'],
      /Use role=column.*Roles: order_id/,
    ],
    [
      'a brand that the lake does not have',
      'Order ID,Commission\n1,2\n',
      ['--brand', 'acne'],
      /"acne".*Allowed: acme/,
    ],
    ['no order of the lake', 'Order ID,Commission\n1,2\n', [], /The days to compare are unknown.*--month/],
  ])('refuses %s with exit code 2', async (_name, content, flags, message) => {
    const { code, stderr } = await reconcile(content, ...flags);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(message) });
  });
});

it.each([
  ['1,234.50', undefined, '1234.50'],
  ['1.234,50 €', undefined, '1234.50'],
  ["CHF 1'234.50", undefined, '1234.50'],
  ['(12.00)', undefined, '-12.00'],
  ['-$ 5', undefined, '-5'],
  ['12,50-', true, '-12.50'],
  ['1.234', true, '1234'],
  ['1.234', false, '1.234'],
  ['12,34,567.5', false, '1234567.5'],
  ['1,23', false, undefined],
  ['2026-10-01', undefined, undefined],
  ['n/a', undefined, undefined],
  ['9'.repeat(400), undefined, undefined],
])('%s with decimal comma %s is the amount %s', (cell, isComma, number) => {
  expect(amountOf(cell, isComma)).toBe(number);
});
