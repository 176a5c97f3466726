import { globSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { openLake } from '../../shared/adapters/open-lake.ts';
import { runCli } from './run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from './sample-brand.ts';

let sample: SampleBrandForCli;
beforeAll(async () => {
  sample = await serveSampleBrand();
  expect((await runCli(['sync', ...sample.flags])).code).toBe(0);
});
afterAll(() => sample.close());

const TYPES = {
  create_time: 'timestamp',
  amount: 'decimal(18,2)',
  commission: 'double',
  order_number: 'bigint',
  first_purchase: 'string',
  channel_id: 'date',
  status: 'boolean',
};

/** Settings with these types of columns of orders. */
async function withTypes(name: string, columns: Record<string, string>): Promise<string> {
  const { brands } = JSON.parse(readFileSync(join(sample.folder, 'settings.json'), 'utf8'));
  return sample.writeSettings(name, {
    brands: { acme: { ...brands.acme, reports: { order_list: { columns } } } },
  });
}

it('rebuild gives earlier days the types of the current settings, and every reader agrees', async () => {
  const settings = await withTypes('typed.json', TYPES);
  const inLake = ['--lake', sample.lake];
  const days = ['--from', sample.firstDay, '--to', sample.today];
  const rebuild = ['rebuild', 'order_list', ...days, '--settings', settings, ...inLake];
  const requests = sample.service.requests.length;

  const rebuilt = await runCli(rebuild);
  expect([rebuilt.code, rebuilt.stdout]).toEqual([
    0,
    expect.stringMatching(/complete +3 +0 +0 +0 +0\n\ncomplete$/m),
  ]);
  expect(rebuilt.stderr).toContain(`acme order_list ${sample.firstDay} changed: `);
  expect(sample.service.requests).toHaveLength(requests);
  const files = globSync(join(sample.lake, '{snapshots,current}/**/*.parquet'));
  expect(files.length).toBeGreaterThan(6);
  expect(files.filter((path) => statSync(path).mode & 0o222)).toEqual([]);

  expect((await runCli(['verify', ...inLake])).code).toBe(0);
  const sql = `SELECT count(*) AS n,
    count(*) FILTER (epoch(create_time_timestamp) = create_time) AS times,
    count(*) FILTER (amount_decimal_18_2 = amount) AS amounts,
    count(*) FILTER (CAST(commission_double AS DECIMAL(38,9)) = commission) AS doubles,
    count(*) FILTER (CAST(order_number_bigint AS VARCHAR) = order_number) AS numbers,
    count(*) FILTER (first_purchase_string = CAST(first_purchase AS VARCHAR)) AS texts,
    typeof(any_value(create_time_timestamp)) AS t, typeof(any_value(amount_decimal_18_2)) AS d
    FROM orders`;
  const rows = JSON.parse((await runCli(['query', '--json', ...inLake, sql])).stdout);
  const [{ n, times, amounts, doubles, numbers, texts, t, d }] = rows;
  expect(Number(n)).toBeGreaterThan(0);
  expect([times, amounts, doubles, numbers, texts, t, d]).toEqual([
    n,
    n,
    n,
    n,
    n,
    'TIMESTAMP',
    'DECIMAL(18,2)',
  ]);

  const again = await runCli([...rebuild, '--json']);
  expect(JSON.parse(again.stdout)).toMatchObject({
    status: 'complete',
    reports: [{ days: [{ outcome: 'unchanged' }, { outcome: 'unchanged' }, { outcome: 'unchanged' }] }],
  });
}, 120_000);

it('rebuild and erase name the run that reads the day, and since when', async () => {
  const { firstDay: day, lake, flags } = sample;
  const inLake = ['--lake', lake, ...flags.slice(0, 2)];
  const ledger = join(lake, 'ledger/transaction_list/acme', `${day.slice(0, 7)}.json`);
  const stored = JSON.parse(readFileSync(ledger, 'utf8'));
  const unregister = await (await openLake(lake)).runs.register('other');
  const since = '2026-11-01T06:00:00.000Z';
  stored.days[day].claim = { attempt: 'a', runId: 'other', at: since };
  writeFileSync(ledger, JSON.stringify(stored));
  const holder = { run: 'other', name: 'laptop/7', since };
  writeFileSync(join(lake, 'leases/acme.json'), JSON.stringify({ holder, recentWrites: [] }));
  for (const args of [
    ['rebuild', 'transactions', '--from', day, '--to', day],
    ['erase', 'transactions', '--brand', 'acme', '--from', day, '--to', day, '--yes'],
  ]) {
    const { code, stdout, stderr } = await runCli([...args, ...inLake]);
    const text = expect.stringContaining(`another run is reading days of acme (laptop/7, since ${since})`);
    expect({ args, code, text: stdout + stderr }).toEqual({ args, code: 4, text });
  }
  await unregister();
});
