/**
 * `ledger/<report>/<brand>/index.json`: which months a run has to look at. Without it every run would read the ledgers of
 * all months since the start date to find that nothing in them is due.
 * The index is a hint and can be rebuilt from the ledgers, so it may err only in one direction: `mayBeDue` is true
 * whenever the index does not know. That is why a run marks a month dirty before it claims a day in it and records due
 * times only after its work: if it dies in between, the month stays dirty and the next run looks.
 */
import * as z from 'zod/mini';
import { HOUR_MS } from '../../days.ts';
import type { Json } from '../../json.ts';
import { parseDocument, storedTime, storedObject } from './cas-document.ts';

const month = storedObject({
  /** When a day of the month is next due (ISO 8601); `null` where all its days are settled. */
  nextDue: z.nullable(storedTime),
  /** `now` of the run that computed `nextDue`; ignored by runs with an earlier `now` (`--now`). */
  asOf: z.optional(storedTime),
  /** The run at work in the month, and since when (wall clock). While it is set, any day there may be due. */
  dirty: z.optional(storedObject({ by: z.string(), at: storedTime })),
});

const index = storedObject({
  version: z.literal(1),
  /** Fingerprint of the policy that the due times follow from. */
  policy: z.string(),
  months: z.record(z.string(), month),
  /** The continuations of runs with little time: ranges by `from..to`, and `due` for what the policy makes due. */
  continuations: z.record(z.string(), storedObject({ id: z.string(), since: storedTime })),
  /** Whether the service ever returned a record. Until then empty responses prove nothing: the days are unverified. */
  hasReturnedRecords: z.boolean(),
  /** The setting `endDate` that a probe found to agree with the service. */
  endDate: z.optional(z.string()),
  /** When the service last asked for a pause instead of answering the probe. */
  probePausedAt: z.optional(storedTime),
  vacuumedAt: z.optional(storedTime),
  recentWrites: z.array(z.string()),
});

/** A hint, rebuildable from the ledgers: which months a run has to look at. One per report and brand. */
export type MonthIndex = z.infer<typeof index>;

/** Reads a stored index; `undefined` is an index without hints. */
export function parseMonthIndex(key: string) {
  return (stored: Json | undefined): MonthIndex => {
    if (stored === undefined)
      return {
        version: 1,
        policy: '',
        months: {},
        continuations: {},
        hasReturnedRecords: false,
        recentWrites: [],
      };
    return parseDocument(index, key, stored);
  };
}

const DIRTY_MS = HOUR_MS;

/** True where a day of the month may be due, as far as the index knows. */
export function mayBeDue(index: MonthIndex, policy: string, month: string, nowMs: number): boolean {
  const known = index.months[month];
  if (!known || known.dirty || index.policy !== policy) return true;
  if (known.asOf === undefined || Date.parse(known.asOf) > nowMs) return true;
  return known.nextDue !== null && Date.parse(known.nextDue) <= nowMs;
}

/** The latest time that a run has recorded as its present, in milliseconds; 0 where none has. */
export function latestRecordedMs({ months, vacuumedAt }: MonthIndex): number {
  const times = [vacuumedAt, ...Object.values(months).map(({ asOf }) => asOf)];
  return Math.max(0, ...times.flatMap((time) => (time === undefined ? [] : [Date.parse(time)])));
}

/** Marks months as being worked in, before anything in them is claimed. */
export function markMonthsDirty(
  index: MonthIndex,
  months: readonly string[],
  dirty: { by: string; at: string },
): MonthIndex {
  if (months.every((month) => index.months[month]?.dirty?.by === dirty.by)) return index;
  const marked = months.map((month) => [month, { nextDue: null, dirty }]);
  return { ...index, months: { ...index.months, ...Object.fromEntries(marked) } };
}

/**
 * Records due times. A month that another run marked dirty within the last hour is left to that run: it may have
 * claimed a day after these times were computed.
 */
export function recordDueTimes(
  index: MonthIndex,
  due: ReadonlyMap<string, number | null>,
  policy: string,
  run: { id: string; wallMs: number; nowMs: number },
): MonthIndex {
  const isOthers = (known: MonthIndex['months'][string] | undefined) =>
    known?.dirty !== undefined &&
    known.dirty.by !== run.id &&
    Math.abs(run.wallMs - Date.parse(known.dirty.at)) < DIRTY_MS;
  const kept = Object.entries(index.months).filter(([, known]) => index.policy === policy || isOthers(known));
  const months = Object.fromEntries(kept);
  for (const [month, dueMs] of due) {
    if (isOthers(months[month])) continue;
    const asOf = dueMs === null || dueMs > run.nowMs ? { asOf: new Date(run.nowMs).toISOString() } : {};
    months[month] = { nextDue: dueMs === null ? null : new Date(dueMs).toISOString(), ...asOf };
  }
  const same = index.policy === policy && JSON.stringify(months) === JSON.stringify(index.months);
  return same ? index : { ...index, policy, months };
}
