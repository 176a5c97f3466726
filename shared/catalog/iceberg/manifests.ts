/* The part of Iceberg's specification (version 2) for manifests and manifest lists of files without deletes and column bounds. */
import { gunzipSync, gzipSync } from 'node:zlib';
import * as z from 'zod/mini';
import { parseDocument, parseJsonDocument, storedCount, storedObject } from '../../lake/cas-document.ts';
import { ICEBERG_PREFIX } from '../../lake/paths.ts';
import { type Avro, avroFile, boolean, bytes, int, list, long, optional, record, string } from './avro.ts';

const dataFile = record('r2', {
  content: [134, int],
  file_path: [100, string],
  file_format: [101, string],
  partition: [102, record('r102', { brand: [1000, optional(string)], dt: [1001, optional(string)] })],
  record_count: [103, long],
  file_size_in_bytes: [104, long],
});
const manifestEntry = record('manifest_entry', {
  status: [0, int],
  snapshot_id: [1, optional(long)],
  sequence_number: [3, optional(long)],
  file_sequence_number: [4, optional(long)],
  data_file: [2, dataFile],
});
const bounds = record('r508', {
  contains_null: [509, boolean],
  lower_bound: [510, optional(bytes)],
  upper_bound: [511, optional(bytes)],
});
const manifestFile = record('manifest_file', {
  manifest_path: [500, string],
  manifest_length: [501, long],
  partition_spec_id: [502, int],
  content: [517, int],
  sequence_number: [515, long],
  min_sequence_number: [516, long],
  added_snapshot_id: [503, long],
  added_files_count: [504, int],
  existing_files_count: [505, int],
  deleted_files_count: [506, int],
  added_rows_count: [512, long],
  existing_rows_count: [513, long],
  deleted_rows_count: [514, long],
  partitions: [507, optional(list(bounds, { 'element-id': 508 }))],
});

export type DataFile = typeof dataFile extends Avro<infer Value> ? Value : never;

const manifest = storedObject(() => ({
  brand: z.string(),
  month: z.string(),
  path: z.string(),
  bytes: storedCount,
  snapshotId: storedCount,
  sequence: storedCount,
  files: storedCount,
  rows: storedCount,
  firstDay: z.string(),
  lastDay: z.string(),
}));
/** The manifest of a month of a brand. */
export type Manifest = z.infer<typeof manifest>;

/**
 * A manifest with these files, each as added by this snapshot: a month whose files differ gets a new manifest, and nobody reads
 * from it which of them the earlier one had.
 * @param metadata that Iceberg requires in it: schema and partition fields of the table
 */
export function manifestBytes(
  files: readonly DataFile[],
  snapshotId: number,
  metadata: Readonly<Record<string, string>>,
): Buffer {
  const added = { status: 1, snapshot_id: snapshotId, sequence_number: null, file_sequence_number: null };
  const entries = files.map((data_file) => ({ ...added, data_file }));
  return avroFile(manifestEntry, entries, { ...metadata, 'format-version': '2', content: 'data' });
}

export function manifestListBytes(manifests: readonly Manifest[], snapshotId: number): Buffer {
  const boundsOf = (first: string, last: string) => ({
    contains_null: false,
    lower_bound: Buffer.from(first),
    upper_bound: Buffer.from(last),
  });
  const entries = manifests.map((each) => ({
    manifest_path: each.path,
    manifest_length: each.bytes,
    partition_spec_id: 0,
    content: 0,
    sequence_number: each.sequence,
    min_sequence_number: each.sequence,
    added_snapshot_id: each.snapshotId,
    added_files_count: each.files,
    existing_files_count: 0,
    deleted_files_count: 0,
    added_rows_count: each.rows,
    existing_rows_count: 0,
    deleted_rows_count: 0,
    partitions: [boundsOf(each.brand, each.brand), boundsOf(each.firstDay, each.lastDay)],
  }));
  return avroFile(manifestFile, entries, { 'snapshot-id': String(snapshotId), 'format-version': '2' });
}

/** Of 400,000 manifests: damaged bytes must not unpack to more memory than a function has. */
const MAX_BYTES = 100_000_000;

/** The manifests of a list for the next commit, so that no Avro is read. */
export function storedManifests(manifests: readonly Manifest[]): Buffer {
  return gzipSync(JSON.stringify(manifests), { level: 1 });
}

/** @throws Error for anything but what `storedManifests` returned */
export function readManifests(content: Uint8Array): Manifest[] {
  const unpacked = gunzipSync(content, { maxOutputLength: MAX_BYTES });
  return parseDocument(z.array(manifest), ICEBERG_PREFIX, parseJsonDocument(ICEBERG_PREFIX, unpacked));
}
