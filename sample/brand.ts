import type { JsonObject } from '../shared/base/json.ts';
import { dayAfter, startOfDay } from './calendar.ts';

/** The reports that the service has: the last parts of the names of its actions. */
export const REPORT_NAMES = [
  'clicks_list',
  'clicks_detail',
  'order_list',
  'transaction_list',
  'amazon_attribution_report',
] as const;
export type ReportName = (typeof REPORT_NAMES)[number];

/** A record as it is served, and the instant (ms) that decides which ranges contain it. */
export interface Held {
  at: number;
  record: JsonObject;
}

/** The service's records. A test may change the lists at any time; the next request serves the change. */
export type SampleRecords = Record<ReportName, Held[]>;

/** A brand of the running service. A test may change its credentials at any time, as a rotation would. */
export interface SampleBrand {
  readonly name: string;
  readonly baseUrl: string;
  timeZone: string;
  bid: string;
  token: string;
  secret: string;
  records: SampleRecords;
}

/**
 * Exactly the records that the service has for a calendar day in the brand's zone: the rows that a sync must end with.
 */
export function recordsOfDay(brand: SampleBrand, report: ReportName, day: string): JsonObject[] {
  const isInside = insideDay(brand, day);
  return brand.records[report].filter(isInside).map(({ record }) => record);
}

/** Replaces the records of a day by the result of `change` for these records. */
export function restate(
  brand: SampleBrand,
  report: ReportName,
  day: string,
  change: (held: Held[]) => Held[],
): void {
  const isInside = insideDay(brand, day);
  const { true: inside = [], false: others = [] } = Object.groupBy(brand.records[report], (held) =>
    isInside(held) ? 'true' : 'false',
  );
  brand.records[report] = [...others, ...change(inside)];
}

function insideDay({ timeZone }: SampleBrand, day: string): (held: Held) => boolean {
  const start = startOfDay(day, timeZone);
  const end = startOfDay(dayAfter(day), timeZone);
  return ({ at }) => start <= at && at < end;
}
