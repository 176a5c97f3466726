import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ReportName, recordsOfDay, restate } from '../../sample/brand.ts';
import { HOUR_MS, endOfDay, startOfDay } from '../../shared/base/days.ts';
import { type JsonObject, numberText } from '../../shared/base/json.ts';
import { coverageOf, ledgerEntry, requestsOf, wrongReports } from './lake-contents.ts';
import { NO_TIME, type SampleLake, ZONE, sampleLake, syncUntilComplete } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const FIRST = '2026-03-09';
const PAGE = 3;

const sample = sharedLakes({
  now: '2026-03-10T15:00:00Z',
  startDate: FIRST,
  clicksPerDay: 20,
  interpretations: { pageCap: PAGE },
});

const scopeOf = (report: ReportName) => ({ reports: [report], from: FIRST, to: FIRST });
const wrong = (lake: SampleLake, report: ReportName) =>
  wrongReports({ ...lake, startDate: FIRST }, FIRST, [report]);

/** Sorts the day's records as the service pages them, and gives the record at each place the id of another record. */
function giveIds(lake: SampleLake, report: ReportName, field: string, ids: Record<number, number>): void {
  restate(lake.brand, report, FIRST, (held) => {
    const paged = held.toSorted((a, b) => (digits(a.record[field]) < digits(b.record[field]) ? -1 : 1));
    return paged.map((one, place) => {
      const other = paged[ids[place] ?? place];
      return { ...one, record: { ...one.record, [field]: other?.record[field] ?? null } };
    });
  });
}

function digits(value: Parameters<typeof numberText>[0] | undefined): string {
  return (typeof value === 'string' ? value : (numberText(value) ?? '')).padStart(30, '0');
}

/** How often the first page of the day was requested during `sync`. */
async function passesDuring(lake: SampleLake, report: ReportName, act: () => Promise<unknown>) {
  const before = requestsOf(lake, report).length;
  await act();
  return requestsOf(lake, report)
    .slice(before)
    .filter(({ fields: { first, page_number, start_time, end_time } }) => {
      const page = numberText(first ?? page_number) === (report === 'clicks_list' ? '0' : '1');
      return page && numberText(start_time) !== numberText(end_time);
    }).length;
}

describe('different records with one key', () => {
  it.each<[string, ReportName, string, Record<number, number>]>([
    ['orders on both sides of a page boundary', 'order_list', 'transid', { [PAGE]: PAGE - 1 }],
    ['orders on one page', 'order_list', 'transid', { [PAGE + 1]: PAGE }],
    ['clicks on both sides of a page boundary', 'clicks_list', 'id', { [PAGE]: PAGE - 1 }],
    ['clicks on one page', 'clicks_list', 'id', { [PAGE + 2]: PAGE + 1 }],
    ['clicks of different pages', 'clicks_list', 'id', { [3 * PAGE]: 0 }],
  ])('I1: all stay, wherever a page ends: %s', async (_name, report, field, ids) => {
    const lake = sample.emptyLake();
    const scope = scopeOf(report);
    giveIds(lake, report, field, ids);
    expect((await lake.sync({ scope })).status).toBe('complete');
    expect(await wrong(lake, report)).toEqual({});
  });

  it('I1: are read twice before that, and once from the next reading on', async () => {
    const lake = sample.emptyLake();
    const scope = scopeOf('order_list');
    giveIds(lake, 'order_list', 'transid', { [PAGE]: PAGE - 1 });
    expect(await passesDuring(lake, 'order_list', () => lake.sync({ scope }))).toBe(2);
    expect((await ledgerEntry(lake, 'order_list', FIRST)).committed?.values?.keyIsNone).toBe(true);
    lake.nowMs += 60_000;
    expect(await passesDuring(lake, 'order_list', () => lake.sync({ scope }))).toBe(1);
    expect(await wrong(lake, 'order_list')).toEqual({});
  });

  it.each<ReportName>(['order_list', 'clicks_list'])(
    'I1: all stay if runs have little time: %s',
    async (report) => {
      const lake = sample.emptyLake();
      giveIds(lake, report, report === 'clicks_list' ? 'id' : 'transid', { [PAGE]: PAGE - 1 });
      await syncUntilComplete(lake, { scope: scopeOf(report), deadline: NO_TIME });
      expect(await wrong(lake, report)).toEqual({});
    },
  );
});

describe('a record that changes while its day is paged', () => {
  it('I1: is published once, in its latest form', async () => {
    const lake = sample.emptyLake();
    let changes = 0;
    const removeFault = lake.service.addFault({
      on: {
        action: 'report/order_list',
        when({ fields }) {
          if (numberText(fields.page_number) !== '2' || changes > 0) return false;
          changes += 1;
          // A new first order moves the last order of the first page to the second, and changes it there.
          const [first] = recordsOfDay(lake.brand, 'order_list', FIRST);
          const ids = recordsOfDay(lake.brand, 'order_list', FIRST).map(({ transid }) => digits(transid));
          const moved = ids.toSorted()[PAGE - 1];
          restate(lake.brand, 'order_list', FIRST, (held) => [
            ...held.map((one) =>
              digits(one.record.transid) === moved
                ? { ...one, record: { ...one.record, status: 'altered' } }
                : one,
            ),
            { at: held[0]?.at ?? 0, record: { ...first, transid: '1' } },
          ]);
          return false;
        },
      },
      fault: { kind: 'html' },
    });
    expect((await lake.sync({ scope: scopeOf('order_list') })).status).toBe('complete');
    removeFault();
    expect(changes).toBe(1);
    expect(await wrong(lake, 'order_list')).toEqual({});
    expect((await ledgerEntry(lake, 'order_list', FIRST)).committed?.values?.keyIsNone).toBeUndefined();
  });
});

/** An order of the day and one of the next day that has its transid. */
interface NearEnd {
  endTime: 'inclusive' | 'auto';
  /** The place of the day's order among all orders of the day, as they are paged. */
  place: number;
  /** The order's time, in milliseconds from the day's end; by default, its original time. */
  ownMs?: number;
  /** The time of the other order. */
  otherMs: number;
}

async function lakeWithOrders({ endTime, place, ownMs, otherMs }: NearEnd): Promise<SampleLake> {
  const lake = await sampleLake({
    now: '2026-03-10T15:00:00Z',
    startDate: FIRST,
    clicksPerDay: 20,
    interpretations: {
      pageCap: PAGE,
      endTime: 'inclusive',
      equalTimes: endTime === 'auto' ? 'answered' : 'refused',
    },
    brandSettings: { endTime },
  });
  const end = endOfDay(FIRST, ZONE);
  const orders = lake.brand.records.order_list;
  for (const [index, held] of orders.entries())
    held.record = { ...held.record, transid: `T${10_000 + index}` };
  const paged = orders.filter(({ at }) => at < end);
  const own = paged.toSorted((a, b) => (digits(a.record.transid) < digits(b.record.transid) ? -1 : 1))[place];
  if (!own) throw new Error('the day has too few orders');
  if (ownMs !== undefined) own.at = end + ownMs;
  // If a query covers only the last seconds, a page ends between the two orders.
  const before = ownMs === undefined ? [] : ['1', '2'];
  orders.push(...before.map((transid) => ({ at: own.at, record: { ...own.record, transid } })));
  orders.push({ at: end + otherMs, record: { ...own.record, product: 'the other order' } });
  return lake;
}

describe('an order of the day and one of the next day with its transid', () => {
  let lake: SampleLake;
  afterEach(() => lake.close());

  it.each<[string, NearEnd]>([
    ['the other at midnight, on another page', { endTime: 'auto', place: PAGE - 1, otherMs: 0 }],
    ['the other at midnight, on the same page', { endTime: 'auto', place: PAGE - 2, otherMs: 0 }],
    [
      'a second before midnight and one after, endTime inclusive',
      { endTime: 'inclusive', place: 0, ownMs: -1000, otherMs: 1000 },
    ],
    [
      'a second before midnight and at midnight, endTime inclusive',
      { endTime: 'inclusive', place: 0, ownMs: -1000, otherMs: 0 },
    ],
  ])('I1: each stays in its day: %s', async (_name, orders) => {
    lake = await lakeWithOrders(orders);
    expect((await lake.sync({ scope: scopeOf('order_list') })).status).toBe('complete');
    expect(await wrong(lake, 'order_list')).toEqual({});
  });
});

describe('an order of the next day that changes before it is excluded', () => {
  it('I1: is excluded by the second reading', async () => {
    const lake = sample.emptyLake();
    const end = endOfDay(FIRST, ZONE);
    const order = { at: end, record: { transid: '5', status: 'new' } };
    lake.brand.records.order_list.push(order);
    const asksForTheEnd = ({ fields }: { fields: JsonObject }) =>
      numberText(fields.start_time) === String(end / 1000);
    const removeFault = lake.service.addFault({
      on: {
        when(request) {
          if (asksForTheEnd(request)) order.record = { ...order.record, status: 'paid' };
          return false;
        },
      },
      fault: { kind: 'html' },
    });
    const sync = () => lake.sync({ scope: scopeOf('order_list') });
    expect(await passesDuring(lake, 'order_list', sync)).toBe(2);
    removeFault();
    expect(await wrong(lake, 'order_list')).toEqual({});
    expect((await ledgerEntry(lake, 'order_list', FIRST)).committed?.values?.keyIsNone).toBeUndefined();
  });
});

describe('clicks with new ids in every response, on overlapping pages', () => {
  let lake: SampleLake;
  beforeEach(async () => {
    lake = await sampleLake({
      now: '2026-03-10T15:00:00Z',
      recordsTo: '2026-03-11T06:00:00Z',
      startDate: FIRST,
      clicksPerDay: 60,
      interpretations: { pageCap: PAGE },
      reports: ['clicks_list'],
    });
    lake.service.addFault({
      on: {
        when() {
          for (const held of lake.brand.records.clicks_list)
            held.record = { ...held.record, served: lake.service.requests.length };
          return false;
        },
      },
      fault: { kind: 'html' },
    });
  });
  afterEach(() => lake.close());

  async function expectOnce(day: string) {
    const { committed } = await ledgerEntry(lake, 'clicks_list', day);
    const held = lake.brand.records.clicks_list.filter(
      ({ at }) => startOfDay(day, ZONE) <= at && at < Math.min(endOfDay(day, ZONE), lake.nowMs),
    );
    expect([committed?.rows, committed?.values?.keyIsNone]).toEqual([held.length, undefined]);
  }

  it('I1: are published once after every reading of a closed day', async () => {
    const scope = scopeOf('clicks_list');
    for (let reading = 0; reading < 2; reading += 1) {
      expect((await lake.sync({ scope })).status).toBe('complete');
      await expectOnce(FIRST);
      lake.nowMs += HOUR_MS;
    }
  });

  it('I1: are published once if runs have little time', async () => {
    await syncUntilComplete(lake, { scope: scopeOf('clicks_list') });
    await expectOnce(FIRST);
  });

  it('I1: are published once after every slice of the open day, and after it is closed', async () => {
    const open = '2026-03-10';
    for (let slice = 0; slice < 4; slice += 1) {
      expect((await lake.sync()).status).toBe('complete');
      await expectOnce(open);
      lake.nowMs += HOUR_MS;
    }
    lake.nowMs = endOfDay(open, ZONE) + HOUR_MS;
    await lake.sync();
    await expectOnce(open);
  });
});

describe('a key of the settings that identifies no record', () => {
  it.each<[string, ReportName, string | string[], RegExp]>([
    ['misspelt', 'order_list', 'transids', /^no record has "transids" \(fields: amount, /],
    ['a field of two misspelt', 'transaction_list', ['order_id', 'skus'], /^no record has "skus" \(fields: /],
    [
      'twice on a page',
      'transaction_list',
      'amazon_country',
      /^\d+ of \d+ records have no "amazon_country", or share it/,
    ],
    ['on two pages', 'order_list', 'transid', /^records with the same "transid" differ$/],
  ])('I1: drops nothing, and is a finding: %s', async (_name, report, key, problem) => {
    const lake = sample.emptyLake();
    if (key === 'transid') giveIds(lake, report, 'transid', { [PAGE]: PAGE - 1 });
    const brandSettings = { reports: { [report]: { key } } };
    expect((await lake.sync({ scope: scopeOf(report), brandSettings })).status).toBe('complete');
    expect(await wrong(lake, report)).toEqual({});
    const { committed } = await ledgerEntry(lake, report, FIRST);
    expect(committed?.values?.keyUnused).toMatch(problem);
    expect((await coverageOf(lake, report))[FIRST]?.findings).toBe(
      `key_unused (${committed?.values?.keyUnused})`,
    );
    lake.nowMs += HOUR_MS;
    await lake.sync({ scope: scopeOf(report), brandSettings: { reports: { [report]: { refresh: [] } } } });
    expect((await ledgerEntry(lake, report, FIRST)).committed?.values?.keyUnused).toBeUndefined();
  });
});
