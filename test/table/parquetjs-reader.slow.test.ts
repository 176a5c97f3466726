import { describe, expect, it } from '@jest/globals';
import type { Column } from '../../shared/base/column-types.ts';
import { readWithParquetjs } from '../../shared/table/parquetjs-reader.ts';
import { parquetOf } from './parquet-files.ts';

const columns: Column[] = [
  { name: 'id', type: 'string' },
  { name: 'n', type: 'bigint' },
];

describe('reading back with parquetjs-lite', () => {
  it('returns NULL for columns that the file does not have', async () => {
    const bytes = await parquetOf(columns, [{ id: 'a', n: 1n }]);
    const later: Column[] = [...columns, { name: 'amount', type: 'decimal(38,9)' }];
    expect(await Array.fromAsync(readWithParquetjs(bytes, later))).toEqual([
      { id: 'a', n: 1n, amount: undefined },
    ]);
  });

  it('reads a part of a larger buffer', async () => {
    const bytes = await parquetOf(columns, [{ id: 'a', n: 1n }]);
    const larger = Buffer.concat([Buffer.alloc(100, 7), bytes, Buffer.alloc(100, 7)]);
    expect(await Array.fromAsync(readWithParquetjs(larger.subarray(100, -100), columns))).toEqual([
      { id: 'a', n: 1n },
    ]);
  });

  it('reads columns whose names are special to the library', async () => {
    const named = ['parent', 'num_children', 'fields', 'length', '1', 'to_string'].map(
      (name): Column => ({ name, type: 'string' }),
    );
    const row = Object.fromEntries(named.map(({ name }) => [name, name]));
    expect(await Array.fromAsync(readWithParquetjs(await parquetOf(named, [row]), named))).toEqual([row]);
  });

  it.each<[string, (bytes: Uint8Array) => Uint8Array]>([
    ['nothing', () => new Uint8Array()],
    ['not Parquet', () => Buffer.from('<html>not Parquet</html>')],
    ['a truncated file', (bytes) => bytes.subarray(0, -20)],
    ['a damaged page', (bytes) => Buffer.from(bytes).fill(0, 20, 60)],
  ])('fails with a clear error for %s', async (_name, damage) => {
    const bytes = await parquetOf(
      columns,
      Array.from({ length: 100 }, (_, index) => ({ id: `${index}`, n: BigInt(index) })),
    );
    await expect(Array.fromAsync(readWithParquetjs(damage(bytes), columns))).rejects.toMatchObject({
      name: 'BrandReportsError',
      code: 'unreadable_snapshot',
      message: expect.stringContaining('--from'),
    });
  });

  it('fails with a clear error if a column has another type than the table', async () => {
    const bytes = await parquetOf([{ name: 'n', type: 'string' }], [{ n: '1' }]);
    await expect(Array.fromAsync(readWithParquetjs(bytes, columns))).rejects.toThrow('bigint');
  });
});
