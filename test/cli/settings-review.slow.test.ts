import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { monthOf } from '../../shared/base/days.ts';
import type { JsonObject } from '../../shared/base/json.ts';
import { runCli } from './run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from './sample-brand.ts';

let sample: SampleBrandForCli;

beforeAll(async () => {
  sample = await serveSampleBrand({ daysBefore: 3 });
  const synced = await runCli(['sync', 'order_list', 'transaction_list', ...sample.flags]);
  expect({ code: synced.code, stderr: synced.stderr }).toMatchObject({ code: 0 });
});
afterAll(() => sample.close());

/** A file of settings with this setting of a report changed. */
async function settingsWith(name: string, report: string, own: JsonObject): Promise<string> {
  const { brands } = JSON.parse(await readFile(join(sample.folder, 'settings.json'), 'utf8'));
  const changed = { ...brands.acme, reports: { ...brands.acme.reports, [report]: own } };
  return sample.writeSettings(name, { brands: { acme: changed } });
}

async function filesOfLake(): Promise<string[]> {
  return (await readdir(sample.lake, { recursive: true })).sort();
}

async function review(settings: string) {
  const { code, stdout } = await runCli(['diff', '--settings', settings, '--json', '--lake', sample.lake]);
  expect(code).toBe(0);
  return JSON.parse(stdout);
}

describe('diff --settings', () => {
  it('finds nothing for the settings of the lake', async () => {
    const found = await review(join(sample.folder, 'settings.json'));
    expect(found).toMatchObject({ changes: [], daysToRead: [] });
    expect(found.brands).toEqual([
      {
        brand: 'acme',
        hash: found.brands[0].lakeHash,
        lakeHash: expect.stringMatching(/^[0-9a-f]{8}$/),
        lakeSince: expect.any(String),
      },
    ]);
  });

  it('lists each payout that other words would change, and writes nothing', async () => {
    const words = Object.fromEntries(['new', 'locked', 'effective', 'paid'].map((word) => [word, 'void']));
    const settings = await settingsWith('void.json', 'transaction_list', { states: { words } });
    const before = await filesOfLake();
    const { brands, changes, daysToRead } = await review(settings);
    expect(brands[0].hash).not.toBe(brands[0].lakeHash);
    expect(daysToRead).toEqual([]);
    const sql =
      'SELECT brand, month, publisher_id, currency, commission, void FROM payouts WHERE commission <> 0 ORDER BY ALL';
    const query = (file: string) =>
      runCli(['query', '--json', '--settings', file, '--lake', sample.lake, sql]);
    const rows = JSON.parse((await query(join(sample.folder, 'settings.json'))).stdout);
    expect(rows.length).toBeGreaterThan(1);
    expect(changes).toHaveLength(rows.length);
    for (const { before: old, after } of changes) {
      expect(Number(after.commission)).toBe(0);
      expect(Number(after.void)).toBeCloseTo(Number(old.void) + Number(old.commission), 6);
    }
    expect(await filesOfLake()).toEqual(before);
    const { stdout } = await runCli(['diff', '--settings', settings, '--lake', sample.lake]);
    expect(stdout).toMatch(/^acme: settings [0-9a-f]{8} of .*; the lake has [0-9a-f]{8} since /);
    expect(stdout).toMatch(new RegExp(`^acme +${monthOf(sample.firstDay)} .* → 0 `, 'm'));
    expect(stdout).toMatch(/^No further day would be read\.$/m);
  });

  it('lists the days that a run would read again', async () => {
    const { changes, daysToRead } = await review(
      await settingsWith('key.json', 'order_list', { key: 'order_no' }),
    );
    expect(changes).toEqual([]);
    expect(daysToRead).toMatchObject([{ brand: 'acme', report: 'order_list', table: 'orders' }]);
    expect(daysToRead[0].days).toContain(sample.firstDay);
  });

  it('is refused with a day, and without both', async () => {
    for (const args of [['orders'], ['orders', sample.firstDay, '--settings', 'x.json'], []]) {
      const { code, stderr } = await runCli(['diff', ...args, '--lake', sample.lake]);
      expect([code, stderr]).toEqual([2, expect.stringMatching(/Name a report and a day, or new settings/)]);
    }
  });
});
