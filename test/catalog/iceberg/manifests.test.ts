import { describe, expect, it } from '@jest/globals';
import {
  type DataFile,
  manifestBytes,
  manifestFileOf,
  manifestListBytes,
  readManifestList,
} from '../../../shared/catalog/iceberg/manifests.ts';
import { decode } from './read-table.ts';

const file = (rows: number): DataFile => ({
  content: 0,
  file_path: `s3://bucket/Zoë ${rows}.parquet`,
  file_format: 'PARQUET',
  partition: { brand: 'acme', dt: `2026-01-${String((rows % 28) + 1).padStart(2, '0')}` },
  record_count: rows,
  file_size_in_bytes: rows * 428,
});
const files = [0, 1, 63, 64, 127, 128, 8_191, 8_192, 2 ** 31, 2 ** 43].map(file);
const written = { path: 's3://bucket/m.avro', bytes: 4_096, snapshotId: 12, sequence: 9 };

describe('a manifest', () => {
  it.each([
    ['with no file', []],
    ['with numbers of every length', files],
  ])('%s is read by any Avro decoder as it was written', (_name, of) => {
    const snapshot_id = 2 ** 53 - 1;
    const added = { status: 1, snapshot_id, sequence_number: null, file_sequence_number: null };
    expect(decode(manifestBytes(of, snapshot_id, { schema: '{}' }))).toEqual(
      of.map((data_file) => ({ ...added, data_file })),
    );
  });

  it('is described by its manifest list', () => {
    const described = manifestFileOf([file(10), file(20), file(5)], written);
    const content = manifestListBytes([described], 12);
    expect(readManifestList(content)).toEqual([described]);
    expect(decode(content)).toEqual([described]);
    expect(described).toMatchObject({ sequence_number: 9, added_files_count: 3, added_rows_count: 35 });
    const bounds = described.partitions?.map(
      ({ lower_bound, upper_bound }) => `${lower_bound} ${upper_bound}`,
    );
    expect(bounds).toEqual(['acme acme', '2026-01-06 2026-01-21']);
  });
});

describe('a manifest list', () => {
  it('that is truncated, or is something else, is refused', () => {
    const content = manifestListBytes([manifestFileOf(files, written)], 12);
    for (let length = 0; length < content.length - 16; length += 7)
      expect(() => readManifestList(content.subarray(0, length))).toThrow(Error);
    expect(() => readManifestList(manifestBytes([], 1, {}))).toThrow('it has another schema');
  });
});
