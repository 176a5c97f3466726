/* Finds the records of a version for the rows before it: by key, kind, publisher and currency, else by a key of its own. */
import type { Row } from '../lake/table/columns.ts';
import type { Now } from './records.ts';

/** What a row is found by. */
export type Identity = Pick<Row, 'key' | 'kind' | 'publisher_id' | 'currency' | 'order_id' | 'product'>;

/** All records with one key. */
interface OfKey {
  first: Now;
  /** Those of another kind, publisher or currency, by these. */
  others?: Map<string, Now>;
  /** How many rows had the key before. */
  before: number;
  /** Those of them that none of the records continues by its kind, publisher and currency. */
  unmatched?: Row[];
}

export class NowIndex {
  #byKey = new Map<unknown, OfKey>();
  readonly #keyless = new Map<string, Now>();
  readonly #met = new Set<Now>();
  #isByOrder = false;

  /** Adds a record: those with one identity are one. */
  add(now: Now): void {
    const { key } = now;
    if (key === undefined) return addTo(this.#keyless, now);
    const known = this.#byKey.get(key);
    if (!known) this.#byKey.set(key, { first: now, before: 0 });
    else if (isSame(known.first, now)) merge(known.first, now);
    else addTo((known.others ??= new Map()), now);
  }

  /** From now on rows are found by order and product: their keys are others than those of the records. */
  groupByOrder(): void {
    const all = [...this.#byKey.values()].flatMap(({ first, others }) => [
      first,
      ...(others?.values() ?? []),
    ]);
    this.#isByOrder = true;
    this.#byKey = new Map();
    for (const now of all) {
      const known = this.#byKey.get(orderOf(now));
      if (!known) this.#byKey.set(orderOf(now), { first: now, before: 0 });
      else (known.others ??= new Map()).set(JSON.stringify([now.key, nameOf(now)]), now);
    }
  }

  /** The records that continue a row; `later`: `rest` decides, after all rows. */
  match(row: Identity, rowOf: () => Row): Now | 'later' | undefined {
    const hasKey = typeof row.key === 'string';
    const of = hasKey ? this.#byKey.get(this.#isByOrder ? orderOf(row) : row.key) : undefined;
    if (hasKey && !of) return undefined;
    if (of) of.before += 1;
    const isFirst = of && !this.#isByOrder && isSame(of.first, row);
    const found = isFirst ? of.first : (of ? of.others : this.#keyless)?.get(nameOf(row));
    if (found) this.#met.add(found);
    if (found || !of) return found;
    (of.unmatched ??= []).push(rowOf());
    return 'later';
  }

  /**
   * What is left after all rows. A record whose publisher or currency is another one now continues its row if its key had
   * one row and has one: of several nobody knows which became which.
   */
  *rest(): Generator<{ before?: Row; now?: Now }, void, undefined> {
    for (const { first, others, before, unmatched = [] } of this.#byKey.values()) {
      const [row] = unmatched;
      if (row && before === 1 && !others) {
        yield { before: row, now: first };
        continue;
      }
      for (const each of unmatched) yield { before: each };
      for (const now of [first, ...(others?.values() ?? [])]) if (!this.#met.has(now)) yield { now };
    }
    for (const now of this.#keyless.values()) if (!this.#met.has(now)) yield { now };
  }
}

function addTo(group: Map<string, Now>, now: Now): void {
  const name = nameOf(now);
  const known = group.get(name);
  if (known) merge(known, now);
  else group.set(name, now);
}

function isSame(one: Identity, other: Identity): boolean {
  return (
    one.publisher_id === other.publisher_id && one.currency === other.currency && one.kind === other.kind
  );
}

/** Of rows without a key, and of those with one key. */
export function nameOf({ kind, publisher_id, currency }: Identity): string {
  return JSON.stringify([kind, publisher_id ?? null, currency ?? null]);
}

function orderOf({ order_id, product }: Identity): string {
  return JSON.stringify([order_id ?? null, product ?? null]);
}

function merge(known: Now, other: Now): void {
  known.records += other.records;
  if (known.state !== other.state) known.state = 'mixed';
  known.amount = sum(known.amount, other.amount);
  known.commission = sum(known.commission, other.commission);
  known.order_id ??= other.order_id;
  known.product ??= other.product;
  known.publisher_name ??= other.publisher_name;
}

function sum(one: bigint | undefined, other: bigint | undefined): bigint | undefined {
  return one === undefined ? other : one + (other ?? 0n);
}
