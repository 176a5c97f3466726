/** Compares the output of commands about closed months with the books, to the last digit. */
import { type Json, type JsonObject, isJsonObject } from '../../shared/json.ts';
import { runCli } from '../cli/run-cli.ts';
import { exactly, literalOf, numberForm, unlike } from '../simulation/forms.ts';
import { type Entry, identity } from './books.ts';
import type { LivedLife } from './months.ts';
import { type EntriesByDay, changedSince } from './since-close.ts';

/** @param folder the whole lake, as files */
export async function wrongSinceClose({ books, closes }: LivedLife, folder: string): Promise<string[]> {
  const wrong: string[] = [];
  for (const { month, entries } of closes) {
    const sql = `SELECT * FROM since_close WHERE close = '${month}'`;
    const changes = await jsonOf('query', sql, '--json', '--lake', folder);
    const expected = [...changedSince(entries, books.entries, month)].map(([of, sums]) =>
      formOf([of, sums.records, ...SUMS.map(([name]) => unitsForm(sums[name]))]),
    );
    const found = objectsIn(changes).map((row) => {
      const of = ['report', 'publisher_id', 'currency', 'state', 'what'].map((name) => row[name]);
      return formOf([...of, row.records, ...SUMS.map(([, name]) => valueForm(row[name]))]);
    });
    wrong.push(...differences(`since ${month}`, expected, found));
  }
  return wrong;
}

/** @param folder the whole lake, as files */
export async function wrongStatements({ closes }: LivedLife, folder: string): Promise<string[]> {
  const wrong: string[] = [];
  for (const [index, { month, entries }] of closes.entries()) {
    const lines = recordsOf(entries, month);
    const before = closes[index - 1];
    for (const earlier of closes.slice(0, index))
      if (before) lines.push(...carriedBetween(before.entries, entries, earlier.month));
    const document = await jsonOf('statement', '--month', month, '--format', 'json', '--lake', folder);
    const statements = isJsonObject(document) ? objectsIn(document.statements) : [];
    const publishers = statements.flatMap((statement) => objectsIn(statement.publishers));
    const found = publishers.flatMap((publisher) => objectsIn(publisher.entries)).map(formOfStated);
    wrong.push(...differences(`statement of ${month}`, lines.map(formOfLine), found));
    const totals = [
      ...statements.flatMap((of) => objectsIn(of.totals).map((row) => formOfTotal('all', row))),
      ...publishers.flatMap((of) => objectsIn(of.totals).map((row) => formOfTotal(row.publisher_id, row))),
    ];
    wrong.push(...differences(`totals of ${month}`, totalsOf(lines), totals));
  }
  return wrong;
}

/** The amount that a publisher gets for a record, or the difference for a record of a month that was closed before. */
interface Line {
  entry: 'record' | 'carried';
  day: string;
  of: Entry;
  counted: bigint;
}

/** Orders and transactions are the same money, so a statement has only the transactions. */
function daysOf(entries: EntriesByDay, month: string): [day: string, entries: readonly Entry[]][] {
  const start = `transactions ${month}-`;
  const own = [...entries].filter(([name]) => name.startsWith(start));
  return own.map(([name, of]) => [name.slice('transactions '.length), of]);
}

function recordsOf(entries: EntriesByDay, month: string): Line[] {
  return daysOf(entries, month).flatMap(([day, all]) =>
    all.flatMap((of) =>
      of.records > 0 ? [{ entry: 'record', day, of, counted: of.countedCommission } as const] : [],
    ),
  );
}

function carriedBetween(then: EntriesByDay, now: EntriesByDay, month: string): Line[] {
  const before = new Map(daysOf(then, month));
  return daysOf(now, month).flatMap(([day, all]) => {
    const left = new Map((before.get(day) ?? []).map((entry) => [identity(entry), entry]));
    const lines = all.map((of): Line => {
      const old = left.get(identity(of));
      left.delete(identity(of));
      return { entry: 'carried', day, of, counted: of.countedCommission - (old?.countedCommission ?? 0n) };
    });
    const moved = [...left.values()].map(
      (of): Line => ({ entry: 'carried', day, of, counted: -of.countedCommission }),
    );
    return [...lines, ...moved].filter((line) => line.counted !== 0n);
  });
}

function formOfLine({ entry, day, of, counted: sum }: Line): string {
  const { orderId, product, kind, publisher, currency, records, state, amount, commission } = of;
  const own = entry === 'record' ? [records, state, unitsForm(amount), unitsForm(commission)] : [];
  return formOf([entry, day, orderId, product, kind, publisher, currency, ...own, unitsForm(sum)]);
}

function formOfStated(row: JsonObject): string {
  const names = ['entry', 'day', 'order_id', 'product', 'kind', 'publisher_id', 'currency'];
  const own =
    row.entry === 'record' ? [row.records, row.state, valueForm(row.amount), valueForm(row.commission)] : [];
  return formOf([...names.map((name) => row[name]), ...own, valueForm(row.counted)]);
}

/** Totals by publisher and overall, by currency, and by state or month. */
function totalsOf(lines: readonly Line[]): string[] {
  const sums = new Map<string, bigint>();
  for (const { entry, day, of, counted: sum } of lines)
    for (const publisher of ['all', of.publisher])
      for (const part of [
        [entry, entry === 'record' ? of.state : day.slice(0, 7)],
        ['total', null],
      ]) {
        const key = formOf([publisher, of.currency, ...part]);
        sums.set(key, (sums.get(key) ?? 0n) + sum);
      }
  return [...sums].map(([key, sum]) => `${key} ${unitsForm(sum)}`);
}

function formOfTotal(publisher: unknown, row: JsonObject): string {
  return formOf([publisher, row.currency, row.entry, row.state_or_month, valueForm(row.counted)]);
}

const SUMS = [
  ['correction', 'correction'],
  ['amountThen', 'amount_then'],
  ['amountNow', 'amount_now'],
  ['commissionThen', 'commission_then'],
  ['commissionNow', 'commission_now'],
] as const;

async function jsonOf(...args: string[]): Promise<Json> {
  const { stdout, stderr } = await runCli(args);
  if (stdout === '') throw new Error(`${args.join(' ')}: ${stderr}`);
  return exactly(stdout);
}

function objectsIn(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function differences(at: string, expected: readonly string[], found: readonly string[]): string[] {
  const { missing, surplus } = unlike(expected, found);
  return [
    ...missing.map((line) => `${at}: the books have ${line}`),
    ...surplus.map((line) => `${at}: the lake has ${line}`),
  ];
}

/** Numbers of JSON in their written form. */
function formOf(cells: readonly unknown[]): string {
  const text = (cell: unknown) => (typeof cell === 'object' ? JSON.stringify(cell) : String(cell));
  return cells.map((cell) => (cell === undefined || cell === null ? '-' : text(cell))).join(' ');
}

function unitsForm(units: bigint | undefined): string | undefined {
  return units === undefined ? undefined : numberForm(`${units}e-9`);
}

/** Decimals are texts or numbers. */
function valueForm(value: JsonObject[string] | undefined): string | undefined {
  if (value === undefined || value === null) return undefined;
  return numberForm(typeof value === 'string' ? value : (literalOf(value) ?? ''));
}
