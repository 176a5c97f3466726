/** The questions of docs/how-to/common-questions.md have the same answers whatever a service calls its fields. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { query, resultObjects } from '../../cli/query-result.ts';
import { createSqlConnection } from '../../cli/sql-tables.ts';
import { openLocalStore } from '../../shared/adapters/local/store.ts';
import type { JsonObject } from '../../shared/json.ts';
import { reports } from '../../shared/reports/index.ts';
import { loadSettings } from '../../shared/settings/settings.ts';
import { runCli } from '../cli/run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from '../cli/sample-brand.ts';

interface Reading {
  order: (order: JsonObject) => JsonObject;
  transaction: (transaction: JsonObject) => JsonObject;
  reports?: object;
}

const READINGS: Readonly<Record<string, Reading>> = {
  'the names of the interface': { order: (order) => order, transaction: (transaction) => transaction },
  'other known names': {
    order: ({ amount = null, commission = null, status = null, ...rest }) => ({
      ...rest,
      ...{ order_amount: amount, sale_commission: commission, orderStatus: status },
    }),
    transaction: ({ commission = null, publisher_id = null, ...rest }) => ({
      ...rest,
      ...{ commission_amount: commission, affiliate_id: publisher_id },
    }),
  },
  'nested fields and names of its own': {
    order: ({ amount = null, commission = null, status = null, ...rest }) => ({
      ...rest,
      ...{ money: { sum: amount, due: commission }, stage: status },
    }),
    transaction: ({ commission = null, publisher_id = null, ...rest }) => ({
      ...rest,
      ...{ money: { due: commission }, aff: publisher_id },
    }),
    reports: {
      order_list: { fields: { amount: 'money.sum', commission: 'money.due', state: 'stage' } },
      transaction_list: { fields: { commission: 'money.due', publisher_id: 'aff' } },
    },
  },
};

/** Depends on the day of the month, on what changed, or on what is odd. */
const MAY_BE_EMPTY = [
  ...['Commission owed this month', 'Orders of last month that were voided this month', 'Days with findings'],
  'Changes since a month was closed',
];

let sample: SampleBrandForCli;
const questions = new Map<string, string>();
beforeAll(async () => {
  const text = await readFile('docs/how-to/common-questions.md', 'utf8');
  for (const [, title = '', sql = ''] of text.matchAll(/^## (.+)\n\n```sql\n([^`]+)\n```/gm))
    questions.set(title, sql);
  // Last week, on any day of this week.
  sample = await serveSampleBrand({ daysBefore: 14 });
  // A record that appeared between two readings would be a difference.
  const nowMs = Date.now();
  for (const { records } of Object.values(sample.service.brands))
    for (const all of Object.values(records))
      all.splice(0, all.length, ...all.filter(({ at }) => at <= nowMs));
});
afterAll(() => sample.close());

type Held = readonly { at: number; record: JsonObject }[];

async function answersTo(
  name: string,
  { order, transaction, reports: own = {} }: Reading,
  held: { orders: Held; transactions: Held },
) {
  const { acme } = sample.service.brands;
  if (!acme) throw new Error('the sample has no brand acme');
  acme.records.order_list = held.orders.map(({ at, record }, index) => ({
    at,
    record: order({ ...record, customer_id: `c${index % 40}` }),
  }));
  acme.records.transaction_list = held.transactions.map(({ at, record }) => ({
    at,
    record: transaction(record),
  }));
  const [, first = ''] = sample.flags;
  const { brands } = JSON.parse(await readFile(first, 'utf8'));
  const file = await sample.writeSettings(`${name}.json`, {
    brands: { acme: { ...brands.acme, reports: own } },
  });
  const lake = join(sample.folder, name);
  const flags = ['--settings', file, '--lake', lake, ...sample.flags.slice(2, 4)];
  expect(await runCli(['sync', ...flags])).toMatchObject({ code: 0 });
  const settings = loadSettings(await readFile(file, 'utf8'), file, reports);
  const answers: Record<string, object[]> = {};
  for (const [title, sql] of questions) {
    const sqlLake = { store: openLocalStore(lake), reports, settings, nowMs: Date.now() };
    const connection = await createSqlConnection(sqlLake, sql);
    answers[title] = await Array.fromAsync(resultObjects(await query(connection, sql)));
    connection.closeSync();
  }
  return answers;
}

describe('the questions of the first month', () => {
  it('have the same answers on three readings of field names', async () => {
    expect(questions.size).toBe(12);
    const { order_list: orders, transaction_list: transactions } = sample.service.brands.acme?.records ?? {};
    if (!orders || !transactions) throw new Error('the sample has no orders');
    const all: Record<string, object[]>[] = [];
    for (const [index, reading] of Object.values(READINGS).entries())
      all.push(await answersTo(`reading-${index}`, reading, { orders, transactions }));
    const [documented = {}, ...others] = all;
    const empty = Object.keys(documented).filter((title) => documented[title]?.length === 0);
    expect(MAY_BE_EMPTY).toEqual(expect.arrayContaining(empty));
    for (const [index, other] of others.entries())
      expect([Object.keys(READINGS)[index + 1], other]).toEqual([
        Object.keys(READINGS)[index + 1],
        documented,
      ]);
  });
});
