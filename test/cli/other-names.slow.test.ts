/** A service with names of its own: what `init` writes makes the views equal the service's records, to the cent. */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type JsonObject, numberText } from '../../shared/base/json.ts';
import { addDays, dayOf, startOfDay } from '../../shared/base/days.ts';
import { reports } from '../../shared/reports/index.ts';
import { type BrandSettings, loadSettings } from '../../shared/settings/settings.ts';
import { textOf } from '../docs/pages.ts';
import { runCli } from './run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from './sample-brand.ts';

const ZONE = 'America/New_York';
const cents = (value: JsonObject[string] | undefined) =>
  Math.round(100 * Number(typeof value === 'string' ? value : (numberText(value) ?? 0)));
const text = (sum: number) => (sum / 100).toFixed(9);

interface Truth {
  day: string;
  key: string;
  product: string;
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
  day: string,
) {
  const { publisher_id = null, publisher_name = null, create_time = null, type } = rest;
  const curr = index % 3 === 0 ? 'EUR' : 'USD';
  const isBonus = type === 'bonus';
  orders.push({
    ...{ day, key: String(transid), product: '' },
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
  day: string,
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
    ...{ day, key: `${String(order_id)}\u001f${String(sku)}`, product: String(sku) },
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
    .map(({ at, record }, index) => ({ at, record: orderOf(record, index, dayOf(at, ZONE)) }));
  records.transaction_list = records.transaction_list
    .filter(isRead)
    .map(({ at, record }, index) => ({ at, record: transactionOf(record, index, dayOf(at, ZONE)) }));
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

/** The rows of the SQL below a heading of the page. */
async function answered(heading: string): Promise<Record<string, string>[]> {
  const page = textOf('docs/how-to/common-questions.md');
  const section = page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? '';
  const [, sql = ''] = /```sql\n([^`]+)```|"\n(SELECT[^"]+)"/.exec(section)?.filter(Boolean) ?? [];
  const month = sql.replace(/'\d{4}-\d\d'/, `'${new Date().toISOString().slice(0, 7)}'`);
  const { stdout, stderr, code } = await runCli(['query', '--json', ...flags.slice(0, 2), month], { cwd });
  expect({ heading, code, stderr: code === 0 ? '' : stderr }).toEqual({ heading, code: 0, stderr: '' });
  return JSON.parse(stdout);
}

it('the SQL of common questions has the numbers of the service, also after paid transactions became void', async () => {
  const month = new Date().toISOString().slice(0, 7);
  const ofMonth = ({ day }: Truth) => day.startsWith(month);
  const reversed = transactions.filter(
    ({ day, state }) => day === addDays(sample.today, -2) && state === 'paid',
  );
  const before = transactions.map((row) => ({ ...row }));
  const { records } = sample.acme;
  for (const [index, row] of transactions.entries())
    if (reversed.includes(row)) {
      row.state = 'void';
      const held = records.transaction_list[index];
      if (held) held.record = { ...held.record, st: 'void' };
    }
  const range = ['--from', addDays(sample.today, -2), '--to', addDays(sample.today, -2)];
  expect(await runCli(['sync', 'transactions', ...range, ...flags], { cwd })).toMatchObject({ code: 0 });

  const read = async (heading: string, key: readonly string[], value: string) =>
    Object.fromEntries(
      (await answered(heading)).map((row) => [key.map((name) => row[name]).join(' '), Number(row[value])]),
    );
  const numbers = (found: Record<string, string>) =>
    Object.fromEntries(Object.entries(found).map(([key, sum]) => [key, Number(sum)]));
  const owed = numbers(sums(transactions.filter(ofMonth), counts, byPublisher));
  for (const heading of ['Commission by publisher and currency', 'Export a file for finance'])
    expect(await read(heading, ['publisher_id', 'currency'], 'commission')).toEqual(owed);
  const sold = transactions.filter((row) => ofMonth(row) && !row.isBonus && row.state !== 'void');
  const bySku = (row: Truth) => `${row.publisher} ${row.product} ${row.currency}`;
  expect(await read('Products by publisher', ['publisher_id', 'product', 'currency'], 'commission')).toEqual(
    numbers(sums(sold, counts, bySku)),
  );

  const total = (rows: readonly Truth[]) => rows.reduce((sum, { commission }) => sum + commission, 0);
  const paid = await answered('Voided after paid');
  expect(paid.reduce((sum, row) => sum + cents(row.commission), 0)).toBe(total(reversed));
  const keysOf = (rows: readonly Truth[]) => [...new Set(rows.map(({ key }) => key))].sort();
  const isWholeVoid = ({ key }: Truth) =>
    transactions.every((row) => row.key !== key || row.state === 'void');
  const isNews = (row: Truth) => ofMonth(row) || reversed.includes(row);
  const closed = transactions.filter(({ day, state }) => state === 'void' && day < sample.today);
  const voided = await answered('Voided this month');
  expect(
    voided
      .filter(({ dt = '' }) => dt < sample.today)
      .map(({ key = '' }) => key)
      .sort(),
  ).toEqual(keysOf(closed.filter((row) => isWholeVoid(row) && isNews(row))));
  const changed = await answered('Changed since Monday');
  expect(changed.map(({ key = '' }) => key).sort()).toEqual(
    before
      .filter(({ key }) => keysOf(reversed).includes(key))
      .map(({ key }) => key)
      .sort(),
  );

  const open = (rows: readonly Truth[], final: string) =>
    rows.filter(({ state }) => !['void', final].includes(state));
  const unsettled = await answered('Commission that may still change');
  for (const [column, rows] of [
    ['orders_commission', open(orders, 'effective')],
    ['transactions_commission', open(transactions, 'paid')],
  ] as const)
    expect(unsettled.reduce((sum, row) => sum + cents(row[column]), 0)).toBe(total(rows));
  const conversion = await answered('Conversion by channel');
  for (const of of new Set(conversion.map((row) => row.month))) {
    const [range] = conversion.filter((row) => row.month === of);
    const isIn = (day: string) => day >= `${range?.from_day}` && day <= `${range?.to_day}`;
    const rows = conversion.filter((row) => row.month === of);
    const summed = (column: string) => rows.reduce((sum, row) => sum + Number(row[column]), 0);
    expect(summed('clicks')).toBe(records.clicks_list.filter(({ at }) => isIn(dayOf(at, ZONE))).length);
    expect(summed('orders')).toBe(orders.filter(({ day, isBonus }) => isIn(day) && !isBonus).length);
  }
  expect((await answered('Is yesterday complete')).length).toBeGreaterThan(0);
  const selling = new Set(orders.filter(({ isBonus }) => !isBonus).map(({ publisher }) => publisher));
  const clicking = new Set(records.clicks_list.map(({ record }) => String(record.publisher_id ?? 'null')));
  expect((await answered('Clicks without a sale')).map((row) => String(row.publisher_id)).sort()).toEqual(
    [...clicking].filter((publisher) => !selling.has(publisher)).sort(),
  );
  const views = await answered('Attribution by product');
  const shown = records.amazon_attribution_report.filter(({ at }) => {
    const day = dayOf(at, ZONE);
    return day >= sample.firstDay && day.startsWith(month) && at <= Date.now();
  });
  expect(views.reduce((sum, { dpv }) => sum + Number(dpv), 0)).toBe(
    shown.reduce((sum, { record }) => sum + Number(numberText(record.dpv)), 0),
  );
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
