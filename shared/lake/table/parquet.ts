/**
 * Writes and reads Parquet files, a row group at a time: only the row group at hand is in memory (I12). A day of any
 * size can be written, since the file is uploaded in parts while it grows and exists only after `finish`.
 * How a column type is stored is in its row of `column-types.ts`. What is written here is also read by Athena, DuckDB
 * and parquetjs-lite (`parquetjs-reader.ts`), which `verify` and the tests compare with this reader.
 */
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import {
  type FileMetaData,
  type RowGroup as RowGroupMetadata,
  type SchemaElement,
  parquetMetadataAsync,
  parquetReadObjects,
} from 'hyparquet';
import { ByteWriter, type ColumnSource, ParquetWriter, type Writer } from 'hyparquet-writer';
import * as z from 'zod/mini';
import type { ObjectWriter } from '../../ports.ts';
import { type Column, type TypeSpec, typeOfElement, typeSpec, type Value } from '../../column-types.ts';
import { DERIVED_COLUMNS, type Row } from './columns.ts';

/** Rows of a row group: the unit that the writer keeps in memory and a reader can skip. */
export const ROW_GROUP_ROWS = 30_000;
/** I12: a row group also ends at this size of its values, so that huge records do not fill the memory. */
export const ROW_GROUP_BYTES = 64 * 2 ** 20;
/** I12: and at this number of cells, empty ones included: a reader holds one value for each of them. */
export const ROW_GROUP_CELLS = 2_000_000;
const CELL_BYTES = 24;

/** A Parquet file that is being written. */
export interface ParquetFile {
  append(row: Row): Promise<void>;
  /** Afterwards the file exists, whole. */
  finish(): Promise<{ rows: number; bytes: number }>;
  abort(): Promise<void>;
}

/**
 * Writes rows as Parquet for Athena: every column optional, ZSTD, row groups of ROW_GROUP_ROWS rows or fewer, each
 * written when it is full. Annotations are the older converted types, which every reader knows: by the format's rules a
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
    kvMetadata: [{ key: FIELDS_KEY, value: JSON.stringify(fieldsOf(columns)) }],
  });
  const writeOut = () => {
    const written = bytes.getBytes().slice();
    bytes.index = 0;
    return output.write(written);
  };
  bytes.flush = writeOut;
  bytes.finish = writeOut;

  const maxRows = Math.min(ROW_GROUP_ROWS, Math.ceil(ROW_GROUP_CELLS / Math.max(1, columns.length)));
  let group = new RowGroup(columns);
  let rows = 0;
  const endGroup = async () => {
    const ended = group;
    rows += ended.rows;
    group = new RowGroup(columns);
    await writer.write({ columnData: ended.columnData(), rowGroupSize: ROW_GROUP_ROWS });
  };
  return {
    async append(row) {
      group.append(row);
      if (group.rows >= maxRows || group.bytes >= ROW_GROUP_BYTES) await endGroup();
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

/** Under this key a file names the record's field of each column that is called otherwise. */
const FIELDS_KEY = 'brand-reports.fields';

function fieldsOf(columns: readonly Column[]): Record<string, string> {
  return Object.fromEntries(
    columns.flatMap(({ name, field }) => (field === undefined || field === name ? [] : [[name, field]])),
  );
}

const storedFields = z.record(z.string(), z.string());

/**
 * The columns of a file that `writeParquet` wrote for a report's table, in the order of its schema; a column of a type
 * that we never write is left out.
 */
export async function readParquetColumns(file: ReadableFile): Promise<Column[]> {
  const { schema, key_value_metadata: metadata = [] } = await parquetMetadataAsync(sourceOf(file));
  const stored = metadata.find(({ key }) => key === FIELDS_KEY)?.value ?? '{}';
  const fields = z.parse(storedFields, JSON.parse(stored));
  return schema.slice(1).flatMap((element): Column[] => {
    const { name } = element;
    const type = typeOfElement(element);
    if (type === undefined) return [];
    return [{ name, type, ...(!DERIVED_COLUMNS.includes(name) && { field: fields[name] ?? name }) }];
  });
}

function sourceOf(file: ReadableFile) {
  return {
    byteLength: file.bytes,
    slice: async (start: number, end = file.bytes) => ownBuffer(await file.range(start, end)),
  };
}

/** An object that can be read in parts: its size, and its bytes `[start, end)`. */
export interface ReadableFile {
  bytes: number;
  range(start: number, end: number): Promise<Uint8Array>;
}

/**
 * Reads what `writeParquet` wrote, a row group at a time; a NULL may be missing from its row.
 * @param columns only these; one that the file does not have is NULL
 */
export async function* readParquetRows(
  file: ReadableFile,
  columns?: readonly string[],
): AsyncGenerator<Row, void, undefined> {
  const source = sourceOf(file);
  const metadata = await parquetMetadataAsync(source);
  const physical = hideAnnotations(metadata);
  let rowStart = 0;
  for (const group of metadata.row_groups) {
    const rowEnd = rowStart + Number(group.num_rows);
    const names = filledColumns(group).filter((name) => columns?.includes(name) ?? true);
    const rows: Row[] = await parquetReadObjects({
      file: source,
      metadata,
      columns: names,
      rowStart,
      rowEnd,
      compressors: { ZSTD: (page) => zstdDecompressSync(page) },
      parsers: { stringFromBytes: (text) => text && utf8.decode(text) },
    });
    const converted = names.flatMap((name) => {
      const spec = physical.get(name);
      return spec ? [{ name, parquet: spec.parquet }] : [];
    });
    for (const row of rows) {
      for (const { name, parquet } of converted) row[name] = parquet.fromPhysical(row[name]);
      yield row;
    }
    rowStart = rowEnd;
  }
}

/** I12: a column without any value in the row group is not read, since most columns of a wide table are empty. */
function filledColumns({ columns }: RowGroupMetadata): string[] {
  return columns.flatMap(({ meta_data }) => {
    const isEmpty = meta_data?.statistics?.null_count === meta_data?.num_values;
    return isEmpty ? [] : (meta_data?.path_in_schema ?? []);
  });
}

/** The rows of a row group, column by column. I12: only values are held, since most cells of a wide table are empty. */
class RowGroup {
  rows = 0;
  /** About how many bytes of memory its values take. */
  bytes = 0;
  readonly #columns: readonly Column[];
  readonly #values: ReadonlyMap<string, { rows: number[]; values: Value[] }>;

  constructor(columns: readonly Column[]) {
    this.#columns = columns;
    this.#values = new Map(columns.map(({ name }) => [name, { rows: [], values: [] }]));
  }

  append(row: Row): void {
    for (const [name, value] of Object.entries(row)) {
      const column = this.#values.get(name);
      if (!column || value === null || value === undefined) continue;
      column.rows.push(this.rows);
      column.values.push(value);
      this.bytes += CELL_BYTES + (typeof value === 'string' ? value.length : 0);
    }
    this.rows += 1;
  }

  /** What the writer takes. It asks for one column after the other, and each is filled up only then. */
  columnData(): ColumnSource[] {
    return this.#columns.map(({ name, type }) => {
      const { encoding } = typeSpec(type).parquet;
      const filled = () => this.#filled(name);
      return {
        name,
        get data() {
          return filled();
        },
        ...(encoding !== 'default' && { encoding }),
      };
    });
  }

  #filled(name: string): (Value | undefined)[] {
    const data = new Array<Value | undefined>(this.rows).fill(undefined);
    const { rows, values } = this.#values.get(name) ?? { rows: [], values: [] };
    for (const [index, row] of rows.entries()) data[row] = values[index];
    return data;
  }
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
