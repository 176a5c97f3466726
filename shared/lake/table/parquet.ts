/**
 * Writes and reads Parquet files, a row group at a time: only the row group at hand is in memory (I12). A day of any
 * size can be written, since the file is uploaded in parts while it grows and exists only after `finish`.
 * How a column type is stored is in its row of `column-types.ts`. What is written here is also read by Athena, DuckDB
 * and parquetjs-lite (`parquetjs-reader.ts`), which `verify` and the tests compare with this reader.
 */
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { type FileMetaData, type SchemaElement, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { ByteWriter, type ColumnSource, ParquetWriter, type Writer } from 'hyparquet-writer';
import type { ObjectWriter } from '../../ports.ts';
import { type Column, type TypeSpec, typeOfElement, typeSpec, type Value } from '../../column-types.ts';
import type { Row } from './columns.ts';

/** Rows of a row group: the unit that the writer keeps in memory and a reader can skip. */
export const ROW_GROUP_ROWS = 30_000;
/** I12: a row group also ends at this size of its values, so that huge records do not fill the memory. */
export const ROW_GROUP_BYTES = 64 * 2 ** 20;
const CELL_BYTES = 16;

/** About how many bytes of memory a row takes. */
export function weightOf(row: Row): number {
  let bytes = 0;
  for (const value of Object.values(row))
    bytes += CELL_BYTES + (typeof value === 'string' ? value.length : 0);
  return bytes;
}

/** A Parquet file that is being written. */
export interface ParquetFile {
  append(row: Row): Promise<void>;
  /** Afterwards the file exists, whole. */
  finish(): Promise<{ rows: number; bytes: number }>;
  abort(): Promise<void>;
}

/**
 * Writes rows as Parquet for Athena: every column optional, ZSTD, row groups of ROW_GROUP_ROWS rows, each written
 * when it is full. Annotations are the older converted types, which every reader knows: by the format's rules a
 * timestamp so annotated is in UTC, and no engine moves it to the zone of its session.
 */
export function writeParquet(output: ObjectWriter, columns: readonly Column[]): ParquetFile {
  const bytes: ByteWriter & Writer = new ByteWriter();
  const writer = new ParquetWriter({
    writer: bytes,
    schema: [{ name: 'root', num_children: columns.length }, ...columns.map(schemaElement)],
    codec: 'ZSTD',
    compressors: { ZSTD: (page) => zstdCompressSync(page) },
    createdBy: 'brand-reports',
  });
  const writeOut = () => {
    const written = bytes.getBytes().slice();
    bytes.index = 0;
    return output.write(written);
  };
  bytes.flush = writeOut;
  bytes.finish = writeOut;

  let group = emptyGroup(columns);
  let rows = 0;
  const endGroup = async () => {
    const { columnData } = group;
    rows += group.rows;
    group = emptyGroup(columns);
    await writer.write({ columnData, rowGroupSize: ROW_GROUP_ROWS });
  };
  return {
    async append(row) {
      for (const { name, data } of group.columnData) data.push(row[name]);
      group.bytes += weightOf(row);
      group.rows += 1;
      if (group.rows >= ROW_GROUP_ROWS || group.bytes >= ROW_GROUP_BYTES) await endGroup();
    },
    async finish() {
      if (group.rows > 0) await endGroup();
      await writer.finish();
      await output.finish();
      return { rows, bytes: bytes.offset };
    },
    abort: () => output.abort(),
  };
}

/** An object that can be read in parts: its size, and its bytes `[start, end)`. */
export interface ReadableFile {
  bytes: number;
  range(start: number, end: number): Promise<Uint8Array>;
}

/**
 * Reads what `writeParquet` wrote, a row group at a time.
 * @param columns only these; one that the file does not have is NULL
 */
export async function* readParquetRows(
  file: ReadableFile,
  columns?: readonly string[],
): AsyncGenerator<Row, void, undefined> {
  const source = {
    byteLength: file.bytes,
    slice: async (start: number, end = file.bytes) => ownBuffer(await file.range(start, end)),
  };
  const metadata = await parquetMetadataAsync(source);
  const physical = hideAnnotations(metadata);
  const names = metadata.schema.slice(1).map(({ name }) => name);
  let rowStart = 0;
  for (const { num_rows } of metadata.row_groups) {
    const rows: Row[] = await parquetReadObjects({
      file: source,
      metadata,
      columns: columns ? names.filter((name) => columns.includes(name)) : names,
      rowStart,
      rowEnd: rowStart + Number(num_rows),
      compressors: { ZSTD: (page) => zstdDecompressSync(page) },
      parsers: { stringFromBytes: (text) => text && utf8.decode(text) },
    });
    for (const row of rows) {
      for (const [name, { parquet }] of physical) row[name] = parquet.fromPhysical(row[name]);
      yield row;
    }
    rowStart += Number(num_rows);
  }
}

interface RowGroup {
  columnData: (ColumnSource & { data: (Value | null | undefined)[] })[];
  rows: number;
  bytes: number;
}

function emptyGroup(columns: readonly Column[]): RowGroup {
  const columnData = columns.map(({ name, type }) => {
    const { encoding } = typeSpec(type).parquet;
    return { name, data: [], ...(encoding !== 'default' && { encoding }) };
  });
  return { columnData, rows: 0, bytes: 0 };
}

function schemaElement({ name, type }: Column): SchemaElement {
  return { name, repetition_type: 'OPTIONAL', ...typeSpec(type).parquet.element };
}

/** Hides the annotations that hyparquet would convert otherwise than we do; the types of those columns by name. */
function hideAnnotations(metadata: FileMetaData): Map<string, TypeSpec> {
  const hidden = new Map<string, TypeSpec>();
  for (const element of metadata.schema.slice(1)) {
    const type = typeOfElement(element);
    if (type === undefined || typeSpec(type).parquet.readByHyparquet) continue;
    hidden.set(element.name, typeSpec(type));
    delete element.converted_type;
  }
  return hidden;
}

// The reader's own decoder would remove a byte order mark.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function ownBuffer(bytes: Uint8Array): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}
