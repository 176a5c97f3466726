/** Reads the statements of a month: which versions of days they are made from, and how final and complete they are. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { monthOf } from '../shared/days.ts';
import { BrandReportsError } from '../shared/errors.ts';
import { type Close, readCloses } from '../shared/lake/documents/close.ts';
import { type ReportLedgers, committedDays, readLedgers } from '../shared/lake/documents/read.ts';
import type { ObjectStore } from '../shared/ports.ts';
import { printedCommand } from './printed-command.ts';
import { unknown } from './run-options.ts';
import { snapshotFiles } from './snapshot-cache.ts';
import { createSqlConnection } from './sql-tables.ts';
import {
  SOURCES,
  type StatementSource,
  addEntries,
  daysAt,
  publisherParts,
  readTotals,
  sumsOf,
} from './statement-entries.ts';
import type { Statement } from './statement-page.ts';
import { enumerated } from './sql-versions.ts';

interface Wanted {
  month: string;
  /** Missing: each brand of the lake. */
  brand?: string;
  publisher?: string;
}

/**
 * @returns the statements of brands that have days of the month, and the connection that has their entries
 * @throws BrandReportsError `config` if there is none, or a document or object of them cannot be read
 */
export async function readStatements(
  store: ObjectStore,
  wanted: Wanted,
): Promise<{ connection: DuckDBConnection; statements: Statement[] }> {
  const registry = Object.fromEntries(SOURCES.map((report) => [report.name, report]));
  const ledgers = await readLedgers(store, registry, {}, Date.now());
  const [damage] = ledgers.flatMap(({ damaged }) => damaged);
  if (damage) throw new BrandReportsError('config', 'damaged_document', damage.message);
  const sources = await sourcesOf(store, ledgers, wanted);
  const lake = { store, reports: registry, settings: undefined, nowMs: Date.now() };
  const connection = await createSqlConnection(lake, 'FROM coverage');
  await addEntries(connection, snapshotFiles(store), sources, wanted.publisher);
  const totals = await readTotals(connection);
  const statements = sources.map((source): Statement => {
    const { brand, month } = source.at;
    return {
      ...{ brand, month, ...headOf(source, ledgers) },
      totals: totals.filter((total) => total.brand === brand && total.is_all === true).map(sumsOf),
      publishers: publisherParts(connection, brand, totals),
    };
  });
  return { connection, statements };
}

async function sourcesOf(
  store: ObjectStore,
  ledgers: readonly ReportLedgers[],
  { month, brand: only }: Wanted,
): Promise<StatementSource[]> {
  const brands = [...new Set(ledgers.map(({ brand }) => brand))].sort();
  if (only !== undefined && !brands.includes(only)) throw unknown('brand', only, brands);
  const sources: StatementSource[] = [];
  for (const brand of only === undefined ? brands : [only]) {
    const closes = (await readCloses(store, brand)).sort((a, b) => (a.closedAt < b.closedAt ? -1 : 1));
    const found = closes.find((close) => close.month === month);
    const at = found ?? draftOf(brand, month, ledgers, closes);
    const before = found ? closes.slice(0, closes.indexOf(found)) : closes;
    if (at.days.length > 0) sources.push({ at, before, isClosed: found !== undefined });
  }
  if (sources.length > 0) return sources;
  throw new BrandReportsError('config', 'no_days', `${store.url} has no orders or transactions of ${month}.`);
}

/** What a close would name now, but for what only queries need. */
function draftOf(
  brand: string,
  month: string,
  ledgers: readonly ReportLedgers[],
  closes: readonly Close[],
): Close {
  const own = ledgers.filter((each) => each.brand === brand);
  const days = committedDays(own).map(({ report, day, committed }) => ({
    ...committed,
    report: report.name,
    day,
  }));
  const closed = closes.map((close) => close.month);
  return {
    ...{ version: 1, brand, month, closedAt: new Date().toISOString(), tables: {}, recentWrites: [] },
    days: days.filter(({ day }) => monthOf(day) === month),
    carried: days.filter(({ day }) => closed.includes(monthOf(day))),
    exceptions: [],
  };
}

/** How final and how complete a statement is. */
function headOf({ at, isClosed }: StatementSource, ledgers: readonly ReportLedgers[]) {
  const { brand, month } = at;
  const { source, days } = daysAt([at], month);
  const missing = at.exceptions
    .filter(({ report }) => report === source.name)
    .map(({ day, why }) => ({ day, why }));
  const completeAsOf = missing.length > 0 ? null : (days.map(({ readFrom }) => readFrom).sort()[0] ?? null);
  const now = committedDays(ledgers.filter((each) => each.brand === brand && each.report === source));
  const isSame = ({ day, lifecycle }: Close['days'][number]) =>
    now.some((each) => each.day === day && each.committed.lifecycle?.snapshot === lifecycle?.snapshot);
  const hasChanged = isClosed && !days.every(isSame);
  const command = (name: string) => printedCommand(name, [month], { brand });
  const notes = [
    isClosed
      ? `closed: ${instant(at.closedAt)}`
      : `not closed: may still change. To close it: ${command('close')}`,
    completeAsOf === null
      ? `days missing: ${enumerated(missing.map(({ day, why }) => `${day} (${why})`))}`
      : `complete as of ${instant(completeAsOf)}: every day was read then or later`,
    `from ${source.table}${source === SOURCES[0] ? '' : ', because the brand has no transactions of the month'}; all but void counts`,
    ...(hasChanged ? [`changed since it was closed: ${command('since-close')}`] : []),
  ];
  return {
    closedAt: isClosed ? at.closedAt : null,
    hasChanged,
    source: source.table,
    completeAsOf,
    missing,
    notes,
  };
}

/** `2026-11-05 06:12 UTC` */
function instant(at: string): string {
  return `${at.slice(0, 16).replace('T', ' ')} UTC`;
}
