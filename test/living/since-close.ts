/**
 * Computes from the books what changed after a close, record by record, from the record at the close to the record at
 * the end. The rows of the view `since_close` must be the same.
 */
import { type Entry, entryKey } from './books.ts';

export type EntriesByDay = ReadonlyMap<string, readonly Entry[]>;

/**
 * Sums of a table's records that have one publisher, currency and state, and the same kind of change, in units of nine
 * places; `undefined`: an amount is unknown.
 */
export interface ChangedSums {
  records: number;
  amountThen: bigint | undefined;
  amountNow: bigint | undefined;
  commissionThen: bigint | undefined;
  commissionNow: bigint | undefined;
  correction: bigint | undefined;
}

interface Sides {
  old: Entry | undefined;
  now: Entry | undefined;
}

/** @returns by table, publisher, currency, state and change: `orders 12 USD void voided`; `-` for a missing value */
export function changedSince(then: EntriesByDay, now: EntriesByDay, month: string): Map<string, ChangedSums> {
  const sums = new Map<string, ChangedSums>();
  for (const [name, entries] of now) {
    const [table = '', day = ''] = name.split(' ');
    const before = then.get(name);
    // A day that the close does not contain was not closed.
    if (!day.startsWith(`${month}-`) || !before) continue;
    const sides = sidesOf(before, entries);
    for (const side of sides) {
      const what = happened(side, sides);
      const { publisher, currency } = side.now ?? side.old ?? {};
      const state = there(side.now)?.state;
      if (what)
        addTo(sums, [table, publisher, currency, state, what].map((part) => part ?? '-').join(' '), side);
    }
  }
  return sums;
}

function sidesOf(before: readonly Entry[], after: readonly Entry[]): Sides[] {
  // If a record has changed its kind, its present values count.
  const goneFirst = after.toSorted((one, other) => one.records - other.records);
  const now = new Map(goneFirst.map((entry) => [identity(entry), entry]));
  const known = before.map((old): Sides => ({ old, now: now.get(identity(old)) }));
  const met = new Set(before.map(identity));
  return [
    ...known,
    ...after.filter((entry) => !met.has(identity(entry))).map((entry) => ({ old: undefined, now: entry })),
  ];
}

/** A record with a key may have changed its kind. */
function identity(entry: Entry): string {
  const key = entryKey(entry);
  return JSON.stringify([key ?? { kind: entry.kind }, entry.currency, entry.publisher]);
}

function there(entry: Entry | undefined): Entry | undefined {
  return entry && entry.records > 0 ? entry : undefined;
}

function happened({ old: known, now: last }: Sides, all: readonly Sides[]): string | undefined {
  const [then, now] = [there(known), there(last)];
  if (!then && !now) return undefined;
  if (!then || !now) {
    const key = entryKey(then ?? now);
    const others = all.filter((side) => key !== undefined && entryKey(side.old ?? side.now) === key);
    const isLeft = others.some((side) => there(side.old) && !there(side.now));
    const isReached = others.some((side) => !there(side.old) && there(side.now));
    if (isLeft && isReached) return 'moved';
    if (!now) return 'removed';
    return known ? 'restored' : 'added';
  }
  if (now.state === 'void' && then.state !== 'void') return 'voided';
  if (then.state === 'void' && now.state !== 'void') return 'restored';
  if (now.records !== then.records) return now.records > then.records ? 'added' : 'removed';
  if (now.amount !== then.amount || now.commission !== then.commission) return 'repriced';
  const isSame = now.state === then.state && now.countedCommission === then.countedCommission;
  return isSame ? undefined : 'state_changed';
}

function addTo(sums: Map<string, ChangedSums>, key: string, { old: known, now: last }: Sides): void {
  const [then, now] = [there(known), there(last)];
  const sum = sums.get(key);
  const plus = (name: Exclude<keyof ChangedSums, 'records'>, added: bigint | undefined) => {
    const before = sum ? sum[name] : 0n;
    return before === undefined || added === undefined ? undefined : before + added;
  };
  const [recordsThen, recordsNow] = [then?.records ?? 0, now?.records ?? 0];
  const isOfCount = key.endsWith(' added') || key.endsWith(' removed');
  const records = isOfCount ? Math.abs(recordsNow - recordsThen) : Math.max(recordsNow, recordsThen);
  const [countedThen, countedNow] = [counted(then), counted(now)];
  const isKnown = countedThen !== undefined && countedNow !== undefined;
  sums.set(key, {
    records: (sum?.records ?? 0) + records,
    amountThen: plus('amountThen', amountOf(then)),
    amountNow: plus('amountNow', amountOf(now)),
    commissionThen: plus('commissionThen', then ? then.commission : 0n),
    commissionNow: plus('commissionNow', now ? now.commission : 0n),
    correction: plus('correction', isKnown ? countedNow - countedThen : undefined),
  });
}

/** A bonus may lack an amount. */
function amountOf(entry: Entry | undefined): bigint | undefined {
  return entry && entry.kind !== 'bonus' ? entry.amount : (entry?.amount ?? 0n);
}

function counted(entry: Entry | undefined): bigint | undefined {
  if (!entry) return 0n;
  return entry.commission === undefined && entry.state !== 'void' ? undefined : entry.countedCommission;
}
