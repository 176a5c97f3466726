/**
 * Keeps books of the lifecycle of each order and transaction, from the readings alone: when each reading began and
 * ended, and which records it showed. Closes and statements are compared with them.
 */
import { type Json, isJsonObject, parseJson } from '../../shared/json.ts';
import { type Committed, parseLedger } from '../../shared/lake/documents/ledger.ts';
import { parseLedgerKey } from '../../shared/lake/paths.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import type { ReportDefinition } from '../../shared/reports/definition.ts';
import { reports } from '../../shared/reports/index.ts';
import { rowsOf } from '../simulation/contents.ts';
import { type RowTexts, exactly, literalOf, textsOfRow } from '../simulation/forms.ts';
import { addDays, firstInstant } from '../strict-service/days.ts';
import type { Judge } from './judge.ts';

/** The commits of a day's readings, in their order. */
export interface Reading {
  report: ReportDefinition;
  day: string;
  committed: Committed;
  /** When it was committed: the reading ended before (ms). */
  atMs: number;
}

interface Shown {
  orderId: string | undefined;
  product: string | undefined;
  kind: string;
  publisher: string | undefined;
  currency: string | undefined;
  records: number;
  /** In units of nine places; `undefined`: no record has a number. */
  amount: bigint | undefined;
  commission: bigint | undefined;
  state: string | undefined;
  /** Sums of amount and commission without void records. */
  countedAmount: bigint;
  countedCommission: bigint;
}

type Noted = { afterReading: string | undefined; by: string } & Pick<Shown, 'amount' | 'commission'>;

/** The lifecycle of the records: the first reading that showed each state. */
export interface Entry extends Shown {
  seenCurrency: string | undefined;
  gone?: { afterReading: string; by: string };
  noted: Map<string, Noted>;
  ages: Map<number, bigint>;
}

/** The columns that identify the records of the living brand. */
const FIELDS = {
  orders: { key: ['transid'], states: ['status'], type: 'type' },
  transactions: {
    key: ['order_id', 'sku'],
    states: ['sku_status', 'order_status'],
    type: 'transaction_type',
  },
} as const;
type BookedTable = keyof typeof FIELDS;
export const bookedTables: readonly BookedTable[] = ['orders', 'transactions'];

const BONUSES = /^(bonus|campaign_.*|performance_bonus)$/;
const STATES = ['effective', 'locked', 'paid', 'void'];
const AGES = [0, 30, 60, 90];
const PLACES = 9;

/** Notes each reading that a run commits, and passes all writes of ledgers on, so that other runs are noted too. */
export function notingReadings(store: ObjectStore, nowMs: () => number, note: (reading: Reading) => void) {
  const known = new Map<string, string>();
  const begun = new Map<string, string>();
  return {
    ...store,
    async put(...[key, body, precondition]: Parameters<ObjectStore['put']>) {
      const outcome = await store.put(key, body, precondition);
      const scope = parseLedgerKey(key);
      const report = Object.values(reports).find(({ name }) => name === scope?.report);
      if (outcome === 'conflict' || !scope || !report?.states) return outcome;
      const text = Buffer.from(body).toString();
      // A ledger is written several times during a reading, and parsing it takes long.
      const readings = (text.match(/"(?:readFrom|attempt)":"[^"]*"/g) ?? []).join();
      if (known.get(key) === readings) return outcome;
      known.set(key, readings);
      for (const [day, { committed }] of Object.entries(parseLedger(key, scope)(parseJson(text)).days)) {
        const reading = committed && `${committed.attempt} ${committed.readFrom} ${committed.snapshot}`;
        const name = `${report.table} ${day}`;
        if (!reading || begun.get(name) === reading) continue;
        begun.set(name, reading);
        note({ report, day, committed, atMs: nowMs() });
      }
      return outcome;
    },
  };
}

export interface Books {
  /** The faults; an empty list is right. */
  readonly findings: string[];
  readonly figures: { transitions: number; compared: number; gone: number; moved: number };
  /** By table and day: the lifecycle of its records, as of the newest reading. */
  readonly entries: ReadonlyMap<string, readonly Entry[]>;
  /** Books the readings since the last time, and compares the lake's books of each. */
  book(): Promise<void>;
}

export function createBooks(
  readings: Reading[],
  {
    store,
    judge,
    timeZone,
  }: { store: ObjectStore; judge: Pick<Judge, 'seen' | 'columnsOf'>; timeZone: string },
): Books {
  const findings: string[] = [];
  const figures = { transitions: 0, compared: 0, gone: 0, moved: 0 };
  const entries = new Map<string, Entry[]>();
  const read = new Map<string, Reading[]>();

  async function textsOf({ report, day, committed: { snapshot } }: Reading): Promise<readonly RowTexts[]> {
    const seen = judge.seen.get(`${report.table} ${day}`)?.find((one) => one.committed.snapshot === snapshot);
    if (seen) return seen.texts;
    const columns = await judge.columnsOf(report);
    const rows = await rowsOf(store, report, day, snapshot, columns);
    return rows.map((row) => textsOfRow(row, columns));
  }

  async function book(): Promise<void> {
    for (const reading of readings.splice(0)) {
      const { report, day, committed } = reading;
      const name = `${report.table} ${day}`;
      const earlier = read.get(name) ?? [];
      const before = earlier.at(-1);
      read.set(name, [...earlier, reading]);
      if (before?.committed.snapshot !== committed.snapshot)
        entries.set(
          name,
          replaced(entries.get(name) ?? [], shownBy(await textsOf(reading), report.table), {
            before,
            reading,
            endOfAge: (age) => firstInstant(addDays(day, age + 1), timeZone),
          }),
        );
    }
  }

  /** The entries after a version replaced another one. */
  function replaced(
    old: readonly Entry[],
    shown: readonly Shown[],
    {
      before,
      reading,
      endOfAge,
    }: { before: Reading | undefined; reading: Reading; endOfAge: (age: number) => number },
  ): Entry[] {
    const by = reading.committed.readFrom;
    const afterReading = before?.committed.readFrom;
    const ages = before ? AGES.filter((age) => isPast(age, endOfAge, before, reading)) : [];
    const aged = old.map((entry): Entry => {
      return {
        ...entry,
        ages: new Map([...ages.map((age) => [age, entry.countedCommission] as const), ...entry.ages]),
      };
    });
    const left = new Map(aged.map((entry) => [identity(entry), entry]));
    const next = shown.map((now): Entry => {
      const own = left.get(identity(now)) ?? movedFrom(now, shown, aged);
      if (own) left.delete(identity(own));
      if (own && identity(own) !== identity(now)) figures.moved += 1;
      const entry: Entry = {
        ...now,
        seenCurrency: own ? own.seenCurrency : now.currency,
        noted: new Map(own?.noted),
        // Later entries did not exist then.
        ages: new Map(own?.ages ?? ages.map((age) => [age, 0n])),
      };
      for (const state of ['seen', ...(STATES.includes(now.state ?? '') ? [now.state ?? ''] : [])]) {
        if (entry.noted.has(state)) continue;
        figures.transitions += 1;
        entry.noted.set(state, { afterReading, by, amount: now.amount, commission: now.commission });
      }
      return entry;
    });
    for (const entry of left.values()) {
      const gone = entry.gone ?? { afterReading: afterReading ?? '', by };
      if (!entry.gone) figures.gone += 1;
      next.push({ ...entry, records: 0, countedAmount: 0n, countedCommission: 0n, gone });
    }
    return next;
  }

  return { findings, figures, entries, book };
}

/** Whether the replaced version was the current version when the day had that age. */
function isPast(age: number, endOfAge: (age: number) => number, before: Reading, next: Reading): boolean {
  if (age === 0) return before.committed.state !== 'open';
  // Ages are calendar days: with summer time, 30 of them are not 720 hours.
  return Date.parse(next.committed.readFrom) > endOfAge(age);
}

/** `undefined`: the record has no key. */
export function entryKey({ orderId, product }: Partial<Shown> = {}): string | undefined {
  return orderId === undefined && product === undefined ? undefined : JSON.stringify([orderId, product]);
}

/** The columns by which the lake identifies the entries of a day. */
export function identity(shown: Shown): string {
  const key = entryKey(shown);
  const { currency, publisher, kind } = shown;
  return JSON.stringify([key, kind, currency, publisher]);
}

/** The entry of a record that changed its currency, publisher or kind, if its key leaves no doubt. */
function movedFrom(now: Shown, shown: readonly Shown[], entries: readonly Entry[]): Entry | undefined {
  const key = entryKey(now);
  const [only, other] = entries.filter((entry) => entryKey(entry) === key);
  const isAlone = shown.filter((one) => entryKey(one) === key).length === 1;
  return key !== undefined && isAlone && !other ? only : undefined;
}

function shownBy(rows: readonly RowTexts[], table: string): Shown[] {
  const booked = bookedTables.find((one) => one === table);
  if (!booked) throw new Error(`no books are kept of ${table}`);
  const all = rows.map((row) => shownIn(row, FIELDS[booked]));
  return [...Map.groupBy(all, identity).values()].map((alike) => {
    const states = new Set(alike.map(({ state }) => state));
    const last = alike.at(-1);
    if (!last) throw new Error('a group has a record');
    return {
      ...last,
      records: alike.length,
      amount: sumOf(alike.map(({ amount }) => amount)),
      commission: sumOf(alike.map(({ commission }) => commission)),
      state: states.size > 1 ? 'mixed' : last.state,
      countedAmount: sumOf(alike.map((of) => of.countedAmount)) ?? 0n,
      countedCommission: sumOf(alike.map((of) => of.countedCommission)) ?? 0n,
    };
  });
}

function shownIn(row: RowTexts, { key, states, type }: (typeof FIELDS)[BookedTable]): Shown {
  const rescued = exactly(row.get('_rescued') ?? '{}');
  const amountIn = (column: string) => {
    const [beside] = isJsonObject(rescued) ? [rescued[column]] : [];
    return unitsOf(row.get(column) ?? (beside === undefined ? undefined : textOf(beside)));
  };
  const [id, product] = key.map((column) => row.get(column));
  const [state] = states.flatMap((column) => row.get(column) ?? []);
  const [amount, commission] = [amountIn('amount'), amountIn('commission')];
  return {
    ...{ orderId: id, product, records: 1 },
    kind: BONUSES.test(row.get(type) ?? '') ? 'bonus' : 'sale',
    publisher: row.get('publisher_id'),
    currency: row.get('currency'),
    ...{ state, amount, commission },
    countedAmount: state === 'void' ? 0n : (amount ?? 0n),
    countedCommission: state === 'void' ? 0n : (commission ?? 0n),
  };
}

function textOf(value: Json): string {
  return typeof value === 'string' ? value : (literalOf(value) ?? '');
}

/** In units of nine places; `undefined` if the text is not a number, such as `12,50`. */
function unitsOf(text: string | undefined): bigint | undefined {
  const [, sign, whole = '', places = ''] = /^(-?)(\d+)(?:\.(\d{1,9}))?$/.exec(text ?? '') ?? [];
  return whole === '' ? undefined : BigInt(`${sign}${whole}${places.padEnd(PLACES, '0')}`);
}

function sumOf(amounts: readonly (bigint | undefined)[]): bigint | undefined {
  const known = amounts.filter((amount) => amount !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, amount) => sum + amount, 0n);
}
