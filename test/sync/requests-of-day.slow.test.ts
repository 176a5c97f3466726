/** Tests how many requests a reading of a day sends, by how the service answers. */
import { afterAll, describe, expect, it } from '@jest/globals';
import type { Held, ReportName } from '../../sample/brand.ts';
import { HOUR_MS, addDays, dayOf, startOfDay } from '../../shared/base/days.ts';
import { numberText } from '../../shared/base/json.ts';
import { requestsOf, wrongReports } from './lake-contents.ts';
import { type SampleLake, ZONE, sampleLake } from './sample-lake.ts';

const DAY = '2026-03-08';
const NEXT = addDays(DAY, 1);
const REPORTS: readonly ReportName[] = ['order_list', 'transaction_list'];
const ROWS = 30;

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

/** Records of the day, none of them at its first instant. */
function recordsOf(recordAt: typeof orderAt): Held[] {
  return Array.from({ length: ROWS }, (_, index) =>
    recordAt(startOfDay(DAY, ZONE) + (index + 1) * 600_000 + 7000, index),
  );
}

/** A record of the next day at the instant that ends the day. */
const AT_END = orderAt(startOfDay(NEXT, ZONE), 500);

/** The requests for the day. */
function requestsForDay(lake: SampleLake, report: ReportName): number {
  const startDay = DAY.replaceAll('-', '');
  const [startMs, endMs] = [startOfDay(DAY, ZONE), startOfDay(NEXT, ZONE)];
  return requestsOf(lake, report, ({ start_date, start_time, end_time }) => {
    const [from, to] = [start_time, end_time].map((time) => Number(numberText(time)) * 1000);
    const isOrder = from !== undefined && from >= startMs && Math.abs((to ?? 0) - endMs) <= 1000;
    return start_date === startDay || isOrder;
  }).length;
}

describe('readings of a day', () => {
  const ends = [
    { endTime: 'exclusive', isAtEnd: false, requested: 1 },
    { endTime: 'exclusive', isAtEnd: true, requested: 1 },
    { endTime: 'inclusive', isAtEnd: false, requested: 1 },
    { endTime: 'inclusive', isAtEnd: true, requested: 2 },
  ] as const;
  const forms = ['null', 'absent', 'empty'] as const;
  /** By cap: the requests of a range of orders, and of transactions that end with and without a cursor. */
  const caps = [
    { pageCap: 100, orders: 2, ended: 1, absent: 1 },
    { pageCap: 20, orders: 3, ended: 2, absent: 3 },
    { pageCap: 10, orders: 5, ended: 3, absent: 4 },
  ];
  const services = ends.flatMap((end, at) =>
    caps.map((cap, index) => ({ ...end, ...cap, finalCursor: forms[(at + index) % forms.length] ?? 'null' })),
  );

  it.each(services)(
    'I1: send only the necessary requests: the end $endTime, a record there: $isAtEnd, $pageCap records a page, the last cursor $finalCursor',
    async ({ endTime, isAtEnd, requested, pageCap, finalCursor, orders, ended, absent }) => {
      const interpretations = { endTime, pageCap, finalCursor };
      const now = '2026-03-12T15:00:00Z';
      const brandSettings = { reports: { order_list: { refresh: [{ untilAgeDays: 30, every: 'run' }] } } };
      const lake = await sampleLake({
        ...{ now, startDate: DAY, interpretations, reports: REPORTS, brandSettings },
      });
      lakes.push(lake);
      const { records } = lake.brand;
      records.order_list = [...recordsOf(orderAt), ...(isAtEnd ? [AT_END] : [])];
      records.transaction_list = recordsOf(transactionAt);
      expect((await lake.sync()).status).toBe('complete');
      expect(await wrongReports(lake, dayOf(lake.nowMs, ZONE), REPORTS)).toEqual({});
      const sent = REPORTS.map((report) => requestsForDay(lake, report));
      expect(sent).toEqual([orders + requested, finalCursor === 'absent' ? absent : ended]);
      lake.nowMs += HOUR_MS;
      expect((await lake.sync()).status).toBe('complete');
      expect(requestsForDay(lake, 'order_list')).toBe(2 * (orders + requested));
    },
  );
});
