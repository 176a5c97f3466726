/**
 * This module builds every key and every prefix of a lake and, for code that lists objects, parses them. IAM statements
 * and lifecycle rules take their prefixes from here too. A prefix spelt a second time elsewhere would still grant, expire
 * or delete the old place after this file has moved to a new place. docs/reference/lake-layout.md has the layout.
 */
import { DAY_PARTITION_KEYS } from '../base/column-types.ts';
import { isDay } from '../base/days.ts';
import type { Partition } from '../ports.ts';

export { beforeTable } from '../reports/view.ts';

export const COVERAGE_TABLE = 'coverage';
export const CLOSES_TABLE = 'closes';
/** The tables that are built from ledgers and closes: one object a brand, stored like a version of a day. */
export const LEDGER_TABLES: readonly string[] = [COVERAGE_TABLE, CLOSES_TABLE];

export const SNAPSHOTS_PREFIX = 'snapshots/';
export const CLOSES_PREFIX = 'closes/';
/** The raw records of all reports; a lifecycle rule expires them. */
export const RAW_PREFIX = 'raw/';
export const LEDGERS_PREFIX = 'ledger/';
export const SCHEMAS_PREFIX = 'schema/';
export const SETTINGS_OF_BRANDS = `${SCHEMAS_PREFIX}settings/`;
export const LEASES_PREFIX = 'leases/';
export const ICEBERG_PREFIX = 'iceberg/';
export const STATUS_PREFIX = 'status/';
/** The index of the brands' pages. */
export const COVERAGE_PAGE_KEY = `${STATUS_PREFIX}coverage.html`;
export const BRAND_PAGES_PREFIX = `${STATUS_PREFIX}coverage/`;
export const WATCH_KEY = `${STATUS_PREFIX}watch.json`;
export const CATALOG_STAMP_KEY = `${STATUS_PREFIX}catalog.json`;
/** Where Athena writes the results of queries; a lifecycle rule expires them. */
export const QUERY_RESULTS_PREFIX = 'query-results/';
/** Documents that change only by compare-and-swap: the truth about the lake, which no run deletes. */
export const DOCUMENT_PREFIXES: readonly string[] = [LEDGERS_PREFIX, SCHEMAS_PREFIX, CLOSES_PREFIX];
export const OTHER_PREFIXES: readonly string[] = [
  SNAPSHOTS_PREFIX,
  RAW_PREFIX,
  LEASES_PREFIX,
  ICEBERG_PREFIX,
  QUERY_RESULTS_PREFIX,
  STATUS_PREFIX,
];
/** The folder of a local lake that any tool can read as `current/<table>/**`. */
export const LOCAL_CATALOG_FOLDER = 'current';

/** The ids of versions, attempts, changes and chunks: one part of a key, which leads to no other folder. */
export const OBJECT_ID = /^\w[\w.-]{0,199}$/;

export function partitionPath(partition: Partition): string {
  return partition.map(([key, value]) => `${key}=${value}`).join('/');
}

export function dayPartition(brand: string, day: string): Partition {
  return partitionOf(DAY_PARTITION_KEYS, [brand, day]);
}

export function brandPartitions(brand: string): Partition {
  return partitionOf(DAY_PARTITION_KEYS, [brand]);
}

export function tablePrefix(table: string): string {
  return `${SNAPSHOTS_PREFIX}${table}/`;
}

export function icebergLocation(table: string): string {
  return `${ICEBERG_PREFIX}${table}`;
}

/** The Glue database of the Iceberg tables: the same table names as in the main database, with other types. */
export function icebergDatabase(database: string): string {
  return `${database}_iceberg`;
}

export function icebergMetadataPrefix(table: string): string {
  return `${icebergLocation(table)}/metadata/`;
}

export function partitionPrefix(table: string, partition: Partition): string {
  return `${tablePrefix(table)}${partitionPath(partition)}/`;
}

export function snapshotPrefix(table: string, partition: Partition, snapshot: string): string {
  return `${partitionPrefix(table, partition)}${snapshot}/`;
}

const SNAPSHOT_FILE = 'part-0000.parquet';

export function snapshotKey(table: string, partition: Partition, snapshot: string): string {
  return `${snapshotPrefix(table, partition, snapshot)}${SNAPSHOT_FILE}`;
}

export function versionKey(table: string, brand: string, day: string, snapshot: string): string {
  return snapshotKey(table, dayPartition(brand, day), snapshot);
}

export function snapshotOfKey(key: string): string | undefined {
  const [file, id] = key.split('/').reverse();
  return file === SNAPSHOT_FILE && id !== '' ? id : undefined;
}

export function parseSnapshotKey(table: string, key: string): { brand: string; day: string } | undefined {
  const [folder = ''] = key.slice(tablePrefix(table).length).split('/');
  const brand = folder.slice(`${DAY_PARTITION_KEYS[0]}=`.length);
  const of = isName(brand) ? parseDayKey(partitionPrefix(table, brandPartitions(brand)), key) : undefined;
  return of && snapshotOfKey(key) === of.id ? { brand, day: of.day } : undefined;
}

export function brandRawPrefix(report: string, brand: string): string {
  return `${RAW_PREFIX}${report}/${partitionPath(brandPartitions(brand))}/`;
}

export function attemptPrefix(report: string, brand: string, day: string, attempt: string): string {
  return `${RAW_PREFIX}${report}/${partitionPath(dayPartition(brand, day))}/${attempt}/`;
}

export function chunkName(id: string): string {
  return `chunk-${id}.json-seq.zst`;
}

export function brandResultsPrefix(brand: string): string {
  return `${QUERY_RESULTS_PREFIX}${partitionPath(brandPartitions(brand))}/`;
}

const PROGRESS_FILE = 'progress.json';
const CHUNK = /^chunk-([^/]+)\.json-seq\.zst$/;

export function progressKey(report: string, brand: string, day: string, attempt: string): string {
  return `${attemptPrefix(report, brand, day, attempt)}${PROGRESS_FILE}`;
}

/** @returns `undefined` if the key does not have this form: such an object is not ours */
export function parseDayKey(brandPrefix: string, key: string): { day: string; id: string } | undefined {
  const [folder = '', id = '', name = '', ...more] = key.slice(brandPrefix.length).split('/');
  const [, dayKey] = DAY_PARTITION_KEYS;
  const day = folder.slice(`${dayKey}=`.length);
  const isOurs = key.startsWith(brandPrefix) && folder === `${dayKey}=${day}` && isDay(day);
  const [, chunk = ''] = CHUNK.exec(name) ?? [];
  const isFile = [SNAPSHOT_FILE, PROGRESS_FILE].includes(name) || OBJECT_ID.test(chunk);
  return isOurs && isFile && more.length === 0 && OBJECT_ID.test(id) ? { day, id } : undefined;
}

export function reportLedgersPrefix(report: string): string {
  return `${LEDGERS_PREFIX}${report}/`;
}

export function ledgerKey(report: string, brand: string, month: string): string {
  return `${reportLedgersPrefix(report)}${brand}/${month}.json`;
}

export function parseLedgerKey(key: string): { report: string; brand: string; month: string } | undefined {
  const [, report = '', brand = '', month = ''] =
    /^ledger\/([^/]+)\/([^/]+)\/(\d{4}-(?:0[1-9]|1[0-2]))\.json$/.exec(key) ?? [];
  return isName(brand) ? { report, brand, month } : undefined;
}

export function brandStateKey(brand: string): string {
  return `${LEDGERS_PREFIX}${brand}/state.json`;
}

export function brandPageKey(brand: string): string {
  return `${BRAND_PAGES_PREFIX}${brand}.html`;
}

export function brandClosesPrefix(brand: string): string {
  return `${CLOSES_PREFIX}${brand}/`;
}

export function closeKey(brand: string, month: string): string {
  return `${brandClosesPrefix(brand)}${month}.json`;
}

export function parseCloseKey(key: string): { brand: string; month: string } | undefined {
  const [, brand = '', month = ''] = /^closes\/([^/]+)\/(\d{4}-\d\d)\.json$/.exec(key) ?? [];
  return isName(brand) ? { brand, month } : undefined;
}

export function schemaKey(table: string): string {
  return `${SCHEMAS_PREFIX}${table}.json`;
}

export function brandSettingsPrefix(brand: string): string {
  return `${SETTINGS_OF_BRANDS}${brand}/`;
}

export function brandSettingsKey(brand: string, hash = 'current'): string {
  return `${brandSettingsPrefix(brand)}${hash}.json`;
}

export function parseBrandSettingsKey(key: string): { brand: string; hash?: string } | undefined {
  const [, brand, name] =
    /^schema\/settings\/([a-z0-9][a-z0-9-]{0,40})\/(current|[0-9a-f]{64})\.json$/.exec(key) ?? [];
  if (brand === undefined || name === undefined) return undefined;
  return name === 'current' ? { brand } : { brand, hash: name };
}

export function brandOfState(key: string): string | undefined {
  const [, brand = ''] = key.split('/');
  return isName(brand) && key === brandStateKey(brand) ? brand : undefined;
}

function isName(text: string): boolean {
  return /^[^/.\\][^/\\]*$/.test(text);
}

export function leaseKey(brand: string): string {
  return `${LEASES_PREFIX}${brand}.json`;
}

function partitionOf(keys: readonly string[], values: readonly string[]): Partition {
  return values.map((value, index) => [keys[index] ?? '', value]);
}
