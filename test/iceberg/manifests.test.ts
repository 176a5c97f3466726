import { describe, expect, it } from '@jest/globals';
import {
  type ManifestEntry,
  STATUS,
  manifestBytes,
  manifestFileOf,
  manifestListBytes,
  readManifest,
  readManifestList,
} from '../../shared/iceberg/manifests.ts';
import { decode } from './read-table.ts';

const entry = (rows: number, status: number = STATUS.added): ManifestEntry => ({
  status,
  snapshot_id: 2 ** 53 - 1,
  sequence_number: status === STATUS.added ? null : 7,
  file_sequence_number: null,
  data_file: {
    content: 0,
    file_path: `s3://bucket/Zoë ${rows}.parquet`,
    file_format: 'PARQUET',
    partition: { brand: 'acme', dt: `2026-01-${String((rows % 28) + 1).padStart(2, '0')}` },
    record_count: rows,
    file_size_in_bytes: rows * 428,
  },
});
const entries = [0, 1, 63, 64, 127, 128, 8_191, 8_192, 2 ** 31, 2 ** 43].map((rows) => entry(rows));
const written = { path: 's3://bucket/m.avro', bytes: 4_096, snapshotId: 12, sequence: 9 };

describe('a manifest', () => {
  it.each([
    ['with no entry', []],
    ['with numbers of every length', entries],
  ])('%s is read by any Avro decoder as it was written', (_name, of) => {
    const content = manifestBytes(of, { schema: '{}' });
    expect(decode(content)).toEqual(of);
    expect(readManifest(content)).toEqual(of);
  });

  it('is described by its manifest list', () => {
    const of = [entry(10), entry(20, STATUS.existing), entry(5, STATUS.deleted)];
    const file = manifestFileOf(of, written);
    const content = manifestListBytes([file], 12);
    expect(readManifestList(content)).toEqual([file]);
    expect(decode(content)).toEqual([file]);
    expect(file).toMatchObject({
      sequence_number: 9,
      min_sequence_number: 7,
      added_files_count: 1,
      existing_files_count: 1,
      deleted_files_count: 1,
      added_rows_count: 10,
      existing_rows_count: 20,
      deleted_rows_count: 5,
    });
    expect(file.partitions?.map(({ lower_bound, upper_bound }) => `${lower_bound} ${upper_bound}`)).toEqual([
      'acme acme',
      '2026-01-06 2026-01-21',
    ]);
  });

  it('that is truncated, or is something else, is refused', () => {
    const content = manifestBytes(entries, {});
    for (let length = 0; length < content.length - 16; length += 7)
      expect(() => readManifest(content.subarray(0, length))).toThrow(Error);
    expect(() => readManifest(manifestListBytes([], 1))).toThrow('it has another schema');
  });
});
