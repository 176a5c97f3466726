/** Adds up closes in DuckDB, and so on a command line alone: functions have no such engine. */
import type { DuckDBConnection, Json } from '@duckdb/node-api';
import { monthOf } from '../shared/base/days.ts';
import { readSettingsVersion } from '../shared/lake/brand-settings.ts';
import {
  type Close,
  type ClosedDay,
  type ErasedTotals,
  MONEY_TABLES,
  type MoneyTable,
  closedDays,
  dayId,
} from '../shared/lake/close.ts';
import {
  type CloseSums,
  type ErasedSums,
  MONEY_REPORTS,
  type MonthDraft,
} from '../shared/operations/close-month.ts';
import type { ObjectStore } from '../shared/ports.ts';
import type { ReportRegistry } from '../shared/reports/definition.ts';
import { sourcesSql } from '../shared/reports/views/money-days.ts';
import {
  AS_OF_NOW,
  differencesSql,
  latestNameSql,
  sumOfCopiesSql,
  unknownCopiesSql,
} from '../shared/reports/views/since-close.ts';
import { inDuckDb } from '../shared/reports/views/view-sql.ts';
import type { LakeBrandSettings } from '../shared/settings/settings.ts';
import { literal } from './sql-files.ts';
import { openSession } from './sql-session.ts';
import { createSqlConnection } from './sql-tables.ts';

const HISTORIES = 'FROM order_history, transaction_history';

export interface Comparison {
  brand: string;
  month: string;
  /** The closes before, the oldest first. */
  before: readonly Close[];
  /** The close of the statement, or its draft. */
  at: Close;
  /** Days of a draft without a place. */
  openDays: readonly string[];
  anew: ReadonlyMap<string, number>;
}

export function comparisonOf(draft: MonthDraft, openDays = draft.openDays): Comparison {
  const { close, closes, anew } = draft;
  const { brand, month } = close;
  const own = closes.find((each) => each.month === month);
  const before = closes.filter((each) => each.month < month);
  return { brand, month, before, at: own ?? close, openDays: own ? [] : openDays, anew };
}

interface ComparedDay {
  report: MoneyTable;
  day: string;
  source: MoneyTable | undefined;
  isSwitched?: boolean;
  isOpening?: boolean;
  isAnew?: boolean;
  thenPlace: number | undefined;
  nowPlace?: number | undefined;
}

export function comparedDays({ month, before, at, openDays, anew }: Comparison): ComparedDay[] {
  const [then, now] = [closedDays(before), closedDays([...before, at])];
  const first = before[0]?.month ?? month;
  return MONEY_REPORTS.flatMap(({ name, table }): ComparedDay[] => {
    const report = table === 'orders' ? 'orders' : 'transactions';
    const named = [...now.days.values()].filter((each) => each.report === name);
    const open = openDays.map((day) => ({ report: name, day, place: AS_OF_NOW }));
    return [...named, ...open].flatMap(({ day, place }): ComparedDay[] => {
      const id = dayId({ report: name, day });
      const known = then.days.get(id);
      const [source, sourceThen] = [now.sources[monthOf(day)], then.sources[monthOf(day)]];
      if (place === undefined || (known && known.place === undefined)) return [];
      const thenPlace = sourceThen === report ? known?.place : undefined;
      const nowPlace = source === report ? place : undefined;
      if (thenPlace === undefined && nowPlace === undefined) return [];
      return [
        {
          ...{ report, day, source, thenPlace, nowPlace },
          isSwitched: sourceThen !== undefined && sourceThen !== source,
          isOpening: known === undefined && monthOf(day) < first,
          isAnew: (anew.get(id) ?? 0) > Math.min(thenPlace ?? AS_OF_NOW, nowPlace ?? AS_OF_NOW),
        },
      ];
    });
  });
}

const COMPARED_DAYS =
  'SELECT * FROM compared_days WHERE NOT is_anew AND then_place IS DISTINCT FROM now_place';
/** Days that changed after the close. */
const REACHED_DAYS = `SELECT * REPLACE (now_place AS then_place, ${AS_OF_NOW} AS now_place, false AS is_switched, false AS is_opening)
  FROM compared_days AS d WHERE now_place < ${AS_OF_NOW} AND NOT EXISTS
    (FROM coverage c WHERE c.brand = d.brand AND substr(c.report, 1, length(c.report) - 5) || 's' = d.report AND c.dt = d.dt AND c.place <= d.now_place)`;

/** `differencesSql` of the days of the table that `fillComparedDays` fills. */
export function comparedSql(days = COMPARED_DAYS): string {
  return inDuckDb(differencesSql(days));
}

export async function fillComparedDays(
  connection: DuckDBConnection,
  brand: string,
  days: readonly ComparedDay[],
): Promise<void> {
  await connection.run(`CREATE OR REPLACE TABLE compared_days (brand varchar, report varchar, dt varchar, source varchar,
    is_switched boolean, is_opening boolean, is_anew boolean, then_place bigint, now_place bigint)`);
  const rows = days.map(({ report, day, source, thenPlace, nowPlace, ...flags }) => {
    const { isSwitched = false, isOpening = false, isAnew = false } = flags;
    const values = [brand, report, day, source, isSwitched, isOpening, isAnew, thenPlace, nowPlace];
    return `(${values.map(literal).join(', ')})`;
  });
  if (rows.length > 0) await connection.run(`INSERT INTO compared_days VALUES ${rows.join(', ')}`);
}

export function openHistories(
  store: ObjectStore,
  settings: Readonly<Record<string, LakeBrandSettings>>,
): Promise<DuckDBConnection> {
  const reports = Object.fromEntries(MONEY_REPORTS.map((report) => [report.name, report]));
  const lake = { store, reports, settings: { brands: { ...settings } }, nowMs: Date.now() };
  return createSqlConnection({ ...lake, onGap: () => {} }, HISTORIES);
}

export function closeSums(store: ObjectStore): CloseSums {
  return {
    sourcesOf: monthSources,
    async totalsOf(draft) {
      const { brand } = draft.close;
      const connection = await openHistories(store, draft.settings ? { [brand]: draft.settings } : {});
      return totalsAt(connection, comparisonOf(draft, [])).finally(() => connection.closeSync());
    },
  };
}

/** By month with a version, the report whose commission counts. */
export const monthSources: CloseSums['sourcesOf'] = async (days) => {
  const connection = await openSession([], async () => {});
  const rows = days.map(
    ({ table, day, isPresent, isErased, rows: count }) =>
      `('', ${literal(table)}, ${literal(day)}, ${Number(isPresent)}, ${Number(isErased)}, ${count})`,
  );
  const facts = `VALUES ('', '', '', 0, 0, 0), ${rows.join(', ')}`;
  const sql = `SELECT substr(dt, 1, 7), max(source) FROM (${sourcesSql(`SELECT * FROM (${facts}) AS facts(brand, report, dt, is_present, is_erased, "rows")`)})
GROUP BY 1 HAVING max(is_present) = 1`;
  const found = await connection.runAndReadAll(sql).finally(() => connection.closeSync());
  const tableOf = (source: unknown) => MONEY_TABLES.find((table) => table === source) ?? 'orders';
  return new Map(found.getRows().map(([month, source]) => [String(month), tableOf(source)]));
};

const SUMS = 'publisher_id, publisher_name, currency, CAST(counted AS varchar) AS counted, unknown';
export const SIGNED_SUMS = '(publisher_id, publisher_name, currency, counted)';

/** SQL of the rows of `SIGNED_SUMS`, at least one. */
export function signedSums(added: readonly Sum[], subtracted: readonly Sum[]): string {
  const rowsOf = (sums: readonly Sum[], sign: string) =>
    sums.map(({ publisher_id: id, publisher_name: name, currency, counted }) => {
      const texts = [id, name, currency].map(literal).join(', ');
      return `(${texts}, ${sign}CAST(${literal(counted)} AS decimal(38,9)))`;
    });
  const none = `(CAST(NULL AS varchar), CAST(NULL AS varchar), CAST(NULL AS varchar), CAST(NULL AS decimal(38,9)))`;
  return [none, ...rowsOf(added, ''), ...rowsOf(subtracted, '-')].join(', ');
}

/** What counts at the close of the comparison, and its statement: how much more that is than at the close before. */
export async function totalsAt(
  connection: DuckDBConnection,
  comparison: Comparison,
): Promise<Close['totals']> {
  const days = comparedDays(comparison);
  await fillComparedDays(connection, comparison.brand, days);
  const current = MONEY_TABLES.map(
    (
      table,
    ) => `SELECT h.publisher_id, h.publisher_name, h.currency, h.counted, 0 AS copies_then, 1 AS copies_now, h.dt
    FROM ${table.slice(0, -1)}_history h JOIN compared_days d ON d.brand = h.brand AND d.dt = h.dt AND d.report = '${table}'
    WHERE h.what = 'now' AND d.now_place IS NOT NULL`,
  );
  const opening = `UNION ALL SELECT * FROM (WITH ${comparedSql()}
    SELECT publisher_id, currency, ${latestNameSql()}, 0, 0, ${sumOfCopiesSql('copies_opening')}, 3
    FROM differences GROUP BY publisher_id, currency)`;
  // No publisher is billed for an erasure: days that were erased since do not count as paid.
  const last = comparison.before.at(-1);
  const paid = signedSums(last?.totals ?? [], last?.erased.flatMap(({ totals }) => totals) ?? []);
  const found = await connection.runAndReadAll(`WITH ${comparedSql(REACHED_DAYS)},
sides AS (
  SELECT publisher_id, currency, ${latestNameSql()} AS publisher_name, ${sumOfCopiesSql('copies_now')} AS counted,
    ${unknownCopiesSql('copies_now')} AS unknown, CAST(0 AS decimal(38,9)) AS earlier, 1 AS nth
  FROM (${current.join(' UNION ALL ')}
    UNION ALL SELECT publisher_id, publisher_name, currency, counted, 0, copies_then - copies_now, dt FROM differences) AS stacked
  GROUP BY publisher_id, currency
  UNION ALL SELECT publisher_id, currency, publisher_name, 0, 0, counted, 2 FROM (VALUES ${paid}) AS paid${SIGNED_SUMS} WHERE counted IS NOT NULL
  ${days.some(({ isOpening }) => isOpening) ? opening : ''}
)
SELECT ${SUMS}, CAST(counted - earlier AS varchar) AS statement FROM (
  SELECT publisher_id, currency, arg_min(publisher_name, nth) AS publisher_name, sum(counted) AS counted,
    CAST(sum(unknown) AS bigint) AS unknown, sum(earlier) AS earlier
  FROM sides GROUP BY publisher_id, currency)
ORDER BY publisher_id NULLS LAST, currency NULLS LAST`);
  const totals = found
    .getRowObjectsJson()
    .map((row) => ({ ...sumOf(row), statement: textOrNull(row.statement) ?? '0' }));
  return withNamesOfOrders(connection, comparison, totals);
}

/** Transactions may lack names that the orders have. The close keeps the names, like everything else that was shown. */
async function withNamesOfOrders(
  connection: DuckDBConnection,
  { brand, month }: Comparison,
  totals: Close['totals'],
): Promise<Close['totals']> {
  if (totals.every(({ publisher_id: id, publisher_name: name }) => id === null || name !== null))
    return totals;
  const found =
    await connection.runAndReadAll(`SELECT publisher_id, max_by(publisher_name, dt || publisher_name) FROM order_history
  WHERE what = 'now' AND brand = ${literal(brand)} AND dt <= ${literal(`${month}-31`)} AND publisher_name IS NOT NULL
  GROUP BY publisher_id`);
  const names = new Map(found.getRows().map(([id, name]) => [id, textOrNull(name)] as const));
  return totals.map((total) => ({
    ...total,
    publisher_name: total.publisher_name ?? names.get(total.publisher_id) ?? null,
  }));
}

type Sum = ErasedTotals[number];

function sumOf(row: Record<string, Json>): Sum {
  const of = (name: string) => textOrNull(row[name]);
  const who = { publisher_id: of('publisher_id'), publisher_name: of('publisher_name') };
  return { ...who, currency: of('currency'), counted: of('counted') ?? '0', unknown: Number(row.unknown) };
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** Adds up what days are at each close, to be kept when the days are erased. */
export function erasedSums(store: ObjectStore, reports: ReportRegistry): ErasedSums {
  return async (closes, days) => {
    const { brand = '', settings: hash } = closes.at(-1) ?? {};
    const settings =
      hash === undefined ? {} : { [brand]: await readSettingsVersion(store, brand, hash, reports) };
    const connection = await openHistories(store, settings);
    return erasedTotalsOf(connection, closes, days).finally(() => connection.closeSync());
  };
}

/** By `dayId`, what days add to what counts at the latest of these closes. */
export async function erasedTotalsOf(
  connection: DuckDBConnection,
  closes: readonly Close[],
  days: readonly Required<ClosedDay>[],
): Promise<ReadonlyMap<string, ErasedTotals>> {
  const { sources } = closedDays(closes);
  const counted = days.flatMap(({ report: name, day, place }): ComparedDay[] => {
    const source = sources[monthOf(day)];
    const isSource = MONEY_REPORTS.some((each) => each.name === name && each.table === source);
    return source && isSource ? [{ report: source, day, source, thenPlace: place }] : [];
  });
  const [close] = closes;
  if (!close || counted.length === 0) return new Map();
  await fillComparedDays(connection, close.brand, counted);
  const sql = `WITH ${comparedSql()} SELECT report, dt, ${SUMS} FROM (
  SELECT report, dt, publisher_id, currency, ${latestNameSql()} AS publisher_name,
    ${sumOfCopiesSql('copies_then')} AS counted, ${unknownCopiesSql('copies_then')} AS unknown
  FROM differences GROUP BY report, dt, publisher_id, currency)`;
  const found = (await connection.runAndReadAll(sql)).getRowObjectsJson();
  const idOf = ({ report: table, dt }: Record<string, Json>) =>
    dayId({
      report: MONEY_REPORTS.find((each) => each.table === table)?.name ?? '',
      day: textOrNull(dt) ?? '',
    });
  return new Map([...Map.groupBy(found, idOf)].map(([id, rows]) => [id, rows.map(sumOf)]));
}
