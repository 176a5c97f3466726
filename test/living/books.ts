/**
 * Keeps books of the lifecycle of each order and transaction, from the readings alone: when each reading began and
 * ended, and which records it showed. The lifecycle tables, `order_states` and `transaction_states`, must be the same.
 */
import { type Json, isJsonObject, parseJson } from '../../shared/json.ts';
import { type Committed, parseLedger } from '../../shared/lake/documents/ledger.ts';
import { parseLedgerKey, versionKey } from '../../shared/lake/paths.ts';
import type { Row } from '../../shared/lake/table/columns.ts';
import { readWithParquetjs } from '../../shared/lake/table/parquetjs-reader.ts';
import { lifecycleShape } from '../../shared/lifecycle/index.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import type { ReportDefinition } from '../../shared/reports/definition.ts';
import { reports } from '../../shared/reports/index.ts';
import { BRAND, rowsOf } from '../simulation/contents.ts';
import { type RowTexts, exactly, literalOf, textsOfRow, unlike } from '../simulation/forms.ts';
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
/** The product's clock follows the service's clock, which has whole seconds. */
const CLOCK_MS = 2000;
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
      if (outcome === 'conflict' || !scope || !report?.lifecycle) return outcome;
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
      if (before?.committed.lifecycle?.snapshot === committed.lifecycle?.snapshot && before) continue;
      await compare(reading, read.get(name) ?? [], entries.get(name) ?? []);
    }
  }

  async function compare(
    { report, day, committed }: Reading,
    all: readonly Reading[],
    expected: readonly Entry[],
  ) {
    const at = `${committed.readFrom} ${report.lifecycle?.table} ${day}`;
    const shape = lifecycleShape(report);
    if (!committed.lifecycle || !shape) return void findings.push(`${at}: the version has no lifecycle`);
    const key = versionKey(shape.name, BRAND, day, committed.lifecycle.snapshot);
    const stored = await store.get(key);
    if (!stored) return void findings.push(`${at}: ${key} is missing`);
    const rows = await Array.fromAsync(readWithParquetjs(stored.body, shape.columns));
    const { missing, surplus } = unlike(
      expected.map(formOfEntry),
      rows.map((row) => formOfStored(row, all)),
    );
    figures.compared += 1;
    if (missing.length > 0) findings.push(`${at}: lacks ${missing.join('; ')}`);
    if (surplus.length > 0) findings.push(`${at}: invents ${surplus.join('; ')}`);
    if (committed.lifecycle.rows !== rows.length)
      findings.push(`${at}: has ${rows.length} rows, the ledger has ${committed.lifecycle.rows}`);
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

/** One text for an entry and a row of the lake. Times of ends are the beginnings of their readings. */
function formOf(texts: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(texts).filter(([, value]) => value !== undefined && value !== null);
  return parts.map(([name, value]) => `${name}=${String(value)}`).join(' ');
}

function formOfEntry({ noted, gone, ages, ...entry }: Entry): string {
  const { records, orderId, product, kind, publisher, currency, state, amount, commission } = entry;
  return formOf({
    ...{ hasKey: entryKey(entry) !== undefined, order_id: orderId, product, kind, publisher_id: publisher },
    ...{ currency, seen_currency: entry.seenCurrency, records, state, amount, commission },
    ...{ counted_amount: entry.countedAmount, counted_commission: entry.countedCommission },
    ...(gone && { gone_after: gone.afterReading, gone_by: gone.by }),
    ...Object.fromEntries(
      ['seen', ...STATES].flatMap((state) => {
        const then = noted.get(state);
        return [
          [`${state}_after`, then?.afterReading],
          [`${state}_by`, then?.by],
          [`${state}_amount`, then?.amount],
          [`${state}_commission`, then?.commission],
        ];
      }),
    ),
    ...Object.fromEntries(AGES.map((age) => [`commission_${age}`, ages.get(age)])),
  });
}

const NAMES = ['order_id', 'product', 'kind', 'publisher_id', 'currency', 'seen_currency', 'records'];

function formOfStored(row: Row, readings: readonly Reading[]): string {
  const times = ['gone', 'seen', ...STATES].flatMap((what) => [`${what}_after`, `${what}_by`]);
  const texts = new Map(Object.entries(row));
  for (const name of times) {
    const at = texts.get(name);
    if (at instanceof Date)
      texts.set(name, name.endsWith('_by') ? endOfReading(at, readings) : at.toISOString());
  }
  const take = (...names: string[]) => Object.fromEntries(names.map((name) => [name, texts.get(name)]));
  return formOf({
    hasKey: typeof row.key === 'string',
    ...take(...NAMES, 'state', 'amount', 'commission', 'counted_amount', 'counted_commission'),
    ...take('gone_after', 'gone_by'),
    ...take(
      ...['seen', ...STATES].flatMap((state) =>
        ['after', 'by', 'amount', 'commission'].map((what) => `${state}_${what}`),
      ),
    ),
    ...take(...AGES.map((age) => `commission_${age}`)),
  });
}

/** When the reading began that ended then; the time itself if no reading ended then. */
function endOfReading(at: Date, readings: readonly Reading[]): string {
  const reading = readings.findLast(({ committed }) => Date.parse(committed.readFrom) < at.getTime());
  const isIn = reading && at.getTime() <= reading.atMs + CLOCK_MS;
  return isIn ? reading.committed.readFrom : `no reading ended at ${at.toISOString()}`;
}
