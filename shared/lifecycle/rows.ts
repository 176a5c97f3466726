/* Decides which row a record continues, and how a row changes when the version of its day is replaced. */
import type { Value } from '../column-types.ts';
import type { Row } from '../lake/table/columns.ts';
import type { Now } from './records.ts';
import { KEPT_STATES } from './shape.ts';

export interface Moment {
  /** When the reading of the replaced version began; missing: no earlier reading is known. */
  after?: Date;
  /** When the reading of the new version had ended. */
  by: Date;
  /** `false`: the records were read before, so the time at which they reached their states is not known. */
  isReading: boolean;
  /** The rows before have states by other rules, so the time at which their records reached a state is not known. */
  hasOtherStates: boolean;
  /** The columns of the ages that the day has reached while the replaced version was current. */
  ages: readonly string[];
}

export function rowAfter(
  before: Row | undefined,
  now: Readonly<Record<keyof Now, Value | undefined>> | undefined,
  moment: Moment,
): Row {
  const { after, by, isReading, hasOtherStates, ages } = moment;
  const isThere = before !== undefined && before.records !== 0n;
  const gone = { records: 0n, counted_amount: 0n, counted_commission: 0n, gone_after: after, gone_by: by };
  const row: Row = { ...before };
  for (const age of ages) row[age] ??= before?.counted_commission ?? 0n;
  if (!now && isThere) Object.assign(row, gone);
  if (!now) return row;
  if (!before) row.seen_currency = now.currency;
  Object.assign(row, now, { gone_after: undefined, gone_by: undefined });
  const isKnown = isReading && !(before && hasOtherStates);
  for (const state of ['seen', ...KEPT_STATES]) {
    if ((state !== 'seen' && state !== now.state) || row[`${state}_by`] !== undefined) continue;
    row[`${state}_after`] = isKnown ? after : before?.seen_after;
    row[`${state}_by`] = by;
    row[`${state}_amount`] = now.amount;
    row[`${state}_commission`] = now.commission;
  }
  return row;
}

export type Identity = Pick<Row, 'key' | 'kind' | 'publisher_id' | 'currency'>;

/** The identity as one text. Records without a key are identified by the other values; no value is an empty text. */
function nameOf({ key, kind, publisher_id, currency }: Identity): string {
  return [key, kind, publisher_id, currency].map((each) => each ?? '').join('\0');
}

/** Equal for all records with one key; records without a key share it if all their other values agree. */
export function partOf(of: Identity): string {
  return typeof of.key === 'string' ? of.key : nameOf(of);
}

/** The records of one identity, added up, and whether a row was found for them. */
interface Held {
  now: Now;
  isMet: boolean;
}

export class Records {
  /** The first record with the key: most keys have no other record, and an identity is a longer text. */
  readonly #byKey = new Map<unknown, Held>();
  readonly #byName = new Map<string, Held>();

  add(now: Now): void {
    const held = this.#find(now);
    if (held) merge(held.now, now);
    else if (!this.#byKey.has(now.key)) this.#byKey.set(now.key, { now, isMet: false });
    else this.#byName.set(nameOf(now), { now, isMet: false });
  }

  match(row: Identity): Now | undefined {
    const held = this.#find(row);
    if (held) held.isMet = true;
    return held?.now;
  }

  /**
   * The rows and records that are left after all rows were matched. A record of another publisher or currency continues a
   * row only if its key had one row and now has one record. With several, it is unknown which record continues which row.
   * @param left the rows that were not matched
   */
  *rest(left: readonly Row[]): Generator<[before: Row | undefined, now: Now | undefined], void, undefined> {
    const several = new Set([...this.#byName.values()].map(({ now }) => now.key));
    for (const [key, rows] of Map.groupBy(left, (row) => row.key)) {
      const held = typeof key !== 'string' || several.has(key) ? undefined : this.#byKey.get(key);
      const moved = rows.length === 1 && held && !held.isMet ? held : undefined;
      if (moved) moved.isMet = true;
      for (const row of rows) yield [row, moved?.now];
    }
    for (const held of [this.#byKey, this.#byName])
      for (const { now, isMet } of held.values()) if (!isMet) yield [undefined, now];
  }

  #find(of: Identity): Held | undefined {
    const first = this.#byKey.get(of.key);
    if (!first) return undefined;
    const { kind, publisher_id, currency } = first.now;
    const isFirst = kind === of.kind && publisher_id === of.publisher_id && currency === of.currency;
    return isFirst ? first : this.#byName.get(nameOf(of));
  }
}

function merge(known: Now, other: Now): void {
  known.records += other.records;
  if (known.state !== other.state) known.state = 'mixed';
  known.amount = sum(known.amount, other.amount);
  known.commission = sum(known.commission, other.commission);
  known.counted_amount += other.counted_amount;
  known.counted_commission += other.counted_commission;
  known.order_id ??= other.order_id;
  known.product ??= other.product;
  known.publisher_name ??= other.publisher_name;
}

function sum(one: bigint | undefined, other: bigint | undefined): bigint | undefined {
  return one === undefined ? other : one + (other ?? 0n);
}
