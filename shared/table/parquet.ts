/**
 * Writes one row group at a time, so that only the current row group is in memory (I12), whatever the size of the day. The
 * file is uploaded in parts while it grows, and exists only after `finish`. Readers of these files are `coded-columns.ts`,
 * Athena, DuckDB and parquetjs-lite (`parquetjs-reader.ts`), which `verify` and the tests compare.
 */
import { promisify } from 'node:util';
import { constants, zstdCompress, zstdCompressSync } from 'node:zlib';
import type { ColumnChunk, RowGroup, SchemaElement } from 'hyparquet';
import { ByteWriter } from 'hyparquet-writer';
import { writeMetadata } from 'hyparquet-writer/src/metadata.js';
import type { ObjectWriter } from '../ports.ts';
import { type Column, typeSpec } from '../base/column-types.ts';
import { type CodedGroup, rowsOf } from './coded-columns.ts';
import { type CodedColumn, CodedRows, type NamedColumn, firstOfAll } from './coded-rows.ts';
import { type Compress, writeColumnChunk } from './column-chunk.ts';
import type { Row } from './columns.ts';
import type { Digest } from './digest.ts';
import { FIELDS_KEY } from './parquet-footer.ts';
import { ROW_GROUP_BYTES, maxRowsOfGroup } from './row-group-limits.ts';
import { MAX_STORED_BYTES, storedFrame } from './stored-frame.ts';

/** A Parquet file that is being written. Calls must not overlap. */
export interface ParquetFile {
  append(row: Row): Promise<void>;
  /**
   * Writes a row group of its own, after all earlier rows: at most `maxRowsOfGroup` rows and ROW_GROUP_BYTES of values.
   * @param columns each is written before the next is requested; a missing column is NULL in all rows. The first column
   * of the schema comes first: parquet-mr (Spark, Iceberg's Java) takes its place for the place of the row group. It skips a
   * row group whose supposed middle is past the end of the file, so rows would be missing.
   */
  writeGroup(rows: number, columns: Iterable<NamedColumn>): Promise<void>;
  /** Appends rows row by row if they are fewer than WHOLE_ROWS: many short groups do not become many row groups. */
  appendGroup(group: Pick<CodedGroup, 'rows' | 'columns'>): Promise<void>;
  /** The file exists from then on. `filled`: by column that has a value, the number of rows with a value. */
  finish(): Promise<{ rows: number; bytes: number; filled: Record<string, number> }>;
  abort(): Promise<void>;
}

/**
 * For Athena, every column is optional. Annotations are the older converted types, which every reader supports. By the
 * format's rules a timestamp with such an annotation is in UTC, so no engine moves it to its session's zone.
 * @param columns all columns of the table, in the order of its schema
 */
export function writeParquet(output: ObjectWriter, columns: readonly Column[], digest?: Digest): ParquetFile {
  const bytes = new ByteWriter();
  const compress = compressor();
  const groups: RowGroup[] = [];
  const columnOf = new Map(columns.map((column) => [column.name, column]));
  const [first] = columns;
  let rowsWritten = 0;
  let pending = new CodedRows(columns);
  bytes.appendUint32(MAGIC);

  const writeOut = async () => {
    const grown = bytes.getBytes().slice();
    bytes.index = 0;
    await output.write(grown);
  };
  const writeGroup = async (rows: number, cells: Iterable<NamedColumn>) => {
    const start = bytes.offset;
    const written = new Map<string, ColumnChunk>();
    const write = async (column: Column, coded: CodedColumn | undefined) => {
      const chunk = await writeColumnChunk(bytes, column, rows, coded, compress);
      written.set(column.name, chunk);
      return chunk;
    };
    for (const [name, coded] of digest?.addColumns(rows, cells) ?? cells) {
      const column = columnOf.get(name);
      if (written.size === 0 && first && column && column !== first) await write(first, undefined);
      if (written.has(name)) throw new Error(`the column ${name} has to be the first of its row group`);
      if (column) await write(column, coded);
    }
    const chunks: ColumnChunk[] = [];
    for (const column of columns) chunks.push(written.get(column.name) ?? (await write(column, undefined)));
    groups.push({
      columns: chunks,
      total_byte_size: chunks.reduce(
        (sum, { meta_data }) => sum + (meta_data?.total_uncompressed_size ?? 0n),
        0n,
      ),
      num_rows: BigInt(rows),
      total_compressed_size: BigInt(bytes.offset - start),
    });
    rowsWritten += rows;
    await writeOut();
  };
  const writePending = async () => {
    const { rows } = pending;
    if (rows === 0) return;
    const cells = firstOfAll(pending.columns(), ([name]) => name === first?.name);
    pending = new CodedRows(columns);
    await writeGroup(rows, cells);
  };
  const afterPending = async (rows: number, cells: Iterable<NamedColumn>) => {
    await writePending();
    await writeGroup(rows, cells);
  };
  const append = async (row: Row) => {
    pending.append(row);
    if (pending.rows >= maxRowsOfGroup(columns.length) || pending.bytes >= ROW_GROUP_BYTES)
      await writePending();
  };
  return {
    append,
    async appendGroup(group) {
      if (group.rows < WHOLE_ROWS) for (const row of rowsOf(group)) await append(row);
      else await afterPending(group.rows, group.columns);
    },
    writeGroup: afterPending,
    async finish() {
      await writePending();
      const renamed = columns.filter(({ name, field }) => field !== undefined && field !== name);
      const fields = Object.fromEntries(renamed.map(({ name, field }) => [name, field]));
      writeMetadata(bytes, {
        version: 2,
        created_by: 'brand-reports',
        schema: [{ name: 'root', num_children: columns.length }, ...columns.map(schemaElement)],
        num_rows: BigInt(rowsWritten),
        row_groups: groups,
        key_value_metadata: [{ key: FIELDS_KEY, value: JSON.stringify(fields) }],
        metadata_length: 0,
      });
      bytes.appendUint32(MAGIC);
      await writeOut();
      await output.finish();
      return { rows: rowsWritten, bytes: bytes.offset, filled: filledRows(groups) };
    },
    abort: () => output.abort(),
  };
}

const WHOLE_ROWS = 1_000;

/** `PAR1`, the first and the last four bytes of a file. */
const MAGIC = 0x31524150;

const zstdCompressAside = promisify(zstdCompress);
/** Level 3, the default, takes 1.5 times as long for pages of about the same size. */
const ZSTD = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
/** About half a millisecond of work. */
const BLOCKING_BYTES = 64 * 2 ** 10;
/** The fixed cost of a call, as bytes. */
const CALL_BYTES = 4 * 2 ** 10;

/**
 * Compresses small pages in this thread, because handing a page to another thread costs more. After some small pages,
 * and for a large page, another thread compresses, so that the event loop continues: encoding one day must not delay
 * the requests of others.
 */
function compressor(): Compress {
  let blockingBytes = 0;
  return (bytes) => {
    if (bytes.length <= MAX_STORED_BYTES) return storedFrame(bytes);
    blockingBytes += bytes.length + CALL_BYTES;
    if (blockingBytes < BLOCKING_BYTES) return zstdCompressSync(bytes, ZSTD);
    blockingBytes = 0;
    return zstdCompressAside(bytes, ZSTD);
  };
}

function filledRows(groups: readonly RowGroup[]): Record<string, number> {
  const filled = new Map<string, number>();
  for (const { meta_data } of groups.flatMap(({ columns }) => columns)) {
    const [name = ''] = meta_data?.path_in_schema ?? [];
    const rows = Number((meta_data?.num_values ?? 0n) - (meta_data?.statistics?.null_count ?? 0n));
    if (rows > 0) filled.set(name, (filled.get(name) ?? 0) + rows);
  }
  return Object.fromEntries(filled);
}

/** I7: columns are only appended, so a column's place is its id in all files, by which Iceberg readers find it. */
function schemaElement({ name, type }: Column, place: number): SchemaElement {
  return { name, repetition_type: 'OPTIONAL', field_id: place + 1, ...typeSpec(type).parquet.element };
}
