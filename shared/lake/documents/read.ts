import { type MonthSpan, isInSpan } from '../../days.ts';
import type { Json } from '../../json.ts';
import type { TableSchema } from '../table/columns.ts';
import { parseJsonDocument } from './cas-document.ts';
import { type Ledger, type Committed, parseLedger } from './ledger.ts';
import { type MonthIndex, parseMonthIndex } from './month-index.ts';
import { parseStoredSchema } from './schema.ts';
import {
  LEDGERS_PREFIX,
  dayPartition,
  indexKey,
  ledgerKey,
  parseLedgerKey,
  schemaKey,
  snapshotKey,
} from '../paths.ts';
import type { ObjectStore } from '../../ports.ts';
import type { ReportDefinition, ReportRegistry } from '../../reports/definition.ts';

/** What a lake has about one report of one brand. */
export interface ReportLedgers {
  brand: string;
  report: ReportDefinition;
  index: MonthIndex;
  /** By month; only those that were read. */
  ledgers: ReadonlyMap<string, Ledger>;
}

/** The committed state of one day. */
export interface CommittedDay {
  brand: string;
  report: ReportDefinition;
  day: string;
  committed: Committed;
}

/** The months that have a ledger. */
export interface LedgerMonths {
  brand: string;
  report: ReportDefinition;
  months: string[];
}

/**
 * Lists the ledgers in the lake, whatever the settings are now; reports that are not in the registry are left out.
 * @param span only these months; a brand's report is listed even without ledgers in them
 */
export async function listLedgers(
  store: ObjectStore,
  reports: ReportRegistry,
  span: MonthSpan = {},
): Promise<LedgerMonths[]> {
  const found = new Map<string, LedgerMonths>();
  for await (const { key } of store.list(LEDGERS_PREFIX)) {
    const parsed = parseLedgerKey(key);
    const report = parsed && Object.hasOwn(reports, parsed.report) ? reports[parsed.report] : undefined;
    if (!parsed || !report) continue;
    const { brand, month } = parsed;
    const index = indexKey(report.name, brand);
    const known = found.get(index) ?? { report, brand, months: [] };
    if (isInSpan(month, span)) known.months.push(month);
    found.set(index, known);
  }
  return [...found.values()];
}

/**
 * Reads the ledgers that `listLedgers` finds.
 * @param span only the ledgers of these months; the index is read in any case
 */
export async function readLedgers(
  store: ObjectStore,
  reports: ReportRegistry,
  span: MonthSpan = {},
): Promise<ReportLedgers[]> {
  const listed = await listLedgers(store, reports, span);
  return Promise.all(
    listed.map(async ({ report, brand, months }) => {
      const key = indexKey(report.name, brand);
      // Together: a damaged ledger that is read before the index is would else be a failure that nobody awaits.
      const [index, ledgers] = await Promise.all([
        readDocument(store, key, parseMonthIndex(key)),
        Promise.all(
          months.map(async (month) => [month, await readLedger(store, report, brand, month)] as const),
        ),
      ]);
      return { brand, report, index, ledgers: new Map(ledgers) };
    }),
  );
}

/** The ledger of a month, an empty one where none is stored. @throws BrandReportsError `config` where it is damaged */
export function readLedger(
  store: ObjectStore,
  report: ReportDefinition,
  brand: string,
  month: string,
): Promise<Ledger> {
  const key = ledgerKey(report.name, brand, month);
  return readDocument(store, key, parseLedger(key, { report: report.name, brand, month }));
}

/** The table's columns: the documented ones and every column found so far. */
export function readSchema(store: ObjectStore, report: ReportDefinition): Promise<TableSchema> {
  return readDocument(store, schemaKey(report.table), parseStoredSchema(report));
}

/** The days that have a snapshot, in order. */
export function committedDays(reports: readonly ReportLedgers[]): CommittedDay[] {
  return reports.flatMap(({ brand, report, ledgers }) =>
    [...ledgers.values()]
      .flatMap(({ days }) => Object.entries(days))
      .flatMap(([day, { committed }]) => (committed ? [{ brand, report, day, committed }] : []))
      .sort((a, b) => (a.day < b.day ? -1 : 1)),
  );
}

/** The key of a committed day's Parquet object. */
export function committedSnapshotKey({ brand, report, day, committed }: CommittedDay): string {
  return snapshotKey(report.table, dayPartition(brand, day), committed.snapshot);
}

async function readDocument<T>(
  store: ObjectStore,
  key: string,
  parse: (stored: Json | undefined) => T,
): Promise<T> {
  const stored = await store.get(key);
  return parse(stored && parseJsonDocument(key, stored.body));
}
