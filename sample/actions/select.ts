import { type Json, type JsonObject, numberText } from '../../shared/json.ts';
import type { Held } from '../brand.ts';
import { dayAfter, startOfDay } from '../calendar.ts';
import type { Query } from './action.ts';

/** Instants `[from, to)` in milliseconds. */
interface Range {
  from: number;
  to: number;
}

/** The records in the range whose fields equal each filter that the request has; a filter is named as the field. */
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
export function timeRange({ fields, readings }: Query): Range {
  const unitMs = readings.timestampUnit === 'seconds' ? 1000 : 1;
  const { start_time: start, end_time: end } = fields;
  return {
    from: start === undefined ? Number.NEGATIVE_INFINITY : Number(start) * unitMs,
    to:
      end === undefined
        ? Number.POSITIVE_INFINITY
        : Number(end) * unitMs + (readings.endTime === 'inclusive' ? 1 : 0),
  };
}

export function timeConflict({ fields, readings }: Query): string | undefined {
  return readings.equalTimes === 'refused' &&
    fields.start_time !== undefined &&
    fields.start_time === fields.end_time
    ? 'start_time and end_time are equal'
    : undefined;
}

/** The range of `start_date` and `end_date`, made timestamps in the brand's zone (section 4.4, date rules). */
export function dateRange({ fields, readings, brand: { timeZone } }: Query): Range {
  const { start_date: start, end_date: end } = fields;
  return {
    from: start === undefined ? Number.NEGATIVE_INFINITY : startOfDay(start, timeZone),
    to: end === undefined ? Number.POSITIVE_INFINITY : endOfRange(end, timeZone, readings.endDate),
  };
}

function endOfRange(day: string, timeZone: string, endDate: Query['readings']['endDate']): number {
  if (endDate === 'whole_day') return startOfDay(dayAfter(day), timeZone);
  return startOfDay(day, timeZone) + (endDate === 'midnight_inclusive' ? 1 : 0);
}

export function dateConflict({ fields: { start_date: start, end_date: end } }: Query): string | undefined {
  return start !== undefined && end !== undefined && start > end
    ? 'start_date must be less than or equal to end_date'
    : undefined;
}

/** A text or a number's literal; `undefined` for anything else. */
export function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : numberText(value);
}

export function recordOf({ record }: Held): JsonObject {
  return record;
}
