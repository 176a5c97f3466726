import { describe, expect, it } from '@jest/globals';
import { parquetMetadata } from 'hyparquet';
import type { Column } from '../../shared/base/column-types.ts';
import type { Row } from '../../shared/table/columns.ts';
import { type CodedColumn, coded } from '../../shared/table/coded-rows.ts';
import { Digest } from '../../shared/table/digest.ts';
import { readParquetRows } from '../../shared/table/coded-columns.ts';
import { writeParquet } from '../../shared/table/parquet.ts';
import { ROW_GROUP_ROWS } from '../../shared/table/row-group-limits.ts';
import { readWithParquetjs } from '../../shared/table/parquetjs-reader.ts';
import { CollectingWriter, duckdb, duckdbRows, parquetOf, readable, types } from './parquet-files.ts';

const oneOfEach = types.map((type, index): Column => ({ name: `c${index}`, type }));

const edges: Row[] = [
  { c0: '', c1: 0n, c2: 0, c3: false, c4: new Date(0), c5: new Date(0), c6: 0n, c7: 0n, c8: 0n },
  {
    c0: '😀\u0000\uFEFF"',
    c1: 2n ** 63n - 1n,
    c2: Number.MAX_VALUE,
    c3: true,
    c4: new Date('9999-12-31'),
    c5: new Date('9999-12-31T23:59:59.999Z'),
    c6: 10n ** 38n - 1n,
    c7: 10n ** 18n - 1n,
    c8: 9n,
  },
  {
    c0: '\uFEFFx'.repeat(40_000),
    c1: -(2n ** 63n),
    c2: 5e-324,
    c3: true,
    c4: new Date('0001-01-01'),
    c5: new Date('0001-01-01T00:00:00.001Z'),
    c6: -(10n ** 38n) + 1n,
    c7: -1n,
    c8: -9n,
  },
  { c1: 9007199254740993n, c3: null, c4: undefined },
  {},
];

/** Many rows that lead to dictionaries of every size, runs and NULLs. */
function* manyRows(count: number): Generator<Row> {
  for (let index = 0; index < count; index += 1) {
    yield {
      c0: `name ${index % 700}`,
      c1: index % 3 === 0 ? null : BigInt(index) * 1_000_003n,
      c2: (index % 1_000) / 8,
      c3: index % 5 === 0 ? undefined : index % 2 === 0,
      c4: new Date(Date.UTC(2026, 0, 1 + (index % 400))),
      c5: new Date(Date.UTC(2026, 0, 1, 0, 0, Math.floor(index / 90))),
      c6: BigInt(Math.floor(index / 50)) * 1_000_000_001n,
      c7: index > 100 && index < 900 ? null : -BigInt(index % 999),
      c8: index % 2 === 0 ? 1n : null,
    };
  }
}

function digestOf(columns: readonly Column[], rows: Iterable<Row>): string {
  const digest = new Digest(columns);
  for (const row of rows) digest.add(row);
  return digest.value();
}

async function digestsOf(bytes: Uint8Array, columns: readonly Column[]): Promise<Record<string, string>> {
  return {
    ours: digestOf(columns, await Array.fromAsync(readParquetRows(readable(bytes)))),
    'parquetjs-lite': digestOf(columns, await Array.fromAsync(readWithParquetjs(bytes, columns))),
    DuckDB: digestOf(columns, await duckdbRows(bytes, columns)),
  };
}

function all(digest: string): Record<string, string> {
  return { ours: digest, 'parquetjs-lite': digest, DuckDB: digest };
}

describe('three readers read what was written', () => {
  it('I6: several row groups, dictionaries and pages', async () => {
    const count = ROW_GROUP_ROWS + 5_000;
    const bytes = await parquetOf(oneOfEach, manyRows(count));
    expect(await digestsOf(bytes, oneOfEach)).toEqual(all(digestOf(oneOfEach, manyRows(count))));
  });
});

describe('engines see', () => {
  it('I7: the declared types, every column optional', async () => {
    const bytes = await parquetOf(oneOfEach, edges);
    const described = await duckdb(bytes, 'describe select * from {file}');
    expect(described.map((column) => [column.column_type, column.null])).toEqual(
      [
        'VARCHAR',
        'BIGINT',
        'DOUBLE',
        'BOOLEAN',
        'DATE',
        'TIMESTAMP',
        'DECIMAL(38,9)',
        'DECIMAL(18,2)',
        'DECIMAL(1,0)',
      ].map((type) => [type, 'YES']),
    );
  });

  it('annotations that Athena supports, ZSTD, statistics, no column index, and the writer', async () => {
    const bytes = await parquetOf(oneOfEach, manyRows(100));
    const metadata = parquetMetadata(bytes);
    expect(metadata.created_by).toBe('brand-reports');
    expect(metadata.schema.slice(1).map(({ type, converted_type }) => [type, converted_type])).toEqual([
      ['BYTE_ARRAY', 'UTF8'],
      ['INT64', undefined],
      ['DOUBLE', undefined],
      ['BOOLEAN', undefined],
      ['INT32', 'DATE'],
      ['INT64', 'TIMESTAMP_MICROS'],
      ['FIXED_LEN_BYTE_ARRAY', 'DECIMAL'],
      ['FIXED_LEN_BYTE_ARRAY', 'DECIMAL'],
      ['FIXED_LEN_BYTE_ARRAY', 'DECIMAL'],
    ]);
    for (const { meta_data, column_index_offset } of metadata.row_groups[0]?.columns ?? []) {
      expect(meta_data?.codec).toBe('ZSTD');
      expect(meta_data?.statistics?.min_value).toBeDefined();
      expect(column_index_offset).toBeUndefined();
    }
  });

  const names = [
    'Zebra',
    '\uFF21 fullwidth',
    '😀 shop',
    '\u{10FFFF}'.repeat(9),
    `${'é'.repeat(8)}😀`,
    'x'.repeat(16),
    'x'.repeat(17),
    `${'😀'.repeat(4)}z`,
  ];
  it.each(names)('a filter on the name %j finds it among all other names', async (name) => {
    for (const other of names) {
      const bytes = await parquetOf([{ name: 'name', type: 'string' }], [{ name }, { name: other }, {}]);
      const [found] = await duckdb(
        bytes,
        `select (select count(*) from {file} where name = '${name}') as equal,
                (select count(*) from {file} where name between '${name}' and '${name}') as between,
                (select min(name) from {file}) as least, (select max(name) from {file}) as most`,
      );
      const times = name === other ? 2n : 1n;
      const [least, most] = [name, other].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      expect(found).toEqual({ equal: times, between: times, least, most });
    }
  });

  it('a timestamp is in UTC in every session', async () => {
    const bytes = await parquetOf(
      [{ name: 't', type: 'timestamp' }],
      [{ t: new Date('2026-01-31T10:00:00Z') }],
    );
    const [row] = await duckdb(
      bytes,
      "set timezone = 'America/New_York'; select cast(t as varchar) as t from {file}",
    );
    expect(row).toEqual({ t: '2026-01-31 10:00:00' });
  });
});

describe('a file that is being written', () => {
  const columns: Column[] = [{ name: 'n', type: 'bigint' }];

  it('I12: is uploaded row group by row group', async () => {
    const output = new CollectingWriter();
    const file = writeParquet(output, columns);
    const writesAfter: number[] = [];
    for (let index = 0; index < ROW_GROUP_ROWS * 3; index += 1) {
      await file.append({ n: BigInt(index) });
      if ((index + 1) % ROW_GROUP_ROWS === 0) writesAfter.push(output.writes.length);
    }
    expect(writesAfter).toEqual([1, 2, 3]);
    const { rows, bytes } = await file.finish();
    expect(rows).toBe(ROW_GROUP_ROWS * 3);
    expect(bytes).toBe(output.bytes().length);
    expect(output.ended).toBe('finished');
    expect(parquetMetadata(output.bytes()).row_groups.map(({ num_rows }) => Number(num_rows))).toEqual([
      ROW_GROUP_ROWS,
      ROW_GROUP_ROWS,
      ROW_GROUP_ROWS,
    ]);
  });

  it('I12: ends a row group early if its values are huge', async () => {
    const output = new CollectingWriter();
    const file = writeParquet(output, [{ name: 'text', type: 'string' }]);
    for (let index = 0; index < 40; index += 1) await file.append({ text: 'x'.repeat(2 ** 21) });
    expect(output.writes.length).toBe(1);
    await file.abort();
  });

  it('I12: ends a row group early if the table is wide, and all readers still read it', async () => {
    const wide = Array.from({ length: 1_000 }, (_, index): Column => ({ name: `c${index}`, type: 'string' }));
    const rows = Array.from(
      { length: 5_000 },
      (_, index): Row => ({ [`c${index % 700}`]: `value ${index}` }),
    );
    const bytes = await parquetOf(wide, rows);
    expect(parquetMetadata(bytes).row_groups.map(({ num_rows }) => Number(num_rows))).toEqual([
      2_000, 2_000, 1_000,
    ]);
    expect(await digestsOf(bytes, wide)).toEqual(all(digestOf(wide, rows)));
  });

  it('waits for the store between row groups', async () => {
    const gate = Promise.withResolvers<void>();
    const output = new CollectingWriter();
    output.write = () => gate.promise;
    const file = writeParquet(output, columns);
    let appended = 0;
    const filling = (async () => {
      for (; appended <= ROW_GROUP_ROWS; appended += 1) await file.append({ n: 1n });
    })();
    await new Promise((resolve) => setImmediate(resolve));
    expect(appended).toBe(ROW_GROUP_ROWS - 1);
    gate.resolve();
    await filling;
    expect(appended).toBe(ROW_GROUP_ROWS + 1);
  });

  it.each(['write', 'finish'] as const)('reports a store that fails to %s', async (operation) => {
    const output = new CollectingWriter();
    output[operation] = () => Promise.reject(new Error('disk full'));
    const file = writeParquet(output, columns);
    await file.append({ n: 1n });
    await expect(file.finish()).rejects.toThrow('disk full');
  });

  it('is finished only after its last bytes are written', async () => {
    const gate = Promise.withResolvers<void>();
    const output = new CollectingWriter();
    output.write = () => gate.promise;
    const finishing = writeParquet(output, columns).finish();
    await new Promise((resolve) => setImmediate(resolve));
    expect(output.ended).toBeUndefined();
    gate.resolve();
    await finishing;
    expect(output.ended).toBe('finished');
  });

  it('does not exist after it was aborted', async () => {
    const output = new CollectingWriter();
    const file = writeParquet(output, columns);
    await file.append({ n: 1n });
    await file.abort();
    expect(output.ended).toBe('aborted');
  });

  const texts = (rows: number, text: (row: number) => string): Map<string, CodedColumn> => {
    const all = Array.from({ length: rows }, (_, row) => text(row));
    return new Map([['c0', coded('string', Uint32Array.from(all.keys()), all)]]);
  };

  it('takes rows and whole row groups, in their order', async () => {
    const output = new CollectingWriter();
    const file = writeParquet(output, oneOfEach);
    await file.append({ c0: 'first' });
    await file.writeGroup(2, texts(2, String));
    await file.append({ c0: 'last' });
    expect(await file.finish()).toMatchObject({ rows: 4, bytes: output.bytes().length });
    const rows = await Array.fromAsync(readParquetRows(readable(output.bytes())));
    expect(rows.map(({ c0 }) => c0)).toEqual(['first', '0', '1', 'last']);
    expect(parquetMetadata(output.bytes()).row_groups.map(({ num_rows }) => Number(num_rows))).toEqual([
      1, 2, 1,
    ]);
  });

  it.each<[string, boolean, Map<string, CodedColumn>]>([
    ['continues while a large page is compressed', true, texts(5_000, (row) => `${row} of many`)],
    ['takes no turn for a small page, so that tests in virtual time stay exact', false, texts(100, String)],
  ])('the event loop %s', async (_name, turned, columns) => {
    const file = writeParquet(new CollectingWriter(), oneOfEach);
    let hasTurned = false;
    const turn = setImmediate(() => {
      hasTurned = true;
    });
    await file.writeGroup(columns.get('c0')?.codes.length ?? 0, columns);
    expect(hasTurned).toBe(turned);
    clearImmediate(turn);
  });
});

describe('reading some columns', () => {
  const columns: Column[] = [
    { name: 'id', type: 'string' },
    { name: 'amount', type: 'decimal(18,2)' },
  ];
  const rows: Row[] = [{ id: 'a', amount: 1n }, { id: 'b' }];

  it.each<[string[], Row[]]>([
    [['id'], [{ id: 'a' }, { id: 'b' }]],
    [['amount'], [{ amount: 1n }, { amount: undefined }]],
    [
      ['id', 'of a later schema'],
      [{ id: 'a' }, { id: 'b' }],
    ],
    [['of a later schema'], [{}, {}]],
  ])('returns only the cells of %j', async (names, expected) => {
    const read = await Array.fromAsync(readParquetRows(readable(await parquetOf(columns, rows)), names));
    expect(read).toEqual(expected);
  });

  it('reads only the bytes of these columns', async () => {
    const wide: Column[] = [{ name: 'id', type: 'bigint' }, ...oneOfEach];
    const bytes = await parquetOf(
      wide,
      Array.from({ length: 20_000 }, (_, index) => ({ id: BigInt(index), c0: `${index}`.repeat(40) })),
    );
    let read = 0;
    const counting = {
      bytes: bytes.length,
      range: async (start: number, end: number) => {
        if (end < bytes.length) read += end - start;
        return bytes.subarray(start, end);
      },
    };
    expect((await Array.fromAsync(readParquetRows(counting, ['id']))).length).toBe(20_000);
    expect(read).toBeLessThan(bytes.length / 2);
  });
});
