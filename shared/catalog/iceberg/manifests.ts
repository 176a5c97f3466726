/* The part of Iceberg's specification (version 2) for manifests and manifest lists of files without deletes and column bounds. */
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
export type ManifestFile = Read<typeof manifestFile>;

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

export function manifestListBytes(manifests: readonly ManifestFile[], snapshotId: number): Buffer {
  return avroFile(manifestFile, manifests, { 'snapshot-id': String(snapshotId), 'format-version': '2' });
}

export function readManifestList(content: Uint8Array): ManifestFile[] {
  return readAvroFile(manifestFile, content);
}

/** The entry in the manifest list for a manifest that has these files and is written for this snapshot. */
export function manifestFileOf(
  files: readonly DataFile[],
  written: { path: string; bytes: number; snapshotId: number; sequence: number },
): ManifestFile {
  const boundsOf = (key: keyof DataFile['partition']) => {
    const values = files.map(({ partition }) => partition[key] ?? '').sort();
    return {
      contains_null: false,
      lower_bound: Buffer.from(values[0] ?? ''),
      upper_bound: Buffer.from(values.at(-1) ?? ''),
    };
  };
  return {
    manifest_path: written.path,
    manifest_length: written.bytes,
    partition_spec_id: 0,
    content: 0,
    sequence_number: written.sequence,
    min_sequence_number: written.sequence,
    added_snapshot_id: written.snapshotId,
    added_files_count: files.length,
    existing_files_count: 0,
    deleted_files_count: 0,
    added_rows_count: files.reduce((sum, { record_count }) => sum + record_count, 0),
    existing_rows_count: 0,
    deleted_rows_count: 0,
    partitions: [boundsOf('brand'), boundsOf('dt')],
  };
}
