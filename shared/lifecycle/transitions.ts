/* Decides what a row of the table becomes when the version of its day is replaced. Everything here is pure. */
import type { Row } from '../lake/table/columns.ts';
import type { Now } from './records.ts';
import { KEPT_STATES } from './shape.ts';

/** When and by what a version is replaced. */
export interface Moment {
  /** When the reading began whose version is replaced; missing: no reading before is known. */
  after?: Date | undefined;
  /** When the reading had ended whose version replaces it. */
  by: Date;
  /** Otherwise the records were read before: when they came into their states is not known. */
  isReading: boolean;
  /** The rows before have states by other rules, e.g. of an empty day, which has no field: the same holds for their records. */
  hasOtherStates?: boolean;
  /** The columns of the ages that the day has reached while the replaced version was current. */
  ages: readonly string[];
  /** The rows without a record that are left out, instead of being gone: those of an erasure, or whose key is another now. */
  drops?: 'all' | 'present' | undefined;
}

/** What a row says of the version that is current. */
export const NOW_COLUMNS = [
  'records',
  'order_id',
  'product',
  'kind',
  'publisher_id',
  'publisher_name',
  'currency',
  'state',
  'amount',
  'commission',
] as const satisfies readonly (keyof Now)[];

/** @returns `undefined` where the row is left out */
export function rowAfter(before: Row | undefined, now: Now | undefined, moment: Moment): Row | undefined {
  const isThere = before !== undefined && before.records !== 0n;
  if (!now && (moment.drops === 'all' || (moment.drops === 'present' && isThere))) return undefined;
  const row: Row = { ...before };
  for (const age of moment.ages) row[age] ??= isThere ? countedIn(before) : 0n;
  if (now) return seen(row, now, before, moment);
  if (isThere) Object.assign(row, { records: 0n, gone_after: moment.after, gone_by: moment.by });
  return row;
}

function seen(row: Row, now: Now, before: Row | undefined, moment: Moment): Row {
  const { after, by, isReading, hasOtherStates = false } = moment;
  const isTold = isReading && !(before && hasOtherStates);
  if (!before) row.seen_currency = now.currency;
  Object.assign(row, now, { gone_after: undefined, gone_by: undefined });
  for (const state of ['seen', ...KEPT_STATES]) {
    if ((state !== 'seen' && state !== now.state) || row[`${state}_by`] !== undefined) continue;
    row[`${state}_after`] = isTold ? after : before?.seen_after;
    row[`${state}_by`] = by;
    row[`${state}_amount`] = now.amount;
    row[`${state}_commission`] = now.commission;
  }
  return row;
}

function countedIn({ state, commission }: Row): bigint {
  return state !== 'void' && typeof commission === 'bigint' ? commission : 0n;
}
