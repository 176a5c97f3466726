/** Tests the requests of later readings of a day, once earlier readings have shown how the service answers. */
import { afterAll, describe, expect, it } from '@jest/globals';
import type { Held, ReportName } from '../../sample/brand.ts';
import type { Interpretations } from '../../sample/interpretations.ts';
import { DAY_MS, HOUR_MS, addDays, dayOf, startOfDay } from '../../shared/base/days.ts';
import { type JsonObject, numberText } from '../../shared/base/json.ts';
import { ALL_FINAL } from '../fixtures/all-final.ts';
import { ledgerEntry, requestsOf, wrongReports } from './lake-contents.ts';
import { NO_TIME, type SampleLake, type SyncOptions, ZONE, sampleLake } from './sample-lake.ts';

const DAY = '2026-03-08';
const NEXT = addDays(DAY, 1);
const TODAY = '2026-03-12';
const NOW = `${TODAY}T15:00:00Z`;
const REPORTS: readonly ReportName[] = ['order_list', 'transaction_list'];
const ROWS = 30;
/** The next day has longer pages. */
const NEXT_ROWS = 50;

const lakes: SampleLake[] = [];
afterAll(() => Promise.all(lakes.map((lake) => lake.close())));

const orderAt = (at: number, number: number): Held => ({
  at,
  record: { transid: String(1000 + number), status: 'new', commission: number },
});
const transactionAt = (at: number, number: number): Held => ({
  at,
  record: { order_id: String(number), order_status: 'new' },
});

/** Records of two days, none of them at a day's first instant. */
function recordsOf(recordAt: typeof orderAt): Held[] {
  const of = (day: string, rows: number, from: number) =>
    Array.from({ length: rows }, (_, index) =>
      recordAt(startOfDay(day, ZONE) + (index + 1) * 600_000 + 7000, from + index),
    );
  return [...of(DAY, ROWS, 0), ...of(NEXT, NEXT_ROWS, 100)];
}

/** A record of the next day at the instant that ends the day. */
const AT_END = orderAt(startOfDay(NEXT, ZONE), 500);

function reportSettings(untilAgeDays: number, more: JsonObject = {}) {
  const settings = { refresh: [{ untilAgeDays, every: 'run' }], ...ALL_FINAL };
  return { order_list: { ...settings, ...more }, transaction_list: settings };
}

interface LakeOptions {
  /** Whether the service has an order of the next day at the instant that ends the day. */
  isAtEnd?: boolean;
  /** The age up to which every run reads a day. */
  untilAgeDays?: number;
  brandSettings?: JsonObject;
}

async function lakeWith(
  interpretations: Partial<Interpretations>,
  { isAtEnd = false, untilAgeDays = 30, brandSettings = {} }: LakeOptions = {},
): Promise<SampleLake> {
  const lake = await sampleLake({
    ...{ now: NOW, startDate: DAY, interpretations, reports: REPORTS },
    brandSettings: { ...brandSettings, reports: reportSettings(untilAgeDays) },
  });
  lakes.push(lake);
  const { records } = lake.brand;
  records.order_list = [...recordsOf(orderAt), ...(isAtEnd ? [AT_END] : [])];
  records.transaction_list = recordsOf(transactionAt);
  return lake;
}

/** One run, and its requests for the day. */
async function reading(lake: SampleLake, options: SyncOptions = {}) {
  const startDay = DAY.replaceAll('-', '');
  const [startMs, endMs] = [startOfDay(DAY, ZONE), startOfDay(NEXT, ZONE)];
  const ofDay = (report: ReportName) =>
    requestsOf(lake, report, ({ start_date, start_time, end_time }) => {
      const [from, to] = [start_time, end_time].map((time) => Number(numberText(time)) * 1000);
      const isOrder = from !== undefined && from >= startMs && Math.abs((to ?? 0) - endMs) <= 1000;
      return start_date === startDay || isOrder;
    }).length;
  const before = REPORTS.map(ofDay);
  expect((await lake.sync(options)).status).toBe('complete');
  expect(await wrongReports(lake, dayOf(lake.nowMs, ZONE), REPORTS)).toEqual({});
  lake.nowMs += HOUR_MS;
  const [orders, transactions] = REPORTS.map((report, index) => ofDay(report) - (before[index] ?? 0));
  return { orders, transactions };
}

async function readings(lake: SampleLake, count: number) {
  const sent: Awaited<ReturnType<typeof reading>>[] = [];
  for (let number = 0; number < count; number += 1) sent.push(await reading(lake));
  return { orders: sent.map(({ orders }) => orders), transactions: sent.map((one) => one.transactions) };
}

describe('three readings of a day', () => {
  const ends = [
    { endTime: 'exclusive', isAtEnd: false, requested: 1 },
    { endTime: 'exclusive', isAtEnd: true, requested: 1 },
    { endTime: 'inclusive', isAtEnd: false, requested: 1 },
    { endTime: 'inclusive', isAtEnd: true, requested: 2 },
  ] as const;
  const forms = ['null', 'absent', 'empty'] as const;
  /** By cap: the requests of a range of orders in each reading, and of transactions that end with and without a cursor. */
  const caps = [
    { pageCap: 100, orders: [3, 2, 2], ended: [1, 1, 1], absent: [1, 1, 1] },
    { pageCap: 20, orders: [3, 3, 3], ended: [2, 2, 2], absent: [3, 3, 3] },
    { pageCap: 10, orders: [5, 5, 5], ended: [3, 3, 3], absent: [4, 4, 4] },
  ];
  const services = ends.flatMap((end, at) =>
    caps.map((cap, index) => ({ ...end, ...cap, finalCursor: forms[(at + index) % forms.length] ?? 'null' })),
  );

  it.each(services)(
    'I1: send only the necessary requests: the end $endTime, a record there: $isAtEnd, $pageCap records a page, the last cursor $finalCursor',
    async ({ endTime, isAtEnd, requested, pageCap, finalCursor, orders, ended, absent }) => {
      const lake = await lakeWith({ endTime, pageCap, finalCursor }, { isAtEnd });
      expect(await readings(lake, 3)).toEqual({
        // Two readings request the end of the range; the third reading relies on them.
        orders: orders.map((count, index) => count + (index < 2 ? requested : 0)),
        transactions: finalCursor === 'absent' ? absent : ended,
      });
    },
  );
});

describe('what was proven', () => {
  it('I1: is not added to pages of the same query that another run has staged', async () => {
    const brandSettings = { endTime: 'inclusive' };
    const lake = await lakeWith({ endTime: 'inclusive', equalTimes: 'refused' }, { brandSettings });
    const orders = [...recordsOf(orderAt), AT_END, orderAt(AT_END.at - 1000, 501)];
    lake.brand.records.order_list = orders.map(({ at, record: { transid: _key, ...record } }) => ({
      at,
      record,
    }));
    await readings(lake, 3);
    const begin = {
      scope: { from: DAY, to: DAY, reports: ['order_list'] },
      commonSettings: { requestsPerSecond: 1 },
    };
    for (let seconds = 1; seconds <= 8; seconds += 1) {
      const own = lake.fork();
      const softMs = own.service.now().getTime() + seconds * 1000;
      await own.sync({ ...begin, deadline: { ...NO_TIME, softMs } });
      await own.sync();
      expect([seconds, await wrongReports(own, TODAY, REPORTS)]).toEqual([seconds, {}]);
    }
  });

  it.each<{ what: string; change: (lake: SampleLake) => void; orders: number[] }>([
    { what: 'nothing changes', change: () => {}, orders: [2] },
    {
      what: 'an order of the day changes',
      change: ({ brand: { records } }) => {
        records.order_list = records.order_list.map((held, index) =>
          index === 3 ? { ...held, record: { ...held.record, status: 'void' } } : held,
        );
      },
      orders: [3, 2, 2],
    },
    {
      what: 'an order arrives at the end of the day, and stays',
      change: ({ brand: { records } }) => void records.order_list.push(AT_END),
      orders: [4, 4, 2],
    },
    {
      what: 'an order of the day arrives late',
      change: ({ brand: { records } }) =>
        void records.order_list.push(orderAt(startOfDay(DAY, ZONE) + HOUR_MS, 77)),
      orders: [3, 3, 2],
    },
    {
      what: 'an order of the day is removed',
      change: ({ brand: { records } }) => void records.order_list.shift(),
      orders: [3, 3, 2],
    },
  ])(
    'I1: stays proven only while readings return the same orders with the same content: $what',
    async ({ change, orders }) => {
      const lake = await lakeWith({});
      await readings(lake, 3);
      change(lake);
      expect((await readings(lake, orders.length)).orders).toEqual(orders);
    },
  );

  it('I1: is corrected by the next reading after one empty answer for the end of a day', async () => {
    const lake = await lakeWith({ endTime: 'inclusive' }, { isAtEnd: true });
    const stop = lake.service.addFault({
      on: {
        action: 'report/order_list',
        when: ({ fields }) => numberText(fields.start_time) === numberText(fields.end_time),
      },
      fault: { kind: 'empty_page' },
    });
    await lake.sync();
    stop();
    expect((await ledgerEntry(lake, 'order_list', DAY)).committed?.rows).toBe(ROWS + 1);
    lake.nowMs += HOUR_MS;
    expect((await readings(lake, 3)).orders).toEqual([4, 4, 2]);
  });

  it('I8: is forgotten if the settings change that it depends on', async () => {
    const lake = await lakeWith({});
    await readings(lake, 3);
    const brandSettings = { reports: reportSettings(30, { page_size: 90 }) };
    expect((await reading(lake, { brandSettings })).orders).toBe(3);
  });

  it('I8: is proven again after a week', async () => {
    const lake = await lakeWith({});
    await readings(lake, 3);
    lake.nowMs += 7 * DAY_MS - 4 * HOUR_MS;
    expect((await readings(lake, 1)).orders).toEqual([2]);
    lake.nowMs += 2 * HOUR_MS;
    expect((await readings(lake, 2)).orders).toEqual([3, 2]);
  });

  it('I1: is proven again by the last reading of a day, and by a reading with a range', async () => {
    const lake = await lakeWith({ pageCap: 20 }, { untilAgeDays: 5 });
    expect((await readings(lake, 3)).orders).toEqual([4, 4, 3]);
    const scope = { reports: REPORTS, from: DAY, to: DAY };
    expect((await reading(lake, { scope })).orders).toBe(4);
    lake.nowMs += 2 * DAY_MS;
    expect((await reading(lake)).orders).toBe(4);
    expect((await ledgerEntry(lake, 'transaction_list', DAY)).committed?.state).toBe('settled');
  });

  it('I1: is requested again if the raw records of the previous reading are gone', async () => {
    const lake = await lakeWith({ endTime: 'inclusive' }, { isAtEnd: true });
    await readings(lake, 3);
    for (const key of [...lake.store.objects.keys()])
      if (key.startsWith(`raw/order_list/brand=acme/dt=${DAY}/`) && key.includes('chunk'))
        lake.store.objects.delete(key);
    expect((await readings(lake, 1)).orders).toEqual([4]);
  });
});
