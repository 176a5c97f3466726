import * as z from 'zod/mini';
import type { Json } from '../../json.ts';
import { parseDocument, storedTime, storedObject } from './cas-document.ts';

const month = storedObject({
  /** When a day of the month is next due (ISO 8601); `null` where all of it is settled. */
  nextDue: z.nullable(storedTime),
  /** The present in which that was still to come: it says nothing of an earlier one. */
  asOf: z.optional(storedTime),
  /** The run at work in the month, and since when (wall clock): until it says otherwise, everything there may be due. */
  dirty: z.optional(storedObject({ by: z.string(), at: storedTime })),
});

const index = storedObject({
  version: z.literal(1),
  /** Fingerprint of the policy that the due times follow from. */
  policy: z.string(),
  months: z.record(z.string(), month),
  /** Requests that runs with little time go on with: ranges by `from..to`, and `due` for what the policy says. */
  continuations: z.record(z.string(), storedObject({ id: z.string(), since: storedTime })),
  /** Whether the service ever returned a record: until then its empty answers prove nothing. */
  hasReturnedRecords: z.boolean(),
  /** The setting `endDate` that was measured to agree with the service. */
  endDate: z.optional(z.string()),
  vacuumedAt: z.optional(storedTime),
  recentWrites: z.array(z.string()),
});

/** A hint, rebuildable from the ledgers: which months a run has to look at. One per report and brand. */
export type MonthIndex = z.infer<typeof index>;

/** Reads a stored index; `undefined` is the one that knows nothing. */
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

const TOUCH_MS = 3_600_000;

/** True where a day of the month may be due, as far as the index knows. */
export function mayBeDue(index: MonthIndex, policy: string, of: string, nowMs: number): boolean {
  const known = index.months[of];
  if (!known || known.dirty || index.policy !== policy) return true;
  if (known.asOf === undefined || Date.parse(known.asOf) > nowMs) return true;
  return known.nextDue !== null && Date.parse(known.nextDue) <= nowMs;
}

/** Marks months as being worked in, before anything in them is claimed. */
export function markMonthsDirty(
  index: MonthIndex,
  months: readonly string[],
  dirty: { by: string; at: string },
): MonthIndex {
  if (months.every((of) => index.months[of]?.dirty?.by === dirty.by)) return index;
  const marked = months.map((of) => [of, { nextDue: null, dirty }]);
  return { ...index, months: { ...index.months, ...Object.fromEntries(marked) } };
}

/**
 * Records due times. A month that another run has dirty within the hour is left to that run, which may have
 * claimed a day after these times were reckoned.
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
    run.wallMs - Date.parse(known.dirty.at) < TOUCH_MS;
  const kept = Object.entries(index.months).filter(([, known]) => index.policy === policy || isOthers(known));
  const months = Object.fromEntries(kept);
  for (const [of, dueMs] of due) {
    if (isOthers(months[of])) continue;
    const asOf = dueMs === null || dueMs > run.nowMs ? { asOf: new Date(run.nowMs).toISOString() } : {};
    months[of] = { nextDue: dueMs === null ? null : new Date(dueMs).toISOString(), ...asOf };
  }
  const same = index.policy === policy && JSON.stringify(months) === JSON.stringify(index.months);
  return same ? index : { ...index, policy, months };
}
