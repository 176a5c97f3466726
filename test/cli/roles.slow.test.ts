import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../shared/base/json.ts';
import { runCli } from './run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from './sample-brand.ts';

/** A service's names for the fields of an order, and the settings that it needs. */
interface Reading {
  record: (order: JsonObject) => JsonObject;
  fields?: Record<string, string | null>;
}

let sample: SampleBrandForCli;
let orders: SampleBrandForCli['service']['brands'][string]['records']['order_list'];
beforeAll(async () => {
  sample = await serveSampleBrand({ daysBefore: 1 });
  orders = sample.acme.records.order_list.map(({ at, record }, index) => ({
    at,
    record: { ...record, currency: index % 3 === 0 ? 'EUR' : 'USD' },
  }));
});
afterAll(() => sample.close());

async function synced(name: string, { record, fields = {} }: Reading): Promise<string[]> {
  sample.acme.records.order_list = orders.map((held) => ({ at: held.at, record: record(held.record) }));
  const [, settingsFile = ''] = sample.flags;
  const { brands } = JSON.parse(await readFile(settingsFile, 'utf8'));
  const own = { ...brands.acme, reports: { order_list: { fields } } };
  const file = await sample.writeSettings(`${name}.json`, { brands: { acme: own } });
  const flags = ['--settings', file, '--lake', join(sample.folder, name)];
  const { code, stderr } = await runCli(['sync', 'order_list', ...flags, ...sample.flags.slice(2, 4)]);
  expect([code, stderr]).toEqual([0, stderr]);
  return flags;
}

describe('a currency of another name', () => {
  const unit = {
    record: ({ currency, ...rest }: JsonObject) => ({ ...rest, payout_unit: currency ?? null }),
  };

  it('makes amounts NULL until the settings name its role', async () => {
    const flags = await synced('unit', unit);
    const sums =
      'SELECT currency, CAST(sum(commission) AS varchar) AS commission FROM orders_daily GROUP BY currency ORDER BY 1';
    const before = await runCli(['query', '--json', ...flags, sums]);
    expect(JSON.parse(before.stdout)).toEqual([{ currency: null, commission: null }]);
    expect(before.stderr).toMatch(
      /amounts are NULL in orders_daily.*"fields": \{ "currency": "payout_unit" \}/,
    );
    const days = JSON.parse((await runCli(['status', '--json', ...flags])).stdout).tables.find(
      ({ table }: { table: string }) => table === 'orders',
    );
    expect(days.days.every((day: object) => !('totals' in day))).toBe(true);
    await synced('unit', { ...unit, fields: { currency: 'payout_unit' } });
    const after = JSON.parse((await runCli(['query', '--json', ...flags, sums])).stdout);
    expect(after.map(({ currency }: JsonObject) => currency)).toEqual(['EUR', 'USD']);
  });
});

describe('a service whose orders have no state', () => {
  const record = ({ status: _status, ...rest }: JsonObject) => rest;
  const UNKNOWN: Readonly<Record<string, string>> = {
    payouts: 'commission, final, may_change, void, reversed_after_paid, may_move_high',
    publisher_performance: 'amount, commission, commission_void, bonus, orders_void',
    unsettled: 'orders_commission',
  };

  it.each<[string, Reading['fields'], note: RegExp]>([
    [
      'before the settings decide',
      {},
      /no field has the role state \(no column has one of its names\), so it is NULL in/,
    ],
    ['by its settings', { state: null }, /no field has the role state \(by its settings\), so it is NULL in/],
  ])('has no sum of what counts, and each outlet explains why: %s', async (name, fields, note) => {
    const flags = await synced(name.replaceAll(' ', '-'), { record, fields });
    for (const [view, columns] of Object.entries(UNKNOWN)) {
      const sql = `SELECT ${columns}, unknown_amounts > 0 AS is_counted FROM ${view} WHERE brand = 'acme'${view === 'publisher_performance' ? ' AND orders > 0' : ''}`;
      const { stdout, stderr } = await runCli(['query', '--json', ...flags, sql]);
      const rows: JsonObject[] = JSON.parse(stdout);
      expect(rows).not.toEqual([]);
      for (const { is_counted: isCounted, ...sums } of rows)
        expect([isCounted, ...Object.values(sums)]).toEqual([true, ...columns.split(', ').map(() => null)]);
      expect(stderr).toMatch(note);
      expect(stderr).toMatch(new RegExp(`NULL in ${view}\\b`));
    }
    const month = sample.today.slice(0, 7);
    const dbt = join(sample.folder, `${name.length}-dbt`);
    const { stdout } = await runCli(['statement', ...flags, '--month', month]);
    expect(stdout).toMatch(note);
    expect(stdout).toMatch(/^unknown amounts: \d+, /m);
    for (const args of [['open'], ['dbt', 'init', dbt]])
      expect((await runCli([...args, ...flags])).stderr).toMatch(note);
  });
});
