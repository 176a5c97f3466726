import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  DuckDBBlobValue,
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBInstance,
  DuckDBTimestampValue,
  type DuckDBValue,
} from '@duckdb/node-api';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { zstdCompressSync } from 'node:zlib';
import { type Column, type ColumnType, type Value, typeSpec } from '../../shared/base/column-types.ts';
import type { Row } from '../../shared/table/columns.ts';
import { writeParquet } from '../../shared/table/parquet.ts';
import type { ReadableFile } from '../../shared/table/readable-file.ts';
import type { ObjectWriter } from '../../shared/ports.ts';

/** Every type, and decimals of several widths. */
export const types: readonly ColumnType[] = [
  'string',
  'bigint',
  'double',
  'boolean',
  'date',
  'timestamp',
  'decimal(38,9)',
  'decimal(18,2)',
  'decimal(1,0)',
];

export class CollectingWriter implements ObjectWriter {
  readonly writes: Uint8Array[] = [];
  ended: 'finished' | 'aborted' | undefined;

  async write(bytes: Uint8Array): Promise<void> {
    this.writes.push(bytes);
  }

  async finish(): Promise<void> {
    this.ended = 'finished';
  }

  async abort(): Promise<void> {
    this.ended = 'aborted';
  }

  bytes(): Uint8Array {
    return Buffer.concat(this.writes);
  }
}

export async function parquetOf(columns: readonly Column[], rows: Iterable<Row>): Promise<Uint8Array> {
  const output = new CollectingWriter();
  const file = writeParquet(output, columns);
  for (const row of rows) await file.append(row);
  await file.finish();
  return output.bytes();
}

/** The file that hyparquet-writer itself writes for a table, given the values of each row group by column. */
export function hyparquetWriterFileOf(
  columns: readonly Column[],
  groups: readonly ReadonlyMap<string, readonly (Value | undefined)[]>[],
): Uint8Array {
  const bytes = new ByteWriter();
  const elements = columns.map(({ name, type }) => ({
    name,
    repetition_type: 'OPTIONAL' as const,
    ...typeSpec(type).parquet.element,
  }));
  const writer = new ParquetWriter({
    writer: bytes,
    schema: [{ name: 'root', num_children: columns.length }, ...elements],
    codec: 'ZSTD',
    compressors: { ZSTD: (page) => zstdCompressSync(page) },
  });
  for (const group of groups) {
    const columnData = elements.map(({ name, type, converted_type: converted }) => ({
      name,
      // It multiplies the milliseconds of a Date as a double, which is inexact after the year 2255.
      data: [...(group.get(name) ?? [])].map((value) =>
        converted === 'TIMESTAMP_MICROS' && value instanceof Date ? BigInt(value.getTime()) * 1_000n : value,
      ),
      ...(type === 'BOOLEAN' && { encoding: 'PLAIN' as const }),
    }));
    void writer.write({ columnData, rowGroupSize: 1_000_000 });
  }
  void writer.finish();
  return bytes.getBytes().slice();
}

export function readable(bytes: Uint8Array): ReadableFile {
  return { bytes: bytes.length, range: async (start, end) => bytes.subarray(start, end) };
}

const duckdbInstance = DuckDBInstance.create(':memory:');

/** Runs a query in DuckDB; `{file}`, `{file1}` … stand for the Parquet files. */
export async function duckdb(
  files: Uint8Array | readonly Uint8Array[],
  sql: string,
): Promise<Record<string, DuckDBValue>[]> {
  const folder = await mkdtemp(join(tmpdir(), 'parquet-'));
  const connection = await (await duckdbInstance).connect();
  try {
    let text = sql;
    for (const [index, bytes] of [files].flat().entries()) {
      const path = join(folder, `${index}.parquet`);
      await writeFile(path, bytes);
      text = text.replaceAll(index === 0 ? '{file}' : `{file${index}}`, `'${path}'`);
    }
    return (await connection.runAndReadAll(text)).getRowObjects();
  } finally {
    connection.closeSync();
    await rm(folder, { recursive: true });
  }
}

export async function duckdbRows(
  files: Uint8Array | readonly Uint8Array[],
  columns: readonly Column[],
  from = '{file}',
): Promise<Row[]> {
  // As bytes, because DuckDB's own client removes a byte order mark from a text.
  const selected = columns.map(({ name, type }) =>
    type === 'string' ? `encode("${name}") as "${name}"` : `"${name}"`,
  );
  const rows = await duckdb(files, `select ${selected.join(', ')} from ${from}`);
  return rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, ours(value)])),
  );
}

function ours(value: DuckDBValue): Value | null {
  if (value instanceof DuckDBBlobValue) return Buffer.from(value.bytes).toString();
  if (value instanceof DuckDBDateValue) return new Date(value.days * 86_400_000);
  if (value instanceof DuckDBTimestampValue) return new Date(Number(value.micros / 1_000n));
  if (value instanceof DuckDBDecimalValue) return value.value;
  if (value === null || ['string', 'bigint', 'number', 'boolean'].includes(typeof value))
    return value as Value | null;
  throw new Error(`DuckDB gave a ${typeof value}`);
}
