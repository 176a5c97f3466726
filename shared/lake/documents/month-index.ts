import * as z from 'zod/mini';
import type { Json } from '../../json.ts';
import { checkStored, storedTime } from './cas-document.ts';

const month = z.looseObject({
  /** When a day of the month is next due (ISO 8601); `null` where all of it is settled. */
  nextDue: z.nullable(storedTime),
  /** The present in which that was still to come: it says nothing of an earlier one. */
  asOf: z.optional(storedTime),
  /** The run at work in the month, and since when (wall clock): until it says otherwise, everything there may be due. */
  touched: z.optional(z.looseObject({ by: z.string(), at: storedTime })),
});

const index = z.looseObject({
  version: z.literal(1),
  /** Fingerprint of the policy that the due times follow from. */
  policy: z.string(),
  months: z.record(z.string(), month),
  /** Requests that runs with little time go on with: ranges by `from..to`, and `due` for what the policy says. */
  requests: z.record(z.string(), z.looseObject({ id: z.string(), since: storedTime })),
  /** Whether the service ever returned a record: until then its empty answers prove nothing. */
  proven: z.boolean(),
  /** The setting `endDate` that was measured to agree with the service. */
  endDate: z.optional(z.string()),
  sweptAt: z.optional(storedTime),
  recent: z.array(z.string()),
});

/** A hint, rebuildable from the ledgers: which months a run has to look at. One per report and brand. */
export type MonthIndex = z.infer<typeof index>;

/** Reads a stored index; `undefined` is the one that knows nothing. */
export function parseMonthIndex(key: string) {
  return (stored: Json | undefined): MonthIndex => {
    if (stored === undefined)
      return { version: 1, policy: '', months: {}, requests: {}, proven: false, recent: [] };
    return checkStored(index, key, stored);
  };
}

const TOUCH_MS = 3_600_000;

/** True where a day of the month may be due, as far as the index knows. */
export function mayBeDue(index: MonthIndex, policy: string, of: string, nowMs: number): boolean {
  const known = index.months[of];
  if (!known || known.touched || index.policy !== policy) return true;
  if (known.asOf === undefined || Date.parse(known.asOf) > nowMs) return true;
  return known.nextDue !== null && Date.parse(known.nextDue) <= nowMs;
}

/** Marks months as being worked in, before anything in them is claimed. */
export function touchMonths(
  index: MonthIndex,
  months: readonly string[],
  touched: { by: string; at: string },
): MonthIndex {
  if (months.every((of) => index.months[of]?.touched?.by === touched.by)) return index;
  const marked = months.map((of) => [of, { nextDue: null, touched }]);
  return { ...index, months: { ...index.months, ...Object.fromEntries(marked) } };
}

/**
 * Records due times. A month that another run has touched within the hour is left to that run, which may have
 * claimed a day after these times were reckoned.
 */
export function leaveMonths(
  index: MonthIndex,
  due: ReadonlyMap<string, number | null>,
  policy: string,
  run: { id: string; wallMs: number; nowMs: number },
): MonthIndex {
  const isOthers = (known: MonthIndex['months'][string] | undefined) =>
    known?.touched !== undefined &&
    known.touched.by !== run.id &&
    run.wallMs - Date.parse(known.touched.at) < TOUCH_MS;
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
