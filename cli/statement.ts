/**
 * Reads the statements of a month into DuckDB: its records, and the changes in months that were closed before. Closes name the
 * objects exactly, or ledgers do if the month is not closed. So the statement of a closed month stays the same as long as the
 * closes exist.
 */
import type { DuckDBConnection, Json } from '@duckdb/node-api';
import { monthOf } from '../shared/days.ts';
import { coverageTable } from '../shared/catalog/coverage.ts';
import { type TableColumns, withKnown } from '../shared/catalog/view-roles.ts';
import { configError } from '../shared/errors.ts';
import { type Close, type ClosedDay, lackingDays, namedDays } from '../shared/lake/documents/close.ts';
import { type SettingsNote, settingsInUse } from '../shared/lake/documents/brand-settings.ts';
import type { ReportLedgers } from '../shared/lake/documents/read.ts';
import {
  type CloseOptions,
  draftCloses,
  exceptionsText,
  refuseWithoutStates,
} from '../shared/operations/close-month.ts';
import { versionKey } from '../shared/lake/paths.ts';
import type { ObjectStore } from '../shared/ports.ts';
import { orders } from '../shared/reports/orders.ts';
import { transactions } from '../shared/reports/transactions.ts';
import { payouts } from '../shared/reports/views/payouts.ts';
import { countedSql, storedAmountSql, sumSql, unknownAmountsSql } from '../shared/reports/views/view-sql.ts';
import { instantText } from './output.ts';
import { printedCommand } from './printed-command.ts';
import { cell } from './query-result.ts';
import { gapNotes } from './role-notes.ts';
import { snapshotFiles } from './snapshot-cache.ts';
import { PARTITION_COLUMNS, createSqlConnection, literal, rowsOfFiles, tablesOf } from './sql-tables.ts';
import { closedRoles } from './sql-versions.ts';

export type Fact = Readonly<Record<string, string | null>>;

/** The statement of a brand. Rows have the columns of `TOTALS_SQL` and of `entriesSql`. */
export interface Statement {
  brand: string;
  month: string;
  /** The only publisher of the statement; `null`: all publishers. */
  publisher: string | null;
  closedAt: string | null;
  source: string;
  /** The start of the oldest reading; `null` if a day is missing. */
  completeAsOf: string | null;
  missing: Close['exceptions'];
  /** Lines for people: whether it is final, and whether it is complete. */
  notes: string[];
  totals: Fact[];
  /** Publishers are read one by one, so that memory holds the entries of one publisher. */
  publishers: AsyncIterable<{ totals: Fact[]; entries: Fact[] }>;
}

interface Source {
  close: Close | undefined;
  draft: Close;
  /** The closes of earlier months, the oldest first. */
  before: Close[];
}

/** The reports that state commission. */
const SOURCES = [transactions, orders];

const TABLE_SQL = `CREATE TABLE entries (brand varchar, month varchar, closed_at timestamp, publisher_id varchar,
  publisher_name varchar, entry varchar, day varchar, order_id varchar, product varchar, kind varchar, records integer,
  state_then varchar, state varchar, amount decimal(38,9), commission decimal(38,9), counted_then decimal(38,9),
  counted_now decimal(38,9), counted decimal(38,9), currency varchar, key varchar)`;

/** The entries by publisher, records first, in a stable order. @param where SQL of a condition */
export function entriesSql(where = 'true'): string {
  return `SELECT * EXCLUDE (key) FROM entries WHERE ${where}
ORDER BY brand, publisher_id NULLS LAST, entry DESC, currency NULLS LAST, day, order_id, product, kind, key, counted`;
}

const RECORD = { of: "entry = 'record'" };
/** Nobody bought anything for a bonus, so that it may lack an amount. */
const AMOUNT = { amount: 'amount', of: `${RECORD.of} AND (kind = 'sale' OR amount IS NOT NULL)` };

/** Sums by publisher, or of `all` publishers, currency, and state or month; `total`: what the publisher gets. */
export const TOTALS_SQL = `SELECT brand, 
  CASE grouping(publisher_id) WHEN 1 THEN 'all' ELSE 'one' END AS publishers, publisher_id, max(publisher_name) AS publisher_name,
  currency, coalesce(entry, 'total') AS entry, state_or_month, CAST(sum(records) AS varchar) AS records,
  CASE WHEN count(*) FILTER (${RECORD.of}) > 0 THEN ${sumSql(AMOUNT)} END AS amount,
  CASE WHEN count(*) FILTER (${RECORD.of}) > 0 THEN ${sumSql({ ...RECORD, amount: 'commission' })} END AS commission,
  ${sumSql({ amount: 'counted' })} AS counted,
  ${unknownAmountsSql(AMOUNT, { ...RECORD, amount: 'commission + counted' }, { amount: 'counted', of: "entry = 'carried'" })}
FROM (SELECT *, CASE entry WHEN 'record' THEN state ELSE substr(day, 1, 7) END AS state_or_month FROM entries)
GROUP BY GROUPING SETS ((brand, publisher_id, currency, entry, state_or_month), (brand, publisher_id, currency),
  (brand, currency, entry, state_or_month), (brand, currency))
ORDER BY brand, publishers DESC, publisher_id NULLS LAST, currency NULLS LAST, entry = 'total', entry DESC, state_or_month`;

/**
 * @returns the statement of each brand that has days of the month, or of one brand; and the connection with their entries
 * @throws BrandReportsError `config` if no brand has days of the month, or a source cannot be read
 */
export async function readStatements(
  options: Omit<CloseOptions, 'reports'> & { settingsFile?: string },
  publisher?: string,
): Promise<{ connection: DuckDBConnection; statements: Statement[] }> {
  const { lake, month, settings, settingsFile } = options;
  const reports = Object.fromEntries(SOURCES.map((report) => [report.name, report]));
  const drafts = await draftCloses({ ...options, reports });
  const ledgers: ReportLedgers[] = [];
  let others: readonly SettingsNote[] = [];
  const onLedgers = (read: readonly ReportLedgers[]) => {
    ledgers.push(...read);
    others = settingsInUse(ledgers, settings, settingsFile).notes;
  };
  const sqlLake = { store: lake.store, reports, settings, nowMs: Date.now(), onLedgers };
  const connection = await createSqlConnection(sqlLake, `FROM ${coverageTable.name}`);
  await connection.run(TABLE_SQL);
  const heads: ReturnType<typeof headOf>[] = [];
  for (const { draft, closes } of drafts) {
    const close = closes.find((each) => each.month === month);
    if (!close && draft.days.length === 0) continue;
    const before = close ? closes.slice(0, closes.indexOf(close)) : closes;
    await addEntries(connection, lake.store, { close, draft, before }, publisher);
    const head = headOf({ close, draft });
    const source = SOURCES.find(({ table }) => table === head.source);
    const own = ledgers.filter((each) => each.brand === draft.brand && each.report === source);
    const gaps = gapNotes(
      own,
      reports,
      closedRoles([close ?? draft], SOURCES),
      (view) => view === payouts.name,
    );
    const notes = others.filter(({ brand }) => brand === draft.brand && !close).map(({ text }) => text);
    heads.push({ ...head, notes: [...head.notes, ...gaps, ...notes] });
  }
  const totals = await factsOf(connection, TOTALS_SQL);
  if (heads.length === 0 || (publisher !== undefined && totals.length === 0))
    throw nothingOf(lake.store.url, month, publisher);
  const statements = heads.map((head) => {
    const own = Map.groupBy(
      totals.filter(({ brand }) => brand === head.brand),
      ({ publishers }) => publishers,
    );
    const shown = own.get(publisher === undefined ? 'all' : 'one') ?? [];
    return {
      ...head,
      notes: [...head.notes, ...unknownNotes(shown)],
      publisher: publisher ?? null,
      totals: own.get('all') ?? [],
      publishers: publishersOf(own.get('one') ?? []),
    };
  });
  return { connection, statements };

  async function* publishersOf(sums: Fact[]) {
    for (const [id, own] of Map.groupBy(sums, ({ publisher_id }) => publisher_id)) {
      const where = `brand = ${literal(own[0]?.brand)} AND publisher_id IS NOT DISTINCT FROM ${literal(id)}`;
      yield { totals: own, entries: await factsOf(connection, entriesSql(where)) };
    }
  }
}

function unknownNotes(totals: readonly Fact[]): string[] {
  const counts = totals.filter(({ entry }) => entry === 'total').map((row) => Number(row.unknown_amounts));
  const unknown = counts.reduce((sum, count) => sum + count, 0);
  return unknown === 0
    ? []
    : [
        `unknown amounts: ${unknown}, missing or not numbers, so sums with them are empty and nothing of them is final`,
      ];
}

async function factsOf(connection: DuckDBConnection, sql: string): Promise<Fact[]> {
  const found = await connection.runAndReadAll(sql);
  const names = found.deduplicatedColumnNames();
  const textOf = (value: Json) => (value === null ? null : cell(value, undefined));
  return found
    .getRowsJson()
    .map((row) => Object.fromEntries(row.map((value, index) => [names[index] ?? '', textOf(value)])));
}

/**
 * The versions of a month's days by the last of these closes, and the days that were erased since. Orders replace missing
 * transactions, also erased ones: it is the same money.
 */
function daysAt(closes: readonly Close[], month: string) {
  const named = closes.flatMap((close) => [...namedDays(close), ...(close.erased ?? [])]);
  const ofMonth = named.filter(({ day }) => monthOf(day) === month);
  const newest = [...new Map(ofMonth.map((each) => [`${each.report} ${each.day}`, each])).values()];
  const isPaid = newest.some(({ report, rows }) => report === transactions.name && rows > 0);
  const source = isPaid ? transactions : orders;
  const own = newest.filter(({ report }) => report === source.name);
  return {
    source,
    days: own.flatMap((each) => ('erasedAt' in each ? [] : [each])),
    erased: own.flatMap((each) => ('erasedAt' in each ? [each.day] : [])),
  };
}

async function addEntries(
  connection: DuckDBConnection,
  store: ObjectStore,
  { close, draft, before }: Source,
  publisher: string | undefined,
): Promise<void> {
  const at = close ?? draft;
  const selects: string[] = [];
  const add = async (side: string, { source, days }: ReturnType<typeof daysAt>, others: ClosedDay[] = []) => {
    const changed = days.filter((day) => !others.some((other) => idOf(other) === idOf(day)));
    refuseWithoutStates(at.brand, changed);
    const table = source.lifecycle?.table ?? '';
    const keys = changed.flatMap(({ day, lifecycle }) =>
      lifecycle ? [versionKey(table, at.brand, day, lifecycle.snapshot)] : [],
    );
    const paths = new Map((await snapshotFiles(store).pathsOf(keys)).map((path) => [path, path]));
    const counted = withKnown(
      countedSql(source.table),
      await columnsOf(store, at),
      closedRoles([at], SOURCES),
    );
    const amounts = ['amount', 'commission'].map((amount) => `${storedAmountSql(amount)} AS ${amount}`);
    const rows = rowsOfFiles(paths, PARTITION_COLUMNS, `'${side}' AS side`, `${counted} AS counted`);
    if (keys.length > 0) selects.push(`SELECT * REPLACE (${amounts.join(', ')}) FROM (${rows})`);
  };
  await add('record', daysAt([at], at.month));
  for (const month of new Set(before.map((close) => close.month))) {
    const [then, now] = [daysAt(before, month), daysAt([...before, at], month)];
    // A day that was erased after one of the closes is on neither side: no publisher is billed or credited for an erasure.
    const gone = new Set([...then.erased, ...now.erased]);
    const left = (days: readonly ClosedDay[]) => days.filter(({ day }) => !gone.has(day));
    await add('then', { ...then, days: left(then.days) }, now.days);
    await add('now', { ...now, days: left(now.days) }, then.days);
  }
  if (selects.length === 0) return;
  const head = [at.brand, at.month, close ? new Date(close.closedAt) : null].map(literal).join(', ');
  const only = publisher === undefined ? '' : `WHERE publisher_id = ${literal(publisher)}`;
  const from = `FROM (SELECT * FROM (${selects.join(' UNION ALL BY NAME ')}) ${only})`;
  const of = (side: string) => sumSql({ amount: 'counted', of: `side = '${side}'` });
  const stateOf = (side: string) => `max(state) FILTER (side = '${side}' AND records > 0)`;
  const sql = `INSERT INTO entries SELECT ${head}, publisher_id, publisher_name, 'record', dt, order_id, product, kind, records, NULL,
  state, amount, commission, NULL, counted, counted, currency, key ${from} WHERE side = 'record' AND records > 0
UNION ALL SELECT ${head}, publisher_id, max(publisher_name), 'carried', dt, max(order_id), max(product), kind, NULL,
  ${stateOf('then')}, coalesce(${stateOf('now')}, 'gone'), NULL, NULL, ${of('then')}, ${of('now')}, ${of('now')} - ${of('then')}, currency, key
${from} WHERE side <> 'record' GROUP BY publisher_id, dt, kind, currency, key HAVING ${of('then')} IS DISTINCT FROM ${of('now')}`;
  await connection.run(sql).catch((thrown: unknown) => {
    const [why] = String(thrown).split('\n', 1);
    const message = `Rows of the statement cannot be read: ${why}. "${printedCommand('verify')}" shows what to do.`;
    throw configError('statement_unreadable', message);
  });
}

async function columnsOf(store: ObjectStore, close: Close): Promise<TableColumns> {
  const tables = await Promise.all(SOURCES.map((report) => tablesOf(store, report, [close])));
  return new Map(tables.flat().map(({ name, columns }) => [name, columns]));
}

function idOf({ snapshot, lifecycle }: ClosedDay): string {
  return lifecycle?.snapshot ?? snapshot;
}

function nothingOf(lake: string, month: string, publisher: string | undefined) {
  const whose = publisher === undefined ? '' : ` of the publisher "${publisher}"`;
  const next = `The view commission_due shows all commission: ${printedCommand('query', ['FROM commission_due'])}`;
  return configError(
    'nothing_to_state',
    `${lake} has no order and no transaction of ${month}${whose}. ${next}`,
  );
}

function headOf({ close, draft }: Omit<Source, 'before'>) {
  const at = close ?? draft;
  const { brand, month, closedAt } = at;
  const { source, days } = daysAt([at], month);
  // A month that is not over lacks its last days.
  const isOver = (day: string) => day < closedAt.slice(0, 10);
  const missing = lackingDays(at).filter((each) => each.report === source.name && isOver(each.day));
  const [oldest = null] = days.map(({ readFrom }) => readFrom).sort();
  const completeAsOf = missing.length > 0 ? null : oldest;
  const current = new Set(draft.days.map(idOf));
  const command = (name: string) => printedCommand(name, [month], { brand });
  const notes = [
    close
      ? `closed: ${instantText(closedAt)}`
      : `not closed: may still change. To close it: ${command('close')}`,
    completeAsOf === null
      ? `days missing: ${exceptionsText(missing)}`
      : `complete as of ${instantText(completeAsOf)}`,
    `from ${source.table}${source === orders ? ', because the brand has no transactions of the month' : ''}`,
    ...(days.every((day) => current.has(idOf(day)))
      ? []
      : [`changed since it was closed: ${printedCommand('query', ['FROM since_close ORDER BY ALL'])}`]),
  ];
  return {
    brand,
    month,
    closedAt: close ? closedAt : null,
    source: source.table,
    completeAsOf,
    missing,
    notes,
  };
}
