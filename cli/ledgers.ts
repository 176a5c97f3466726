import type { Json } from '../shared/json.ts';
import { type TableSchema, baseSchema, parseSchema } from '../shared/lake/columns.ts';
import { parseStored } from '../shared/lake/document.ts';
import { type Ledger, type Published, parseLedger } from '../shared/lake/ledger.ts';
import { type MonthIndex, parseMonthIndex } from '../shared/lake/month-index.ts';
import { dayPartition, indexKey, ledgerKey, schemaKey, snapshotKey } from '../shared/lake/paths.ts';
import type { ObjectStore } from '../shared/ports.ts';
import type { ReportDefinition, ReportRegistry } from '../shared/reports/definition.ts';

/** All that a lake says of one report of one brand. */
export interface ReportLedgers {
  brand: string;
  report: ReportDefinition;
  index: MonthIndex;
  /** By month. */
  ledgers: ReadonlyMap<string, Ledger>;
}

/** What is current of one day. */
export interface CurrentDay {
  brand: string;
  report: ReportDefinition;
  day: string;
  published: Published;
}

/** Reads every ledger of the lake, whatever the settings say now; reports that nobody knows any more are left out. */
export async function readLedgers(store: ObjectStore, reports: ReportRegistry): Promise<ReportLedgers[]> {
  const months = new Map<string, { report: ReportDefinition; brand: string; months: string[] }>();
  for await (const { key } of store.list('ledger/')) {
    const [, name = '', brand = '', month = ''] =
      /^ledger\/([^/]+)\/([^/]+)\/(\d{4}-\d\d)\.json$/.exec(key) ?? [];
    const report = Object.hasOwn(reports, name) ? reports[name] : undefined;
    if (!report) continue;
    const of = `${name}/${brand}`;
    const known = months.get(of) ?? { report, brand, months: [] };
    known.months.push(month);
    months.set(of, known);
  }
  return Promise.all(
    [...months.values()].map(async ({ report, brand, months }) => {
      const key = indexKey(report.name, brand);
      const ledgers = months.map(
        async (month) => [month, await readLedger(store, report, brand, month)] as const,
      );
      return {
        brand,
        report,
        index: await readDocument(store, key, parseMonthIndex(key)),
        ledgers: new Map(await Promise.all(ledgers)),
      };
    }),
  );
}

export function readLedger(
  store: ObjectStore,
  report: ReportDefinition,
  brand: string,
  month: string,
): Promise<Ledger> {
  const key = ledgerKey(report.name, brand, month);
  return readDocument(store, key, parseLedger(key, { report: report.name, brand, month }));
}

/** The table's columns, every one met so far. */
export function readSchema(store: ObjectStore, { table, columns }: ReportDefinition): Promise<TableSchema> {
  const key = schemaKey(table);
  return readDocument(store, key, (stored) =>
    stored === undefined ? baseSchema(columns) : parseSchema(stored, key),
  );
}

/** The days that have a snapshot, in order. */
export function currentDays(of: readonly ReportLedgers[]): CurrentDay[] {
  return of.flatMap(({ brand, report, ledgers }) =>
    [...ledgers.values()]
      .flatMap(({ days }) => Object.entries(days))
      .flatMap(([day, { published }]) => (published ? [{ brand, report, day, published }] : []))
      .sort((a, b) => (a.day < b.day ? -1 : 1)),
  );
}

export function currentKey({ brand, report, day, published }: CurrentDay): string {
  return snapshotKey(report.table, dayPartition(brand, day), published.snapshot);
}

async function readDocument<T>(
  store: ObjectStore,
  key: string,
  parse: (stored: Json | undefined) => T,
): Promise<T> {
  const stored = await store.get(key);
  return parse(stored && parseStored(key, stored.body));
}
