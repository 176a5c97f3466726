import type { JsonObject } from '../shared/json.ts';
import { dayAfter, startOfDay } from './calendar.ts';

/** The tail of an action's name. */
export type ReportName =
  | 'clicks_list'
  | 'clicks_detail'
  | 'order_list'
  | 'transaction_list'
  | 'amazon_attribution_report';

/** A record as it is served, and the instant in milliseconds that decides in which range it lies. */
export interface Held {
  at: number;
  record: JsonObject;
}

/** What the service holds. The lists may be changed at any time; the next request sees the change. */
export type SampleRecords = Record<ReportName, Held[]>;

/** A brand of the running service. Its credentials may be changed at any time too, as if somebody rotated them. */
export interface SampleBrand {
  readonly name: string;
  readonly baseUrl: string;
  timeZone: string;
  bid: string;
  token: string;
  secret: string;
  records: SampleRecords;
}

/** Exactly the records that the service holds for a calendar day in the brand's zone: the truth to compare with. */
export function recordsOfDay(brand: SampleBrand, report: ReportName, day: string): JsonObject[] {
  const isInside = insideDay(brand, day);
  return brand.records[report].filter(isInside).map(({ record }) => record);
}

/** Replaces a day's records by what `change` makes of them: added, altered or removed. */
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
