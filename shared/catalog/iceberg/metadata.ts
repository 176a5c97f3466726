/* The metadata leaves out everything that readers of Iceberg (version 2) do not need and that would grow with each commit. */
import { hash } from 'node:crypto';
import * as z from 'zod/mini';
import { DAY_PARTITION_KEYS, typeSpec } from '../../base/column-types.ts';
import { DAY_MS } from '../../base/days.ts';
import { parseDocument, parseJsonDocument, storedCount, storedObject } from '../../lake/cas-document.ts';
import { ICEBERG_PREFIX } from '../../lake/paths.ts';
import type { TableColumn } from '../../ports.ts';

const snapshot = storedObject(() => ({
  'snapshot-id': storedCount,
  'sequence-number': storedCount,
  'timestamp-ms': storedCount,
  'manifest-list': z.string(),
}));
const metadata = storedObject(() => ({
  location: z.string(),
  snapshots: z.array(snapshot).check(z.minLength(1)),
}));

export type Snapshot = z.infer<typeof snapshot>;
/** A table with at least one snapshot; the last is current. */
export interface IcebergTable {
  /** The address of the table; all addresses in its snapshots are in the same lake. */
  location: string;
  snapshots: readonly Snapshot[];
}

/**
 * Columns are only appended (I7), so the place of a column is a permanent id, and Parquet files have the same ids.
 * Ids of columns never reach the ids of the partition columns, which are in no file.
 */
const PARTITION_IDS = { brand: 100_001, dt: 100_002 };
const PARTITION_FIELDS = [
  { name: 'brand', transform: 'identity', 'source-id': PARTITION_IDS.brand, 'field-id': 1000 },
  { name: 'dt', transform: 'identity', 'source-id': PARTITION_IDS.dt, 'field-id': 1001 },
];

const columnId = (place: number): number => place + 1;

export type TableSchema = ReturnType<typeof schemaOf>;

/**
 * The schema of these columns, in which every snapshot is read: in an earlier snapshot, columns that are newer are NULL. Its
 * number is the number of columns, because columns are only appended.
 */
export function schemaOf(columns: readonly TableColumn[]) {
  const fields = [
    ...DAY_PARTITION_KEYS.map((name) => ({ id: PARTITION_IDS[name], name, required: false, type: 'string' })),
    ...columns.map(({ name, type, description }, place) => ({
      id: columnId(place),
      name,
      required: false,
      type: typeSpec(type).iceberg,
      ...(description !== undefined && { doc: description }),
    })),
  ];
  return { type: 'struct', 'schema-id': columns.length, fields };
}

export function manifestMetadata(current: TableSchema): Record<string, string> {
  return {
    schema: JSON.stringify(current),
    'schema-id': String(current['schema-id']),
    'partition-spec': JSON.stringify(PARTITION_FIELDS),
    'partition-spec-id': '0',
  };
}

/**
 * Keeps all snapshots of the last 24 hours, and before that the last of each day (UTC), as far back as a reader as of
 * `fromMs` needs. With 300 brands that commit hourly, all snapshots of 30 days would be 100 MB of metadata.
 * @returns the same object if nothing is dropped
 */
export function thinned(table: IcebergTable, fromMs: number, nowMs: number): IcebergTable {
  const dayOf = (one: Snapshot) => Math.floor(one['timestamp-ms'] / DAY_MS);
  const { snapshots } = table;
  const isKept = (one: Snapshot, index: number) => {
    const next = snapshots[index + 1];
    return !next || dayOf(next) > dayOf(one) || one['timestamp-ms'] > nowMs - DAY_MS;
  };
  const kept = snapshots
    .filter(isKept)
    .filter((_one, index, daily) => (daily[index + 1]?.['timestamp-ms'] ?? Infinity) > fromMs);
  return kept.length === snapshots.length ? table : { ...table, snapshots: kept };
}

export function metadataBytes(
  { location, snapshots }: IcebergTable,
  schema: TableSchema,
  updatedMs: number,
): Buffer {
  const last = snapshots.at(-1);
  if (!last) throw new Error(`${location} has no snapshot`);
  const { 'snapshot-id': currentId } = last;
  return Buffer.from(
    JSON.stringify({
      'format-version': 2,
      // The id stays the same for the same table, and changes when the lake is moved.
      'table-uuid': hash('sha256', location, 'hex').replace(
        /^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*/,
        '$1-$2-4$3-8$4-$5',
      ),
      location,
      'last-sequence-number': last['sequence-number'],
      'last-updated-ms': Math.max(updatedMs, last['timestamp-ms']),
      'last-column-id': PARTITION_IDS.dt,
      schemas: [schema],
      'current-schema-id': schema['schema-id'],
      'partition-specs': [{ 'spec-id': 0, fields: PARTITION_FIELDS }],
      'default-spec-id': 0,
      'last-partition-id': 1001,
      'sort-orders': [{ 'order-id': 0, fields: [] }],
      'default-sort-order-id': 0,
      // Without this, anybody who may write would delete the lake's files together with the table.
      properties: { 'write.format.default': 'parquet', 'gc.enabled': 'false' },
      'current-snapshot-id': currentId,
      refs: { main: { type: 'branch', 'snapshot-id': currentId } },
      snapshots: snapshots.map((one) => ({
        ...one,
        'schema-id': schema['schema-id'],
        summary: { operation: 'overwrite' },
      })),
      'snapshot-log': snapshots.map((one) => ({
        'timestamp-ms': one['timestamp-ms'],
        'snapshot-id': one['snapshot-id'],
      })),
      'metadata-log': [],
    }),
  );
}

/** The table in this metadata. @throws BrandReportsError `config` `damaged_document` for any other document */
export function parseMetadata(content: Uint8Array): IcebergTable {
  return parseDocument(metadata, ICEBERG_PREFIX, parseJsonDocument(ICEBERG_PREFIX, content));
}
