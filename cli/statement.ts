/**
 * A statement is what counts at a close, minus what counted at the close before it. What people were paid counts as it was shown,
 * so the rest of both totals is an entry of its own, and statements always add up to what counts.
 */
import type { DuckDBConnection, Json } from '@duckdb/node-api';
import { addMonths, endOfDay, instantText } from '../shared/base/days.ts';
import { configError } from '../shared/base/errors.ts';
import { type Close, closedDays, lackingDays } from '../shared/lake/close.ts';
import { type SettingsNote, readSettingsVersion, settingsInUse } from '../shared/lake/brand-settings.ts';
import { readLedgers } from '../shared/lake/read.ts';
import {
  type DraftOptions,
  MONEY_REPORTS,
  type MonthDraft,
  draftCloses,
  endOfMonth,
  exceptionsText,
} from '../shared/operations/close-month.ts';
import { reports as allReports } from '../shared/reports/index.ts';
import { payouts } from '../shared/reports/views/payouts.ts';
import {
  SAME_RECORD,
  latestNameSql,
  sumOfCopiesSql,
  unknownCopiesSql,
} from '../shared/reports/views/since-close.ts';
import { sumSql, unknownAmountsSql } from '../shared/reports/views/view-sql.ts';
import type { LakeBrandSettings } from '../shared/settings/settings.ts';
import { tableRoles } from '../shared/catalog/view-roles.ts';
import {
  SIGNED_SUMS,
  type Comparison,
  comparedDays,
  comparedSql,
  comparisonOf,
  fillComparedDays,
  monthSources,
  openHistories,
  signedSums,
  totalsAt,
} from './close-sums.ts';
import { printedCommand } from './printed-command.ts';
import { cell } from './query-result.ts';
import { gapNotes } from './role-notes.ts';
import { literal } from './sql-files.ts';

export type Fact = Readonly<Record<string, string | null>>;

/** The statement of a brand. Rows have the columns of `TOTALS_SQL` and of `entriesSql`. */
export interface Statement {
  brand: string;
  month: string;
  /** The only publisher of the statement; `null`: all publishers. */
  publisher: string | null;
  closedAt: string | null;
  source: string;
  /** The start of the oldest reading; `null` if the month is not over in the brand's zone, or a day is missing. */
  completeAsOf: string | null;
  missing: Close['exceptions'];
  /** Lines for people: whether it is final, and whether it is complete. */
  notes: string[];
  totals: Fact[];
  /** Publishers are read one by one, so that memory holds the entries of one publisher. */
  publishers: AsyncIterable<{ totals: Fact[]; entries: Fact[] }>;
}

/** A number, and a text that a spreadsheet would run as a formula, in half or full width. Some programs skip what is not seen. */
const NUMBER = /^[+-]?\d+(\.\d+)?$/;
const FORMULA = /^([\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠﹢﹣﹦﹫−]|[\t\r\n])/u;

/** A statement is sent to people who open it in a spreadsheet, and the service chose its names and ids. */
export function inertCell<Value>(value: Value): Value | string {
  return typeof value === 'string' && FORMULA.test(value) && !NUMBER.test(value) ? `'${value}` : value;
}

/** `known`: what an entry adds to the known sums, even if one of its records has no known commission. */
export const ENTRIES_TABLE = `CREATE TABLE entries (brand varchar, month varchar, closed_at timestamp, publisher_id varchar,
  publisher_name varchar, entry varchar, reason varchar, day varchar, order_id varchar, product varchar, kind varchar, records integer,
  state_then varchar, state varchar, amount decimal(38,9), commission decimal(38,9), counted_then decimal(38,9),
  counted_now decimal(38,9), counted decimal(38,9), currency varchar, key varchar, known decimal(38,9))`;

const ENTRY_ORDER = "CASE entry WHEN 'record' THEN 1 WHEN 'carried' THEN 2 ELSE 3 END";

/** The entries by publisher, records first, in a stable order. @param where SQL of a condition */
export function entriesSql(where = 'true'): string {
  return `SELECT * EXCLUDE (key, known) FROM entries WHERE ${where}
ORDER BY brand, publisher_id NULLS LAST, ${ENTRY_ORDER}, currency NULLS LAST, day, order_id, product, kind, key, counted`;
}

const RECORD = { of: "entry = 'record'" };
/** Nobody bought anything for a bonus, so that it may lack an amount. */
const AMOUNT = { amount: 'amount', of: `${RECORD.of} AND (kind = 'sale' OR amount IS NOT NULL)` };

/** Sums by publisher, or of `all` publishers, currency, and state or month; `total`: what the publisher gets. */
export const TOTALS_SQL = `SELECT brand,
  CASE grouping(publisher_id) WHEN 1 THEN 'all' ELSE 'one' END AS publishers, publisher_id,
  CASE grouping(publisher_id) WHEN 0 THEN max(publisher_name) END AS publisher_name,
  currency, coalesce(entry, 'total') AS entry, state_or_month, CAST(sum(records) AS varchar) AS records,
  CASE WHEN count(*) FILTER (${RECORD.of}) > 0 THEN ${sumSql(AMOUNT)} END AS amount,
  CASE WHEN count(*) FILTER (${RECORD.of}) > 0 THEN ${sumSql({ ...RECORD, amount: 'commission' })} END AS commission,
  ${sumSql({ amount: 'counted' })} AS counted,
  ${unknownAmountsSql(AMOUNT, { ...RECORD, amount: 'commission + counted' }, { amount: 'counted', of: "entry <> 'record'" })}
FROM (SELECT *, CASE entry WHEN 'record' THEN state WHEN 'carried' THEN substr(day, 1, 7) ELSE reason END AS state_or_month FROM entries)
GROUP BY GROUPING SETS ((brand, publisher_id, currency, entry, state_or_month), (brand, publisher_id, currency),
  (brand, currency, entry, state_or_month), (brand, currency))
ORDER BY brand, publishers DESC, publisher_id NULLS LAST, currency NULLS LAST, entry = 'total', ${ENTRY_ORDER}, state_or_month`;

/** @throws BrandReportsError `config` if no brand has days of the month, a later close has them, or a source cannot be read */
export async function readStatements(
  options: Omit<DraftOptions, 'reports' | 'sums'> & { settingsFile?: string },
  publisher?: string,
): Promise<{ connection: DuckDBConnection; statements: Statement[] }> {
  const { lake, month, settings, settingsFile } = options;
  const reports = Object.fromEntries(MONEY_REPORTS.map((report) => [report.name, report]));
  const drafts = await draftCloses({ ...options, reports, sums: { sourcesOf: monthSources } });
  drafts.forEach(refuseWithoutOwnClose);
  const ledgers = await readLedgers(lake.store, reports, {}, Date.now());
  const inUse = settingsInUse(ledgers, settings, settingsFile);
  const shown: Record<string, LakeBrandSettings> = {};
  for (const draft of drafts) {
    const { brand } = draft.close;
    const ofClose = closeOf(draft)?.settings;
    const kept = ofClose && (await readSettingsVersion(lake.store, brand, ofClose, allReports));
    const used = kept ?? inUse.settings?.brands[brand];
    if (used) shown[brand] = used;
  }
  const connection = await openHistories(lake.store, shown);
  await connection.run(ENTRIES_TABLE);
  const heads: Omit<Statement, 'publisher' | 'totals' | 'publishers'>[] = [];
  for (const draft of drafts) {
    const comparison = comparisonOf(draft);
    const close = closeOf(draft);
    // A close without a changed day may have what settings changed.
    if (comparison.at.days.length + comparison.openDays.length + (close?.totals.length ?? 0) === 0) continue;
    await addEntries(connection, comparison, close, publisher);
    const head = headOf(draft, inUse.notes);
    const source = MONEY_REPORTS.find(({ table }) => table === head.source);
    const own = ledgers.filter((each) => each.brand === head.brand && each.report === source);
    const roles = tableRoles(MONEY_REPORTS, { brands: shown });
    const gaps = gapNotes(own, reports, roles, (view) => view === payouts.name);
    heads.push({ ...head, notes: [...head.notes, ...gaps] });
  }
  const totals = await factsOf(connection, TOTALS_SQL);
  if (heads.length === 0 || (publisher !== undefined && totals.length === 0))
    throw configError(
      'nothing_to_state',
      `${lake.store.url} has no order of ${month}${publisher === undefined ? '' : ` of the publisher "${publisher}"`}. All commission: ${printedCommand('query', ['FROM commission_due'])}`,
    );
  const statements = heads.map((head) => {
    const own = Map.groupBy(
      totals.filter(({ brand }) => brand === head.brand),
      ({ publishers }) => publishers,
    );
    const ofOutlet = own.get(publisher === undefined ? 'all' : 'one') ?? [];
    return {
      ...head,
      notes: [...head.notes, ...unknownNotes(ofOutlet)],
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

function closeOf({ close: { month }, closes }: MonthDraft): Close | undefined {
  return closes.find((each) => each.month === month);
}

/** @throws BrandReportsError `config` if the records of the month are in the statement of a later close, or were before all */
function refuseWithoutOwnClose(draft: MonthDraft): void {
  const { brand, month } = draft.close;
  const later = draft.closes.find((each) => each.month > month);
  if (closeOf(draft) || !later) return;
  const where =
    draft.closes[0] === later
      ? `was over before the first closed month, ${later.month}, and counts as paid`
      : `has no close of its own: its records are in the statement of ${later.month}`;
  const next = printedCommand('statement', ['--month', later.month], { brand });
  throw configError('nothing_to_state', `${month} of ${brand} ${where}. Show that statement: ${next}`);
}

function unknownNotes(totals: readonly Fact[]): string[] {
  const sums = totals.filter(({ entry }) => entry === 'total');
  const unknown = sums.reduce((sum, row) => sum + Number(row.unknown_amounts), 0);
  const text = `unknown amounts: ${unknown}, missing or not numbers, so sums with them are empty and nothing of them is final`;
  return unknown === 0 ? [] : [text];
}

async function factsOf(connection: DuckDBConnection, sql: string): Promise<Fact[]> {
  const found = await connection.runAndReadAll(sql);
  const names = found.deduplicatedColumnNames();
  const textOf = (value: Json) => (value === null ? null : cell(value));
  return found
    .getRowsJson()
    .map((row) => Object.fromEntries(row.map((value, index) => [names[index] ?? '', textOf(value)])));
}

export async function addEntries(
  connection: DuckDBConnection,
  comparison: Comparison,
  close: Close | undefined,
  publisher: string | undefined,
): Promise<void> {
  const { brand, month } = comparison;
  const totals = close?.totals ?? (await totalsAt(connection, comparison));
  await fillComparedDays(connection, brand, comparedDays(comparison));
  const state = (copies: string) =>
    `CASE WHEN count(DISTINCT state) FILTER (${copies} > 0) = 1 THEN max(state) FILTER (${copies} > 0) WHEN sum(${copies}) > 0 THEN 'mixed' END`;
  const sumOf = (amount: string) =>
    `CASE WHEN sum(CASE WHEN ${amount} IS NULL THEN copies_now ELSE 0 END) = 0 THEN sum(copies_now * coalesce(${amount}, 0)) END`;
  const [then, now] = [sumOfCopiesSql('copies_then'), sumOfCopiesSql('copies_now')];
  const [unknownThen, unknownNow] = [unknownCopiesSql('copies_then'), unknownCopiesSql('copies_now')];
  const isOwn = `substr(dt, 1, 7) = ${literal(month)} AND copies_then = 0 AND NOT is_switched`;
  const closedAt = literal(close ? new Date(close.closedAt) : null);
  const head = `${literal(brand)} AS brand, ${literal(month)} AS month, ${closedAt} AS closed_at`;
  // A record without a key that came and went again has a copy too many and one too few.
  const sql = `INSERT INTO entries BY NAME WITH ${comparedSql()},
summed AS (
  SELECT * EXCLUDE (copies_then, copies_now, copies_opening), sum(copies_then) AS sum_then, sum(copies_now) AS sum_now
  FROM differences GROUP BY ALL
),
netted AS (
  SELECT *, CASE WHEN is_net THEN greatest(sum_then - sum_now, 0) ELSE sum_then END AS copies_then,
    CASE WHEN is_net THEN greatest(sum_now - sum_then, 0) ELSE sum_now END AS copies_now
  FROM (SELECT *, key IS NULL AND NOT is_switched AS is_net FROM summed)
)
SELECT ${head}, found.* FROM (
  SELECT publisher_id, max(publisher_name) AS publisher_name, 'record' AS entry, NULL AS reason, dt AS day, order_id, product, kind,
    sum(copies_now) AS records, NULL AS state_then, state, ${sumOf('amount')} AS amount, ${sumOf('commission')} AS commission,
    NULL AS counted_then, ${sumOf('counted')} AS counted_now, ${sumOf('counted')} AS counted, currency, key, ${now} AS known
  FROM netted WHERE ${isOwn} AND copies_now <> 0
  GROUP BY publisher_id, dt, order_id, product, kind, state, currency, key
  UNION ALL
  SELECT publisher_id, ${latestNameSql()}, 'carried', CASE WHEN bool_or(is_switched) THEN ${literal('transactions and orders replace each other')} END,
    max(dt), max(order_id), CASE WHEN NOT bool_or(is_switched) THEN max(product) END, max(kind), NULL,
    ${state('copies_then')}, coalesce(${state('copies_now')}, CASE WHEN sum(copies_now) = 0 THEN 'gone' END), NULL, NULL,
    CASE WHEN ${unknownThen} = 0 THEN ${then} END, CASE WHEN ${unknownNow} = 0 THEN ${now} END,
    CASE WHEN ${unknownNow} = 0 THEN ${now} - ${then} END, currency, CASE WHEN NOT bool_or(is_switched) THEN max(key) END, ${now} - ${then}
  FROM netted WHERE NOT (${isOwn}) AND (copies_then <> 0 OR copies_now <> 0)
  GROUP BY ${SAME_RECORD}
  HAVING ${then} <> ${now} OR ${unknownThen} <> ${unknownNow}
) AS found`;
  const rest = `INSERT INTO entries BY NAME
SELECT ${head}, publisher_id, max(publisher_name) AS publisher_name, 'rest' AS entry, ${literal(reasonOf(comparison))} AS reason,
  sum(counted) AS counted, sum(counted) AS known, currency FROM (
  SELECT * FROM (VALUES ${signedSums(
    totals.map((total) => ({ ...total, counted: total.statement })),
    [],
  )}) AS totals${SIGNED_SUMS}
  UNION ALL SELECT publisher_id, NULL, currency, -known FROM entries WHERE brand = ${literal(brand)}
) AS sides GROUP BY publisher_id, currency HAVING sum(counted) <> 0`;
  const names = `UPDATE entries SET publisher_name = totals.publisher_name FROM (VALUES ${signedSums(totals, [])}) AS totals${SIGNED_SUMS}
WHERE entries.brand = ${literal(brand)} AND entries.publisher_name IS NULL AND entries.publisher_id = totals.publisher_id`;
  const run = async () => {
    await connection.run(sql);
    await connection.run(rest);
    await connection.run(names);
    if (publisher !== undefined)
      await connection.run(`DELETE FROM entries WHERE publisher_id IS DISTINCT FROM ${literal(publisher)}`);
  };
  await run().catch((thrown: unknown) => {
    const [why] = String(thrown).split('\n', 1);
    const message = `Rows of the statement cannot be read: ${why}. "${printedCommand('verify')}" shows what to do.`;
    throw configError('statement_unreadable', message);
  });
}

/** Why the totals that were shown differ by more than the records. */
function reasonOf(comparison: Comparison): string {
  const { before, at } = comparison;
  const last = before.at(-1);
  // What such a day was at the close before is not known.
  if (comparedDays(comparison).some(({ isAnew }) => isAnew)) return 'history began anew';
  if (at.erased.length > 0 || (last?.erased ?? []).length > 0) return 'days that were erased since';
  return last?.settings === at.settings && at.settings !== undefined
    ? 'by a change of columns'
    : 'by a change of settings';
}

function headOf(draft: MonthDraft, others: readonly SettingsNote[]) {
  const close = closeOf(draft);
  const at = close ?? draft.close;
  const { brand, month, closedAt } = at;
  const before = draft.closes.filter((each) => each.month < month);
  const now = closedDays([...before, at]);
  const source = now.sources[month] ?? 'orders';
  const report = MONEY_REPORTS.find(({ table }) => table === source);
  const endMs = endOfMonth(month, draft.timeZone);
  const isOver = endMs <= Date.parse(closedAt);
  const missing = lackingDays(at).filter(
    (each) => each.report === report?.name && endOfDay(each.day, draft.timeZone) <= Date.parse(closedAt),
  );
  const completeAsOf = isOver && missing.length === 0 ? (at.completeAsOf ?? null) : null;
  const latest = draft.closes.at(-1);
  const present = close && close === latest ? closedDays([...before, draft.close]).days : [];
  // Days up to the end of the month that have another place now.
  const moved = [...present].filter(([id, { place }]) => now.days.get(id)?.place !== place).length;
  const notComplete =
    missing.length > 0
      ? `days missing: ${exceptionsText(missing)}`
      : `not complete${isOver ? '' : `: the month ends at ${instantText(new Date(endMs).toISOString())}`}`;
  const notes = [
    close
      ? `closed: ${instantText(closedAt)} by ${close.by}`
      : `not closed: may still change. To close it: ${printedCommand('close', [month], { brand })}`,
    completeAsOf === null ? notComplete : `complete as of ${instantText(completeAsOf)}`,
    `from ${source}${source === 'orders' ? ', because the brand has no transactions of the whole month' : ''}`,
  ];
  const last = before.at(-1);
  if (last && last.month < addMonths(month, -1))
    notes.push(`contains all records after ${last.month}: the months between have no close of their own`);
  if (at.settings !== undefined) notes.push(`settings ${at.settings.slice(0, 8)}`);
  const since = printedCommand('query', ['FROM since_close ORDER BY ALL']);
  if (moved > 0) notes.push(`${moved} days changed since it was closed: ${since}`);
  if (!close) notes.push(...others.filter((each) => each.brand === brand).map(({ text }) => text));
  return { brand, month, closedAt: close ? closedAt : null, source, completeAsOf, missing, notes };
}
