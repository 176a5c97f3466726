import { describe, expect, it } from '@jest/globals';
import {
  type DataFile,
  manifestBytes,
  manifestListBytes,
  readManifests,
  storedManifests,
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
const described = {
  ...{ brand: 'acme', month: '2026-01', path: 's3://bucket/m.avro', bytes: 4_096 },
  ...{ snapshotId: 12, sequence: 9, files: 3, rows: 35, firstDay: '2026-01-06', lastDay: '2026-01-21' },
};

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
    const text = (value: string) => Buffer.from(value);
    const of = (first: string, last: string) => {
      return { contains_null: false, lower_bound: text(first), upper_bound: text(last) };
    };
    const [entry] = decode<object>(manifestListBytes([described], 12));
    expect(entry).toMatchObject({ sequence_number: 9, added_files_count: 3, added_rows_count: 35 });
    expect(entry).toMatchObject({ partitions: [of('acme', 'acme'), of('2026-01-06', '2026-01-21')] });
  });
});

describe('what the next commit reads', () => {
  it('is what was stored; anything else is refused', () => {
    const content = storedManifests([described, { ...described, month: '2026-02' }]);
    expect(readManifests(content)).toEqual([described, { ...described, month: '2026-02' }]);
    for (let length = 0; length < content.length; length += 7)
      expect(() => readManifests(content.subarray(0, length))).toThrow();
    expect(() => readManifests(manifestBytes([], 1, {}))).toThrow();
  });
});
