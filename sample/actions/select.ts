import { type Json, type JsonObject, numberText } from '../../shared/base/json.ts';
import type { Held } from '../brand.ts';
import { dayAfter, startOfDay } from '../calendar.ts';
import type { Query } from './action.ts';

/** Instants `[from, to)` in milliseconds. */
interface Range {
  from: number;
  to: number;
}

/** The records in the range that match every filter of the request; a filter has the name of its field. */
export function select(
  held: readonly Held[],
  range: Range,
  { fields }: Query,
  filters: readonly string[],
): Held[] {
  const asked = filters.filter((name) => fields[name] !== undefined);
  return held.filter(
    ({ at, record }) =>
      range.from <= at && at < range.to && asked.every((name) => textOf(record[name]) === fields[name]),
  );
}

/** The range of `start_time` and `end_time`. */
export function timeRange({ fields, interpretations }: Query): Range {
  const unitMs = interpretations.timestampUnit === 'seconds' ? 1000 : 1;
  const { start_time: start, end_time: end } = fields;
  return {
    from: start === undefined ? Number.NEGATIVE_INFINITY : Number(start) * unitMs,
    to:
      end === undefined
        ? Number.POSITIVE_INFINITY
        : Number(end) * unitMs + (interpretations.endTime === 'inclusive' ? 1 : 0),
  };
}

export function timeConflict({ fields, interpretations }: Query): string | undefined {
  return interpretations.equalTimes === 'refused' &&
    fields.start_time !== undefined &&
    fields.start_time === fields.end_time
    ? 'start_time and end_time are equal'
    : undefined;
}

/** The range of `start_date` and `end_date` as instants in the brand's zone (docs/explanation/interface.md, section 4.4). */
export function dateRange({ fields, interpretations, brand: { timeZone } }: Query): Range {
  const { start_date: start, end_date: end } = fields;
  return {
    from: start === undefined ? Number.NEGATIVE_INFINITY : startOfDay(start, timeZone),
    to: end === undefined ? Number.POSITIVE_INFINITY : endOfRange(end, timeZone, interpretations.endDate),
  };
}

function endOfRange(day: string, timeZone: string, endDate: Query['interpretations']['endDate']): number {
  if (endDate === 'whole_day') return startOfDay(dayAfter(day), timeZone);
  return startOfDay(day, timeZone) + (endDate === 'midnight_inclusive' ? 1 : 0);
}

export function dateConflict({ fields: { start_date: start, end_date: end } }: Query): string | undefined {
  return start !== undefined && end !== undefined && start > end
    ? 'start_date must be less than or equal to end_date'
    : undefined;
}

/** A string, or the literal of a number; `undefined` for anything else. */
export function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : numberText(value);
}

export function recordOf({ record }: Held): JsonObject {
  return record;
}
