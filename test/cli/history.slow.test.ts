import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { runCli } from './run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from './sample-brand.ts';

let sample: SampleBrandForCli;
beforeAll(async () => {
  sample = await serveSampleBrand();
  expect((await runCli(['sync', 'order_list', ...sample.flags])).code).toBe(0);
});
afterAll(() => sample.close());

it('a restated day is queried as of an earlier time, rolled back, verified, and replaced by the next reading', async () => {
  const day = sample.firstDay;
  const inLake = ['--lake', sample.lake];
  const words = async (...flags: string[]) => {
    const sql = `SELECT count(*) AS orders, count(*) FILTER (status = 'restated') AS restated FROM orders WHERE dt = '${day}'`;
    const { stdout } = await runCli(['query', '--json', ...inLake, ...flags, sql]);
    return JSON.parse(stdout)[0];
  };
  const listed = async () => {
    const { stdout } = await runCli(['rollback', 'order_list', day, '--json', ...inLake]);
    const { versions } = JSON.parse(stdout);
    return versions as { snapshot: string; from: string; to: string | null; rows: number }[];
  };
  const sync = () => runCli(['sync', 'order_list', '--from', day, '--to', day, ...sample.flags]);

  const before = new Date().toISOString();
  const { orders } = await words();
  sample.alter('order_list', day, () => ({ status: 'restated' }));
  expect((await sync()).code).toBe(0);
  expect(await words()).toEqual({ orders, restated: orders });
  expect(await words('--as-of', before)).toEqual({ orders, restated: 0 });
  const early = await runCli(['query', ...inLake, '--as-of', '2020-01-01T00:00:00Z', 'FROM orders']);
  expect([early.code, early.stderr]).toEqual([
    0,
    expect.stringContaining('3 days without rows, because they were first read later'),
  ]);
  const counted = await runCli([
    'query',
    ...inLake,
    '--as-of',
    before,
    `SELECT 1 FROM orders WHERE dt = '${day}' LIMIT 1`,
  ]);
  expect(counted.stderr).toBe(`(1 row as of ${before})\n`);

  const refused = await runCli(['query', '--json', ...inLake, '--as-of', before, 'FROM coverage']);
  expect([refused.code, JSON.parse(refused.stdout).error.code]).toEqual([2, 'not_as_of']);

  const [first, second] = await listed();
  expect([first?.rows, first?.to, second?.to]).toEqual([orders, second?.from, null]);
  const text = (await runCli(['rollback', 'order_list', day, ...inLake])).stdout;
  expect(text).toMatch(
    new RegExp(`^acme order_list ${day}: 2 versions kept\\n[\\s\\S]*${first?.snapshot} .* whole\\n`),
  );

  const to = ['--to', first?.snapshot ?? ''];
  const done = await runCli(['rollback', 'order_list', day, ...to, ...sample.flags.slice(0, 2), ...inLake]);
  expect([done.code, done.stderr]).toEqual([0, '']);
  expect(done.stdout).toContain(`${day} is version ${first?.snapshot} again, with ${orders} rows`);
  expect(await words()).toEqual({ orders, restated: 0 });
  const again = await runCli(['rollback', 'order_list', day, ...to, ...inLake, '--json']);
  expect([again.code, JSON.parse(again.stdout).error.code]).toEqual([2, 'already_current']);

  expect((await runCli(['verify', ...inLake])).code).toBe(0);
  expect((await sync()).code).toBe(0);
  expect(await words()).toEqual({ orders, restated: orders });
  expect((await listed()).map(({ snapshot }) => snapshot).slice(0, 3)).toEqual(
    [first, second, first].map((version) => version?.snapshot),
  );
}, 120_000);

it.each([
  ['an instant without a zone', '2026-01-31T06:00:00'],
  ['a word', 'yesterday'],
  ['a day', '2026-01-01'],
  ['an instant in the future', '2199-01-01T00:00:00Z'],
])('--as-of refuses %s, and lists the allowed forms', async (_name, asOf) => {
  const { code, stderr } = await runCli(['query', '--as-of', asOf, 'SELECT 1']);
  expect(code).toBe(2);
  expect(stderr).toMatch(/a past instant nor a month.*2026-01-31T06:00:00Z or 2026-01/);
});
