import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Json, type JsonObject, numberText } from '../../shared/json.ts';
import { type ReportLedgers, readLedgers } from '../../shared/lake/documents/read.ts';
import { mayChange } from '../../shared/planning/states.ts';
import { reports } from '../../shared/reports/index.ts';
import { tableStatuses } from '../../shared/status/table-statuses.ts';
import { ledgerEntry } from './lake-contents.ts';
import { type SampleLake, sampleLake } from './sample-lake.ts';

/* A service whose fields have other names than the interface suggests. The settings name them only after the first run. */
const DAY = '2026-02-27';
const STATES: Readonly<Record<string, string>> = { new: 'open', effective: 'ok', void: 'lost', paid: 'done' };
const words = { open: 'new', ok: 'effective', lost: 'void', done: 'paid' };
const wordOf = (state: Json | undefined) => STATES[String(state)] ?? 'open';

function orderOf(
  { transid, amount, commission, status, publisher_id, type }: JsonObject,
  index: number,
): JsonObject {
  const fields = {
    orderNo: transid ?? null,
    saleAmt: { value: amount ?? null },
    curr: 'EUR',
    st: wordOf(status),
  };
  // A field that was renamed in the middle of the day.
  const worth: JsonObject = { [index % 2 === 0 ? 'comm' : 'commissionValue']: commission ?? null };
  return {
    ...fields,
    ...worth,
    publisher: { id: publisher_id ?? null },
    category: type === 'bonus' ? 'EXTRA' : 'sale',
  };
}

const set = {
  fields: {
    ...{
      order_id: 'orderNo',
      amount: 'saleAmt.value',
      commission: ['comm', 'commissionValue'],
      currency: 'curr',
    },
    ...{ state: 'st', publisher_id: 'publisher.id', kind: 'category' },
  },
  kinds: ['extra'],
  states: { words },
};

let lake: SampleLake;
let orders: JsonObject[];
beforeAll(async () => {
  const off = { enabled: false };
  lake = await sampleLake({
    now: '2026-02-28T15:00:00Z',
    startDate: DAY,
    clicksPerDay: 12,
    brandSettings: {
      reports: { clicks_list: off, transaction_list: off, amazon_attribution_report: off },
    },
  });
  const held = lake.brand.records.order_list;
  lake.brand.records.order_list = held.map(({ at, record }, index) => ({
    at,
    record: orderOf(record, index),
  }));
  await lake.sync();
  const ofDay = held.filter(({ at }) => new Date(at - 5 * 3_600_000).toISOString().startsWith(DAY));
  orders = ofDay.map(({ record }) => record);
});

const settings = (own: JsonObject = {}) => lake.settings({ brandSettings: { reports: { order_list: own } } });

function dayOf(known: readonly ReportLedgers[], own: JsonObject) {
  const tables = tableStatuses(settings(own), reports, known, lake.nowMs);
  const of = tables.find(({ report }) => report === 'order_list');
  return of?.days.find(({ dt }) => dt === DAY);
}

function total(field: string, of: readonly JsonObject[]): number {
  return of.reduce((sum, record) => sum + Math.round(Number(numberText(record[field])) * 100), 0) / 100;
}

describe('fields that the settings name after a day was read', () => {
  it('decide which records can still change and which states are unknown, without another reading', async () => {
    const { committed } = await ledgerEntry(lake, 'order_list', DAY);
    if (!committed) throw new Error('the day was read');
    const all = { open: 'void', ok: 'effective', lost: 'void' } as const;
    const judged = [words, all].map((each) => mayChange(committed, { fields: { state: 'st' }, words: each }));
    expect(judged).toEqual([true, false]);
    expect(mayChange(committed, { fields: {}, words: all })).toBe(true);
    const known = await readLedgers(lake.store, reports);
    const findingsOf = (own: JsonObject) => dayOf(known, own)?.findings?.map(({ check }) => check) ?? [];
    expect(findingsOf({ fields: { state: 'st' } })).toEqual(['unknown_states']);
    expect(findingsOf({ fields: { amount: 'saleAmt', currency: 'curr' } })).toEqual(['unreadable_amounts']);
    expect(findingsOf(set)).toEqual([]);
  });

  it('have their sums by currency after the next reading', async () => {
    const known = async () => {
      const { totals, totalsPending } = dayOf(await readLedgers(lake.store, reports), set) ?? {};
      return { totals, totalsPending };
    };
    expect(await known()).toEqual({ totals: undefined, totalsPending: undefined });
    await lake.sync({ brandSettings: { reports: { order_list: set } }, scope: { from: DAY, to: DAY } });
    const [amount, commission] = ['amount', 'commission'].map(
      (field) => `${total(field, orders).toFixed(2)}0000000`,
    );
    expect(await known()).toEqual({ totals: { EUR: { amount, commission } }, totalsPending: undefined });
  });
});
