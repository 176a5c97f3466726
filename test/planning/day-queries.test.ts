import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { addDays, dayOf, endOfDay, startOfDay } from '../../shared/base/days.ts';
import type { JsonObject } from '../../shared/base/json.ts';
import {
  type DayQuery,
  queryFingerprint,
  dayQueries,
  windowToRead,
} from '../../shared/planning/day-queries.ts';
import type { ReportDefinition } from '../../shared/reports/definition.ts';
import { reports } from '../../shared/reports/index.ts';
import { type BrandSettings, type ReportSettings, parseSettings } from '../../shared/settings/settings.ts';
import { runs } from '../fixtures/property-runs.ts';

const ZONE = 'America/New_York';
const DAY = '2026-11-01';

interface QueriedReport {
  report: ReportDefinition;
  brand: BrandSettings;
  settings: ReportSettings;
}

function queriedReport(name: string, change: JsonObject = {}, reportChange: JsonObject = {}): QueriedReport {
  const input = {
    baseUrl: 'https://service.example/api',
    service: 'S',
    timeZone: ZONE,
    startDate: '2026-01-01',
    secretName: 'none',
    ...change,
    reports: { [name]: reportChange },
  };
  const brand = parseSettings({ brands: { acme: input } }, reports).brands.acme;
  const settings = brand?.reports[name];
  const report = reports[name];
  if (!brand || !settings || !report) throw new Error(`no ${name}`);
  return { report, brand, settings };
}

function wholeDay({ report, brand, settings }: QueriedReport, day: string): DayQuery[] {
  const window = windowToRead(brand, day, endOfDay(day, brand.timeZone) + 3_600_000, undefined);
  return dayQueries(report, brand, settings, day, window);
}

/** How a service may interpret a query; its records are instants. */
type Interpretation = (fields: DayQuery['fields'], records: readonly number[]) => number[];

function byTimestamps(
  unitMs: number,
  endIs: 'inside' | 'outside',
  whole: 'units' | 'instants',
): Interpretation {
  return ({ start_time, end_time }, records) =>
    records.filter((at) => {
      const time = whole === 'units' ? Math.floor(at / unitMs) : at / unitMs;
      return (
        time >= Number(start_time) &&
        (time < Number(end_time) || (endIs === 'inside' && time === Number(end_time)))
      );
    });
}

function byDates(
  timeZone: string,
  endIs: 'whole day' | 'midnight, inside' | 'midnight, outside',
): Interpretation {
  const dayOfText = (text: unknown) => String(text).replace(/^(\d{4})(\d\d)(\d\d)$/, '$1-$2-$3');
  return ({ start_date, end_date }, records) => {
    const fromMs = startOfDay(dayOfText(start_date), timeZone);
    const last = dayOfText(end_date);
    if (endIs === 'whole day') return records.filter((at) => at >= fromMs && at < endOfDay(last, timeZone));
    const endMs = startOfDay(last, timeZone) + (endIs === 'midnight, inside' ? 1 : 0);
    return records.filter((at) => at >= fromMs && at < endMs);
  };
}

/** The result of a day’s queries: the included records, less the excluded records that are not restored. */
function resultOf(queries: readonly DayQuery[], read: Interpretation, records: readonly number[]): number[] {
  const found = (which: DayQuery['role']) =>
    queries.filter(({ role }) => role === which).flatMap(({ fields }) => read(fields, records));
  const included = found('include');
  for (const at of without(found('exclude'), found('restore'))) {
    const index = included.indexOf(at);
    if (index >= 0) included.splice(index, 1);
  }
  return included.sort((a, b) => a - b);
}

function without(records: readonly number[], others: readonly number[]): number[] {
  const left = [...records];
  for (const at of others) {
    const index = left.indexOf(at);
    if (index >= 0) left.splice(index, 1);
  }
  return left;
}

const zone = fc.constantFrom(
  ZONE,
  'UTC',
  'Europe/Berlin',
  'America/Santiago',
  'America/Havana',
  'Australia/Lord_Howe',
);
/** Days on which clocks change somewhere, and their neighbours. */
const date = fc
  .tuple(
    fc.constantFrom('2026-03-08', '2026-03-29', '2026-04-05', '2026-09-06', '2026-10-04', '2026-11-01'),
    fc.nat(2),
  )
  .map(([day, days]) => addDays(day, days - 1));

/** Instants, some with fractions of a second, many of them first or last of a day, with duplicates. */
function instants(day: string, timeZone: string): fc.Arbitrary<number[]> {
  const edges = [day, addDays(day, 1)].map((each) => startOfDay(each, timeZone));
  const near = fc
    .tuple(fc.constantFrom(...edges), fc.constantFrom(-1000, -600, -1, 0, 0, 1, 400, 1000))
    .map(([edge, ms]) => edge + ms);
  const any = fc.integer({ min: -90_000_000, max: 180_000_000 }).map((ms) => startOfDay(day, timeZone) + ms);
  return fc.array(fc.oneof(near, any), { maxLength: 12 });
}

const scene = fc
  .tuple(date, zone)
  .chain(([day, timeZone]) => fc.tuple(fc.constant(day), fc.constant(timeZone), instants(day, timeZone)));

function returnsTheDay(name: string, change: JsonObject, readIn: (timeZone: string) => Interpretation): void {
  const given = queriedReport(name, change);
  fc.assert(
    fc.property(scene, ([day, timeZone, records]) => {
      const queries = wholeDay({ ...given, brand: { ...given.brand, timeZone } }, day);
      const own = records.filter((at) => dayOf(at, timeZone) === day).sort((a, b) => a - b);
      expect(resultOf(queries, readIn(timeZone), records)).toEqual(own);
    }),
    runs(60),
  );
}

describe('the queries of a day', () => {
  it.each<['seconds' | 'milliseconds', string, 'inside' | 'outside', 'units' | 'instants']>([
    ['seconds', 'auto', 'inside', 'units'],
    ['seconds', 'auto', 'inside', 'instants'],
    ['seconds', 'auto', 'outside', 'units'],
    ['seconds', 'auto', 'outside', 'instants'],
    ['seconds', 'inclusive', 'inside', 'units'],
    ['seconds', 'inclusive', 'inside', 'instants'],
    ['seconds', 'inclusive', 'outside', 'units'],
    ['seconds', 'inclusive', 'outside', 'instants'],
    ['milliseconds', 'auto', 'inside', 'instants'],
    ['milliseconds', 'auto', 'outside', 'instants'],
    ['milliseconds', 'inclusive', 'inside', 'instants'],
    ['milliseconds', 'inclusive', 'outside', 'instants'],
  ])(
    'I1: return exactly its orders, in %s, endTime "%s", with the end %s, by %s',
    (unit, endTime, endIs, whole) => {
      const unitMs = unit === 'seconds' ? 1000 : 1;
      returnsTheDay('order_list', { timestampUnit: unit, endTime }, () => byTimestamps(unitMs, endIs, whole));
    },
  );

  it.each(
    ['transaction_list', 'amazon_attribution_report'].flatMap((name) => [
      [name, 'whole_day', 'whole day'] as const,
      [name, 'midnight', 'midnight, inside'] as const,
      [name, 'midnight', 'midnight, outside'] as const,
    ]),
  )(
    'I1: return exactly its records of %s, endDate "%s", if the service means the %s',
    (name, endDate, endIs) => {
      returnsTheDay(name, { endDate }, (timeZone) => byDates(timeZone, endIs));
    },
  );

  it('I1: return at least all clicks of the day, whether or not the range includes its end', () => {
    const given = queriedReport('clicks_list');
    fc.assert(
      fc.property(scene, fc.constantFrom('inside', 'outside'), ([day, timeZone, records], endIs) => {
        const queries = wholeDay({ ...given, brand: { ...given.brand, timeZone } }, day);
        const found = resultOf(queries, byTimestamps(1000, endIs, 'units'), records);
        const own = records.filter((at) => dayOf(at, timeZone) === day).sort((a, b) => a - b);
        expect(found.filter((at) => dayOf(at, timeZone) === day)).toEqual(own);
      }),
      runs(60),
    );
  });

  it.each<[string, string, JsonObject, JsonObject, DayQuery[]]>([
    [
      'attribution up to midnight, without the records at midnight',
      'amazon_attribution_report',
      { endDate: 'midnight' },
      { filters: { publisher_uid: 7 } },
      [
        { role: 'include', fields: { publisher_uid: 7, start_date: '20261101', end_date: '20261102' } },
        { role: 'exclude', fields: { publisher_uid: 7, start_date: '20261102', end_date: '20261102' } },
      ],
    ],
    ['click details, which have no range', 'clicks_detail', {}, {}, [{ role: 'include', fields: {} }]],
  ])('are the fields of the interface: %s', (_name, report, change, reportChange, queries) => {
    expect(wholeDay(queriedReport(report, change, reportChange), DAY)).toEqual(queries);
  });
});

describe('the part of a day to read', () => {
  const { brand } = queriedReport('clicks_list');
  const start = startOfDay(DAY, ZONE);
  const end = endOfDay(DAY, ZONE);
  const hour = 3_600_000;
  const late = brand.lateMinutes * 60_000;

  it.each<[string, number, number | undefined, { fromMs: number; toMs: number; whole: boolean }]>([
    ['the open day so far', start + hour, undefined, { fromMs: start, toMs: start + hour, whole: true }],
    [
      'the part since the last reading, with an overlap',
      start + 2 * hour,
      start + hour,
      { fromMs: start + hour - late, toMs: start + 2 * hour, whole: false },
    ],
    [
      'the day so far, if the overlap reaches its beginning',
      start + hour,
      start + late,
      { fromMs: start, toMs: start + hour, whole: true },
    ],
    [
      'only the overlap, if the last reading ended at this very moment',
      start + hour,
      start + hour,
      { fromMs: start + hour - late, toMs: start + hour, whole: false },
    ],
    [
      'the day so far, if a clock that was ahead recorded the last reading',
      start + hour,
      start + 2 * hour,
      { fromMs: start, toMs: start + hour, whole: true },
    ],
    ['the whole day from its end on', end, end - hour, { fromMs: start, toMs: end, whole: true }],
    [
      'the whole of a day in the past',
      end + 1000 * hour,
      undefined,
      { fromMs: start, toMs: end, whole: true },
    ],
  ])('I2: is %s', (_name, nowMs, sinceMs, window) => {
    expect(windowToRead(brand, DAY, nowMs, sinceMs)).toEqual(window);
  });

  it('has no query of the end of an open day’s orders', () => {
    const orders = queriedReport('order_list');
    const window = windowToRead(orders.brand, DAY, start + hour + 999, undefined);
    expect(dayQueries(orders.report, orders.brand, orders.settings, DAY, window)).toEqual([
      { role: 'include', fields: { start_time: start / 1000, end_time: (start + hour) / 1000 } },
    ]);
  });

  it('I2: gives slices that together have every visible record, if it was late by at most the overlap', () => {
    const record = fc.record({ second: fc.nat(23 * 3600), delayMs: fc.nat(900_000) });
    const times = fc.uniqueArray(fc.integer({ min: 1_000, max: 24 * hour }), { minLength: 1, maxLength: 8 });
    const records = fc.array(record, { maxLength: 20 });
    const late = fc.constantFrom(0, 15, 60);
    const given = queriedReport('clicks_list');
    fc.assert(
      fc.property(
        times,
        records,
        late,
        fc.constantFrom('inside', 'outside'),
        (runs, generated, lateMinutes, endIs) => {
          const own = { ...given, brand: { ...given.brand, lateMinutes } };
          const clicks = generated.map(({ second, delayMs }) => {
            const at = start + second * 1000;
            return { at, seenMs: at + Math.min(delayMs, lateMinutes * 60_000) };
          });
          const found = new Set<number>();
          let since: number | undefined;
          for (const nowMs of runs.sort((a, b) => a - b).map((ms) => start + ms)) {
            const window = windowToRead(own.brand, DAY, nowMs, since);
            const seen = clicks.filter(({ seenMs }) => seenMs <= nowMs).map(({ at }) => at);
            const queries = dayQueries(own.report, own.brand, own.settings, DAY, window);
            for (const at of resultOf(queries, byTimestamps(1000, endIs, 'units'), seen)) found.add(at);
            since = window.toMs;
          }
          const lastMs = since ?? start;
          const known = clicks.filter(
            ({ at, seenMs }) => seenMs <= lastMs && at < Math.floor(lastMs / 1000) * 1000,
          );
          expect(known.filter(({ at }) => !found.has(at))).toEqual([]);
        },
      ),
      runs(200),
    );
  });
});

describe('the fingerprint of the queries', () => {
  const fingerprintOf = (name: string, change: JsonObject = {}, reportChange: JsonObject = {}) => {
    const { report, brand, settings } = queriedReport(name, change, reportChange);
    return queryFingerprint(report, brand, settings);
  };

  it('is 16 digits long and does not depend on the order of filters', () => {
    const { report, brand, settings } = queriedReport('order_list');
    const filtered = (...names: string[]) =>
      queryFingerprint(report, brand, {
        ...settings,
        filters: Object.fromEntries(names.map((name) => [name, `the ${name}`])),
      });
    const [one, ...others] = [filtered('a', 'b', 'c'), filtered('c', 'b', 'a'), filtered('b', 'c', 'a')];
    expect(one).toMatch(/^[0-9a-f]{16}$/);
    expect(others).toEqual([one, one]);
  });

  it.each<[string, string, JsonObject, JsonObject]>([
    ['the time zone', 'clicks_list', { timeZone: 'UTC' }, {}],
    ['the unit of clicks', 'clicks_list', { timestampUnit: 'milliseconds' }, {}],
    ['a filter of clicks', 'clicks_list', {}, { filters: { publisher_id: '1' } }],
    ['the unit of orders', 'order_list', { timestampUnit: 'milliseconds' }, {}],
    ['the end of orders', 'order_list', { endTime: 'inclusive' }, {}],
    ['the first page of orders', 'order_list', { firstPage: 0 }, {}],
    ['the key of orders', 'order_list', {}, { key: 'id' }],
    ['a filter of orders', 'order_list', {}, { filters: { status: 'void' } }],
    ['the end of transactions', 'transaction_list', { endDate: 'midnight' }, {}],
    ['the end of attribution', 'amazon_attribution_report', { endDate: 'midnight' }, {}],
    ['a number among the filters', 'amazon_attribution_report', {}, { filters: { publisher_uid: 1 } }],
  ])('changes with %s', (_name, report, change, reportChange) => {
    expect(fingerprintOf(report, change, reportChange)).not.toBe(fingerprintOf(report));
  });

  it.each<[string, string, JsonObject, JsonObject]>([
    ['the page size', 'order_list', {}, { page_size: 20 }],
    ['the refresh policy and the interval', 'order_list', {}, { refresh: [], every: '1 day' }],
    ['the address of the service', 'order_list', { baseUrl: 'https://other.example' }, {}],
    ['lateMinutes', 'clicks_list', { lateMinutes: 60 }, {}],
    ['endDate, for orders', 'order_list', { endDate: 'midnight' }, {}],
    [
      'endTime and timestampUnit, for transactions',
      'transaction_list',
      { endTime: 'inclusive', timestampUnit: 'milliseconds' },
      {},
    ],
    ['the types of columns', 'order_list', {}, { columns: { amount: 'decimal(18,2)' } }],
  ])('does not change with %s', (_name, report, change, reportChange) => {
    expect(fingerprintOf(report, change, reportChange)).toBe(fingerprintOf(report));
  });

  it('depends on which filter has which value', () => {
    const filters = (set: JsonObject) => fingerprintOf('transaction_list', {}, { filters: set });
    expect(filters({ sku: 'a', order_id: 'b' })).not.toBe(filters({ sku: 'b', order_id: 'a' }));
    expect(filters({ sku: 'a,order_id,b' })).not.toBe(filters({ sku: 'a', order_id: 'b' }));
  });
});
