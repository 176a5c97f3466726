import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { runCli } from './run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from './sample-brand.ts';

let sample: SampleBrandForCli;
beforeAll(async () => {
  sample = await serveSampleBrand();
  expect((await runCli(['sync', ...sample.flags])).code).toBe(0);
});
afterAll(() => sample.close());

it('sync names a damaged ledger, repair lists it, and --apply rebuilds it', async () => {
  const inLake = ['--lake', sample.lake];
  const folder = join(sample.lake, 'ledger/order_list/acme');
  const [ledger = ''] = readdirSync(folder).filter((name) => /^\d/.test(name));
  const counted = () => runCli(['query', '--json', ...inLake, 'SELECT count(*) AS n FROM orders']);
  const before = (await counted()).stdout;
  writeFileSync(join(folder, ledger), '{"version":');
  expect((await runCli(['sync', 'order_list', ...sample.flags])).stderr).toContain('brand-reports repair');

  const listed = await runCli(['repair', ...inLake]);
  expect([listed.code, listed.stdout]).toEqual([
    1,
    expect.stringMatching(/order_list.*\n.*wrong: it is not JSON\n.*proposed: [\s\S]*--apply/),
  ]);
  expect(readFileSync(join(folder, ledger), 'utf8')).toBe('{"version":');

  const applied = await runCli(['repair', ...inLake, '--apply', '--json']);
  expect(applied.code).toBe(0);
  const { status, documents } = JSON.parse(applied.stdout);
  expect([status, documents.length]).toEqual(['repaired', 1]);
  expect(readFileSync(join(sample.lake, documents[0].copy), 'utf8')).toBe('{"version":');
  expect((await counted()).stdout).toBe(before);

  expect((await runCli(['sync', 'order_list', ...sample.flags])).code).toBe(0);
  expect((await counted()).stdout).toBe(before);
  expect((await runCli(['verify', ...inLake])).code).toBe(0);
  expect((await runCli(['repair', ...inLake])).stdout).toContain('ok');
}, 120_000);
