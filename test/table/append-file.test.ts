import { describe, expect, it } from '@jest/globals';
import { parquetMetadata } from 'hyparquet';
import type { Column } from '../../shared/base/column-types.ts';
import type { Row } from '../../shared/table/columns.ts';
import { openCodedFile, readParquetRows } from '../../shared/table/coded-columns.ts';
import { type ParquetFile, writeParquet } from '../../shared/table/parquet.ts';
import { readWithParquetjs } from '../../shared/table/parquetjs-reader.ts';
import { CollectingWriter, duckdbRows, parquetOf, readable, types } from './parquet-files.ts';

const columns = types.map((type, index): Column => ({ name: `c${index}`, type }));

function* rows(count: number, from = 0): Generator<Row> {
  for (let index = from; index < from + count; index += 1)
    yield {
      c0: index % 4 === 0 ? undefined : `text ${index % 300}`,
      c1: BigInt(index) * 1_000_003n,
      c2: index / 8,
      c3: index % 3 === 0,
      c4: new Date(index * 86_400_000),
      c5: new Date(index * 1_001),
      c6: BigInt(index),
    };
}

async function append(file: ParquetFile, bytes: Uint8Array): Promise<void> {
  for await (const group of (await openCodedFile(readable(bytes))).groups()) await file.appendGroup(group);
}

describe('appending the row groups of a file', () => {
  it.each<[string, Column[], number[], number[]]>([
    ['few rows join the rows before', columns, [3, 4], [7]],
    ['many rows stay a row group', columns, [1_000], [1_000]],
    ['few after many', columns, [1_000, 2], [1_000, 2]],
    ['many rows between few keep the order', columns, [2, 1_000, 3, 4], [2, 1_000, 7]],
    ['many rows in other columns', columns.slice(0, 4), [1_000, 2], [1_000, 2]],
  ])('lets every reader read its rows: %s', async (_name, of, sizes, groups) => {
    const output = new CollectingWriter();
    const file = writeParquet(output, columns);
    let from = 0;
    for (const size of sizes) {
      await append(file, await parquetOf(of, rows(size, from)));
      from += size;
    }
    const { bytes } = await file.finish();
    const expected = await parquetOf(of, rows(from));
    const wanted = await Array.fromAsync(readParquetRows(readable(expected)));
    const written = output.bytes();
    expect(written).toHaveLength(bytes);
    expect(await Array.fromAsync(readParquetRows(readable(written)))).toEqual(wanted);
    expect(await Array.fromAsync(readWithParquetjs(written, of))).toEqual(
      await Array.fromAsync(readWithParquetjs(expected, of)),
    );
    expect(await duckdbRows(written, of)).toEqual(await duckdbRows(expected, of));
    const { row_groups } = parquetMetadata(written);
    expect(row_groups.map(({ num_rows }) => Number(num_rows))).toEqual(groups);
  });

  it('puts the first column at the front of each row group, whichever column has the first value', async () => {
    const output = new CollectingWriter();
    const file = writeParquet(output, columns);
    // Columns with a value in the first row arrive first; `c0` has no value there, and arrives last.
    await file.append({ c1: 1n, c3: true });
    for (const row of rows(1_200, 1)) await file.append(row);
    await append(file, await parquetOf(columns, rows(1_200)));
    await file.finish();
    const { row_groups } = parquetMetadata(output.bytes());
    const starts = row_groups.map((group) =>
      group.columns.map(({ meta_data }) => meta_data?.dictionary_page_offset ?? meta_data?.data_page_offset),
    );
    expect(starts).toHaveLength(2);
    for (const [first, ...others] of starts)
      expect(others.every((other = 0n) => other > (first ?? 0n))).toBe(true);
  });
});
