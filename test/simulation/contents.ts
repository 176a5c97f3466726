/** Reads the contents of a lake of the simulated brand, from its documents, its catalog and its snapshots. */
import { parseJson } from '../../shared/base/json.ts';
import { type DayEntry, parseLedger } from '../../shared/lake/ledger.ts';
import {
  brandPartitions,
  dayPartition,
  parseLedgerKey,
  partitionPath,
  reportLedgersPrefix,
  snapshotKey,
} from '../../shared/lake/paths.ts';
import type { Row } from '../../shared/table/columns.ts';
import { readWithParquetjs } from '../../shared/table/parquetjs-reader.ts';
import type { Column } from '../../shared/base/column-types.ts';
import type { Lake, ObjectStore } from '../../shared/ports.ts';
import type { ReportDefinition } from '../../shared/reports/definition.ts';

export const BRAND = 'acme';

/** Ledger entries by day. */
export type Entries = ReadonlyMap<string, DayEntry>;

export async function ledgerEntries(store: ObjectStore, report: string): Promise<Entries> {
  const entries = new Map<string, DayEntry>();
  for await (const { key } of store.list(reportLedgersPrefix(report))) {
    const scope = parseLedgerKey(key);
    const stored = await store.get(key);
    if (!scope || !stored) continue;
    const { days } = parseLedger(key, scope)(parseJson(Buffer.from(stored.body).toString()));
    for (const [day, entry] of Object.entries(days)) entries.set(day, entry);
  }
  return entries;
}

/** The rows of a version of a day. @throws Error if the version is missing */
export async function rowsOf(
  store: ObjectStore,
  { table }: ReportDefinition,
  day: string,
  snapshot: string,
  columns: readonly Column[],
): Promise<Row[]> {
  const key = snapshotKey(table, dayPartition(BRAND, day), snapshot);
  const stored = await store.get(key);
  if (!stored) throw new Error(`${key} is missing`);
  return Array.fromAsync(readWithParquetjs(stored.body, columns));
}

/** The days for which catalog and ledger have different versions. */
export async function wrongPointers(
  { catalog }: Lake,
  report: ReportDefinition,
  entries: Entries,
): Promise<string[]> {
  const pointers = await catalog?.snapshotsByPartition(report.table, brandPartitions(BRAND));
  return [...entries].flatMap(([day, { committed }]) => {
    const pointed = pointers?.get(partitionPath(dayPartition(BRAND, day)))?.join();
    if (!committed || pointed === committed.snapshot) return [];
    return `${report.table} ${day}: the catalog points at ${pointed}, the ledger has ${committed.snapshot}`;
  });
}
