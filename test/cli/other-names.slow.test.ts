/** A service with names of its own: what `init` writes makes the views equal the service's records, to the cent. */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type JsonObject, numberText } from '../../shared/json.ts';
import { addDays, dayOf, startOfDay } from '../../shared/days.ts';
import { reports } from '../../shared/reports/index.ts';
import { type BrandSettings, loadSettings } from '../../shared/settings/settings.ts';
import { runCli } from './run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from './sample-brand.ts';

const ZONE = 'America/New_York';
const cents = (value: JsonObject[string] | undefined) =>
  Math.round(100 * Number(typeof value === 'string' ? value : (numberText(value) ?? 0)));
const text = (sum: number) => (sum / 100).toFixed(9);

interface Truth {
  publisher: string;
  currency: string;
  state: string;
  isBonus: boolean;
  amount: number;
  commission: number;
}

let sample: SampleBrandForCli;
let cwd: string;
let flags: string[];
let firstClicks: string;
let own: BrandSettings | undefined;
const orders: Truth[] = [];
const transactions: Truth[] = [];

/** `orderNo`, `saleAmt`, `comm`, `curr`, `st`, `publisher: {id, name}`, `kind`, beside fields that look like them. */
function orderOf(
  { transid = null, amount = null, commission = null, status = null, ...rest }: JsonObject,
  index: number,
) {
  const { publisher_id = null, publisher_name = null, create_time = null, type } = rest;
  const curr = index % 3 === 0 ? 'EUR' : 'USD';
  const isBonus = type === 'bonus';
  orders.push({
    ...{ publisher: String(publisher_id), currency: curr, state: String(status), isBonus },
    ...{ amount: cents(amount), commission: cents(commission) },
  });
  return {
    ...{
      orderNo: transid,
      customerNo: `c${index % 40}`,
      saleAmt: amount,
      taxAmt: 1.5,
      comm: commission,
      commRate: 0.08,
    },
    ...{ curr, country: 'US', st: status, kind: isBonus ? 'placement_bonus' : 'sale', placed: create_time },
    publisher: { id: publisher_id, name: publisher_name, tier: 'gold' },
  };
}

/** `txn_id`, `order_no`, `comm_value`, `pub`, and amounts as text. */
function transactionOf(
  { order_id = null, sku = null, sku_status = null, ...rest }: JsonObject,
  index: number,
) {
  const {
    sale_amount = null,
    commission = null,
    publisher_id = null,
    created_at = null,
    transaction_type,
  } = rest;
  const isBonus = transaction_type === 'bonus';
  transactions.push({
    ...{ publisher: String(publisher_id), currency: 'USD', state: String(sku_status), isBonus },
    ...{ amount: cents(sale_amount), commission: cents(commission) },
  });
  return {
    ...{ txn_id: `t${index}`, order_no: order_id, item: sku, st: sku_status, pub: publisher_id, ccy: 'usd' },
    ...{ comm_value: numberText(commission) ?? null, sale_value: numberText(sale_amount) ?? null },
    ...{ kind: isBonus ? 'bonus' : 'normal', ordered_at: created_at },
  };
}

beforeAll(async () => {
  sample = await serveSampleBrand({ daysBefore: 12 });
  const { records } = sample.acme;
  const isRead = ({ at }: { at: number }) => at <= Date.now() && dayOf(at, ZONE) >= sample.firstDay;
  records.order_list = records.order_list
    .filter(isRead)
    .map(({ at, record }, index) => ({ at, record: orderOf(record, index) }));
  records.transaction_list = records.transaction_list
    .filter(isRead)
    .map(({ at, record }, index) => ({ at, record: transactionOf(record, index) }));
  firstClicks = addDays(sample.today, -4);
  records.clicks_list = records.clicks_list.filter(
    ({ at }) => at >= startOfDay(firstClicks, ZONE) && at <= Date.now(),
  );
  cwd = join(sample.folder, 'own');
  mkdirSync(cwd);
  const [, , , credentials = ''] = sample.flags;
  const answers = {
    'base-url': sample.acme.baseUrl,
    service: sample.service.serviceName,
    brand: 'acme',
    'start-date': sample.firstDay,
    credentials,
    'time-zone': ZONE,
  };
  const given = Object.entries(answers).flatMap(([name, value]) => [`--${name}`, value]);
  const { code, stdout } = await runCli(['init', ...given], { cwd });
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('Written: settings.jsonc') });
  own = loadSettings(readFileSync(join(cwd, 'settings.jsonc'), 'utf8'), 'it', reports).brands.acme;
  flags = ['--settings', 'settings.jsonc', '--credentials', credentials];
});
afterAll(() => sample.close());

/** By publisher and currency, and by state if it is wanted: the sum of these values. */
function sums(rows: readonly Truth[], measured: (row: Truth) => number, of: (row: Truth) => string) {
  const found = new Map<string, number>();
  for (const row of rows) found.set(of(row), (found.get(of(row)) ?? 0) + measured(row));
  return Object.fromEntries([...found].map(([key, sum]) => [key, text(sum)]));
}

async function query(sql: string): Promise<Record<string, string>> {
  const { stdout, stderr } = await runCli(['query', '--json', ...flags.slice(0, 2), sql], { cwd });
  // The names of publishers are in orders alone.
  expect(stderr).toMatch(/^note: settings of acme: [0-9a-f]{8}, since \S+\n(note: .* publisher_name .*\n)?$/);
  return Object.fromEntries(JSON.parse(stdout).map(({ key, value }: Record<string, string>) => [key, value]));
}

const byPublisher = ({ publisher, currency }: Truth) => `${publisher} ${currency}`;
const counts = ({ state, commission }: Truth) => (state === 'void' ? 0 : commission);

describe('the settings that init wrote', () => {
  it('name the field of every role, with the evidence, and the first day with clicks', async () => {
    expect(own?.reports.order_list?.fields).toEqual({
      ...{
        amount: 'saleAmt',
        commission: 'comm',
        currency: 'curr',
        state: 'st',
        order_id: 'orderNo',
        created: 'placed',
      },
      ...{ publisher_id: 'publisher.id', publisher_name: 'publisher.name' },
    });
    expect(own?.reports.transaction_list?.fields).toEqual({
      ...{ commission: 'comm_value', currency: 'ccy', state: 'st' },
      ...{ publisher_id: 'pub', order_id: 'order_no', product: 'item', created: 'ordered_at' },
    });
    expect(own?.reports.order_list?.kinds).toContain('placement_bonus');
    expect(own?.reports.clicks_list?.startDate).toBe(firstClicks);
    const { code, stdout } = await runCli(['check', ...flags], { cwd });
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.not.stringContaining('required') });
  });

  it('make the sums of the views those of the service', async () => {
    expect(await runCli(['sync', ...flags], { cwd })).toMatchObject({ code: 0 });
    const performance = (column: string) =>
      query(`SELECT publisher_id || ' ' || currency AS key, CAST(sum(${column}) AS varchar) AS value FROM publisher_performance
        WHERE currency IS NOT NULL GROUP BY 1 ORDER BY 1`);
    const amount = (row: Truth) => (row.isBonus || row.state === 'void' ? 0 : row.amount);
    expect(await performance('commission')).toEqual(sums(orders, counts, byPublisher));
    expect(await performance('amount')).toEqual(sums(orders, amount, byPublisher));
    expect(
      await query(
        "SELECT publisher_id || ' ' || currency AS key, CAST(sum(commission) AS varchar) AS value FROM payouts WHERE report = 'transactions' GROUP BY 1 ORDER BY 1",
      ),
    ).toEqual(sums(transactions, counts, byPublisher));
    expect(
      await query(
        "SELECT publisher_id || ' ' || currency || ' ' || state AS key, CAST(sum(commission) AS varchar) AS value FROM commission_due GROUP BY 1 ORDER BY 1",
      ),
    ).toEqual(
      sums(
        transactions,
        (row) => row.commission,
        (row) => `${byPublisher(row)} ${row.state}`,
      ),
    );
  });

  it('show no day before the first click as complete', async () => {
    const { stdout } = await runCli(['status', '--json', ...flags.slice(0, 2)], { cwd });
    const { tables } = JSON.parse(stdout);
    const first = (name: string) => tables.find(({ table }: { table: string }) => table === name).days[0].dt;
    expect([first('clicks'), first('orders')]).toEqual([firstClicks, sample.firstDay]);
  });
});

it('check fails before the first sync if no field has a role that sums need', async () => {
  const { records } = sample.acme;
  const before = records.order_list;
  records.order_list = before.map(({ at, record: { comm: _comm, ...record } }) => ({ at, record }));
  const { code, stdout } = await runCli(['check', 'orders', ...flags], { cwd });
  records.order_list = before;
  const line = /! required: none of 100 records has comm \(commission\)/;
  expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringMatching(line) });
});
