/*
 * Writes and reads manifests, which list the files of a brand's month, and manifest lists, which list the manifests of a
 * snapshot. Their schemas are the part of Iceberg's specification (version 2) for files without deletes and column bounds.
 */
import {
  type Avro,
  avroFile,
  boolean,
  bytes,
  int,
  list,
  long,
  optional,
  readAvroFile,
  record,
  string,
} from './avro.ts';

type Read<T> = T extends Avro<infer Value> ? Value : never;

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

export type DataFile = Read<typeof dataFile>;
export type ManifestEntry = Read<typeof manifestEntry>;
export type ManifestFile = Read<typeof manifestFile>;

export const STATUS = { existing: 0, added: 1, deleted: 2 } as const;

/** A manifest. @param metadata that Iceberg requires in it: schema and partition fields of the table */
export function manifestBytes(
  entries: readonly ManifestEntry[],
  metadata: Readonly<Record<string, string>>,
): Buffer {
  return avroFile(manifestEntry, entries, { ...metadata, 'format-version': '2', content: 'data' });
}

/** @throws Error if `manifestBytes` did not write it */
export function readManifest(content: Uint8Array): ManifestEntry[] {
  return readAvroFile(manifestEntry, content);
}

export function manifestListBytes(manifests: readonly ManifestFile[], snapshotId: number): Buffer {
  return avroFile(manifestFile, manifests, { 'snapshot-id': String(snapshotId), 'format-version': '2' });
}

/** @throws Error if `manifestListBytes` did not write it */
export function readManifestList(content: Uint8Array): ManifestFile[] {
  return readAvroFile(manifestFile, content);
}

/** The entry in the manifest list for a manifest that has these entries and is written for this snapshot. */
export function manifestFileOf(
  entries: readonly ManifestEntry[],
  written: { path: string; bytes: number; snapshotId: number; sequence: number },
): ManifestFile {
  const of = (status: number) => entries.filter((entry) => entry.status === status);
  const rows = (status: number) => of(status).reduce((sum, { data_file }) => sum + data_file.record_count, 0);
  const boundsOf = (key: keyof DataFile['partition']) => {
    const values = entries.map(({ data_file }) => data_file.partition[key] ?? '').sort();
    const [lower_bound, upper_bound] = [values[0], values.at(-1)].map((value = '') => Buffer.from(value));
    return {
      contains_null: false,
      lower_bound: lower_bound ?? null,
      upper_bound: upper_bound ?? null,
    };
  };
  return {
    manifest_path: written.path,
    manifest_length: written.bytes,
    partition_spec_id: 0,
    content: 0,
    sequence_number: written.sequence,
    min_sequence_number: Math.min(...entries.map((entry) => entry.sequence_number ?? written.sequence)),
    added_snapshot_id: written.snapshotId,
    added_files_count: of(STATUS.added).length,
    existing_files_count: of(STATUS.existing).length,
    deleted_files_count: of(STATUS.deleted).length,
    added_rows_count: rows(STATUS.added),
    existing_rows_count: rows(STATUS.existing),
    deleted_rows_count: rows(STATUS.deleted),
    partitions: [boundsOf('brand'), boundsOf('dt')],
  };
}
