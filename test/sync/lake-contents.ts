/**
 * Reads a sample lake: the outcome of a run by day, the entries of ledgers, `coverage`, and the published days, which
 * it compares with the service's records. A lake is right if `wrongReports()` is `{}`. For that, every day's snapshot
 * must have the digest of its ledger entry, be the current snapshot of the catalog, and contain exactly the service's
 * records.
 */
import { type ReportName, recordsOfDay, restate } from '../../sample/brand.ts';
import { daysFrom } from '../../shared/base/days.ts';
import { type JsonObject, isJsonObject, parseJson } from '../../shared/base/json.ts';
import type { DayEntry } from '../../shared/lake/ledger.ts';
import {
  dayPartition,
  brandPartitions,
  partitionPath,
  schemaKey,
  snapshotKey,
} from '../../shared/lake/paths.ts';
import { parseStoredSchema } from '../../shared/lake/schema.ts';
import type { Row, TableSchema } from '../../shared/table/columns.ts';
import { rowMapper } from '../table/row-mapper.ts';
import { Digest } from '../../shared/table/digest.ts';
import { readParquetRows } from '../../shared/table/coded-columns.ts';
import type { DayOutcome, SyncOutcome } from '../../shared/base/outcome.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import { reports } from '../../shared/reports/index.ts';
import { ledgerEntries as entriesOf } from '../simulation/contents.ts';
import { BRAND, REPORTS, type SampleLake } from './sample-lake.ts';

/** The outcome of each day of a report, by day. */
export function outcomesOf(outcome: SyncOutcome, report: ReportName): Record<string, DayOutcome['outcome']> {
  const days = outcome.reports.find((one) => one.report === report)?.days ?? [];
  return Object.fromEntries(days.map(({ dt, outcome }) => [dt, outcome]));
}

/** The error of a report, as the run's outcome states it. */
export function errorOf(
  outcome: SyncOutcome,
  report: ReportName,
): { kind: string; code: string } | undefined {
  return outcome.reports.find((one) => one.report === report)?.error;
}

/**
 * Computes the digest of every published day of a report, by day, from the rows of its snapshot.
 * @throws if the ledger has another digest, or the catalog points at another snapshot
 */
export async function publishedDays(lake: SampleLake, report: ReportName): Promise<Map<string, string>> {
  const digests = new Map<string, string>();
  const table = tableOf(report);
  const { columns } = await schemaOf(lake, report);
  for (const [day, { committed }] of await ledgerEntries(lake, report)) {
    if (!committed) continue;
    const key = snapshotKey(table, dayPartition(BRAND, day), committed.snapshot);
    const digest = new Digest(columns);
    for (const row of await rowsOf(lake, key)) digest.add(row);
    if (digest.value() !== committed.digest) throw new Error(`${key} does not have the digest in the ledger`);
    const pointer = lake.catalog.pointers.get(`${table}/${partitionPath(dayPartition(BRAND, day))}`);
    if (pointer !== committed.snapshot) throw new Error(`the catalog points at ${pointer} for ${key}`);
    digests.set(day, digest.value());
  }
  return digests;
}

async function schemaOf({ store }: SampleLake, report: ReportName): Promise<TableSchema> {
  const table = tableOf(report);
  const stored = await store.get(schemaKey(table));
  if (!stored) throw new Error(`${table} has no schema`);
  return parseStoredSchema({ table, columns: [] })(parseJson(Buffer.from(stored.body).toString()));
}

export async function rowsOf({ store }: SampleLake, key: string): Promise<Row[]> {
  const bytes = store.objects.get(key)?.body.length;
  if (bytes === undefined) throw new Error(`${key} is missing`);
  const range = (start: number, end: number) => store.range(key, start, end);
  const rows: Row[] = [];
  for await (const row of readParquetRows({ bytes, range })) rows.push(row);
  return rows;
}

/** The digest of exactly the service's records, by day, up to and including `to`. */
export async function serviceDays(
  lake: SampleLake,
  report: ReportName,
  to: string,
): Promise<Map<string, string>> {
  const schema = await schemaOf(lake, report);
  const toRow = rowMapper(schema);
  return new Map(
    daysFrom(lake.startDate, to).map((day) => {
      const digest = new Digest(schema.columns);
      for (const record of recordsOfDay(lake.brand, report, day)) digest.add(toRow(record, new Date(0)));
      return [day, digest.value()];
    }),
  );
}

/** The reports whose published days differ from the service's records, up to and including `to`; `{}` is right. */
export async function wrongReports(
  lake: SampleLake,
  to: string,
  which: readonly ReportName[] = REPORTS,
): Promise<Record<string, unknown>> {
  const wrong: Record<string, unknown> = {};
  for (const report of which) {
    const published = Object.fromEntries(await publishedDays(lake, report));
    const expected = Object.fromEntries(await serviceDays(lake, report, to));
    if (JSON.stringify(published) !== JSON.stringify(expected)) wrong[report] = { published, expected };
  }
  return wrong;
}

/** The rows of `coverage` for a report, by day, from the catalog's current snapshots. */
export async function coverageOf(lake: SampleLake, report: ReportName): Promise<Record<string, Row>> {
  const rows = await ledgerTableRows(lake, 'coverage', report);
  return Object.fromEntries(rows.map((row) => [String(row.dt), row]));
}

/** The rows of a table that is built from ledgers, in the order of days, from the catalog's current snapshots. */
export async function ledgerTableRows(lake: SampleLake, table: string, report: ReportName): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [path, [snapshot = '']] of await lake.catalog.snapshotsByPartition(
    table,
    brandPartitions(BRAND),
  ))
    rows.push(...(await rowsOf(lake, `snapshots/${table}/${path}/${snapshot}/part-0000.parquet`)));
  const own = rows.filter((row) => row.report === report);
  return own.sort((a, b) => (String(a.dt) < String(b.dt) ? -1 : 1));
}

/** The entries of a report's ledgers, in the order of days. */
export async function ledgerEntries(
  { store }: SampleLake,
  report: ReportName,
): Promise<[string, DayEntry][]> {
  return [...(await entriesOf(store, report))].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** The ledger's entry of one day; `{}` if the ledger has no entry. */
export async function ledgerEntry(lake: SampleLake, report: ReportName, day: string): Promise<DayEntry> {
  return Object.fromEntries(await ledgerEntries(lake, report))[day] ?? {};
}

/** From now on all records of a day, or the first ones, have these fields. */
export function alter(
  { brand }: SampleLake,
  report: ReportName,
  day: string,
  fields: JsonObject,
  first = Number.POSITIVE_INFINITY,
): void {
  restate(brand, report, day, (held) =>
    held.map(({ at, record }, index) => ({ at, record: index < first ? { ...record, ...fields } : record })),
  );
}

/** Changes a stored JSON document without the knowledge of a run, as another process would. */
export async function rewriteDocument(
  { store }: SampleLake,
  key: string,
  change: (stored: JsonObject) => JsonObject,
): Promise<void> {
  const stored = await store.get(key);
  const json = await storedJson(store, key);
  if (!stored || !isJsonObject(json)) throw new Error(`${key} is missing`);
  await store.put(key, Buffer.from(JSON.stringify(change(json))), { ifMatch: stored.etag });
}

async function storedJson(store: ObjectStore, key: string) {
  const stored = await store.get(key);
  return stored && parseJson(Buffer.from(stored.body).toString());
}

/** The requests for a report that the service has received, all or those whose fields match. */
export function requestsOf(
  { service }: SampleLake,
  report: ReportName,
  matches: (fields: JsonObject) => boolean = () => true,
) {
  return service.requests.filter(({ action, fields }) => action === `report/${report}` && matches(fields));
}

export function tableOf(report: ReportName): string {
  return reports[report]?.table ?? '';
}
