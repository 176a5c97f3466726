/**
 * Reads what `column-chunk.ts` writes as what it was written from: each different value of a column once, and a code for
 * each row. Whatever is done with a value is done once for each different one, and a text stays bytes: two versions of a
 * day are compared at a fraction of what their rows would cost. One row group is in memory at a time (I12).
 */
import { zstdDecompressSync } from 'node:zlib';
import type { ColumnChunk, RowGroup } from 'hyparquet';
import { parquetHeader } from 'hyparquet/src/column.js';
import { readRleBitPackedHybrid } from 'hyparquet/src/encoding.js';
import { readPlain } from 'hyparquet/src/plain.js';
import { type Column, type Value, typeSpec } from '../../column-types.ts';
import type { CodedColumn, NamedColumn } from './coded-rows.ts';
import { type ReadableFile, columnsOf, filledColumns, readMetadata } from './parquet.ts';
import type { Texts } from './texts.ts';

/** Rows that lie one behind the other in a file. */
export interface CodedGroup {
  /** How many rows of the file come before them. */
  firstRow: number;
  rows: number;
  /** The columns that have a value in some row. */
  columns: Iterable<NamedColumn>;
}

/** A snapshot of a table. */
export interface CodedFile {
  columns: readonly Column[];
  rows: number;
  /**
   * @param wanted which row groups; all by default
   * @param names only these columns
   */
  groups(
    wanted?: (group: Pick<CodedGroup, 'firstRow' | 'rows'>) => boolean,
    names?: readonly string[],
  ): AsyncGenerator<CodedGroup, void, undefined>;
}

/** Opens a file that `writeParquet` wrote. */
export async function openCodedFile(file: ReadableFile): Promise<CodedFile> {
  const metadata = await readMetadata(file);
  const columns = columnsOf(metadata);
  return {
    columns,
    rows: Number(metadata.num_rows),
    async *groups(wanted = () => true, names) {
      let firstRow = 0;
      for (const group of metadata.row_groups) {
        const rows = Number(group.num_rows);
        if (wanted({ firstRow, rows })) {
          const filled = new Set(filledColumns(group).filter((name) => names?.includes(name) ?? true));
          const chunks = columns
            .filter(({ name }) => filled.has(name))
            .map((column) => chunkOf(group, column));
          yield { firstRow, rows, columns: decoded(await withBytes(file, chunks), rows) };
        }
        firstRow += rows;
      }
    },
  };
}

/** A column of a row group, and where it lies in the file. */
interface Chunk {
  column: Column;
  start: number;
  end: number;
}

function chunkOf(group: RowGroup, column: Column): Chunk {
  const found = group.columns.find(({ meta_data }) => meta_data?.path_in_schema[0] === column.name);
  const start = Number(startOf(found));
  return { column, start, end: start + Number(found?.meta_data?.total_compressed_size ?? 0) };
}

function startOf(chunk: ColumnChunk | undefined): bigint {
  const { dictionary_page_offset: dictionary, data_page_offset: data = 0n } = chunk?.meta_data ?? {};
  return dictionary ?? data;
}

/** In one request: the columns of a row group lie one behind the other. */
async function withBytes(
  file: ReadableFile,
  chunks: readonly Chunk[],
): Promise<(Chunk & { bytes: Uint8Array })[]> {
  if (chunks.length === 0) return [];
  const from = Math.min(...chunks.map(({ start }) => start));
  const all = await file.range(from, Math.max(...chunks.map(({ end }) => end)));
  return chunks.map((chunk) => ({ ...chunk, bytes: all.subarray(chunk.start - from, chunk.end - from) }));
}

function* decoded(
  chunks: readonly (Chunk & { bytes: Uint8Array })[],
  rows: number,
): Generator<NamedColumn, void, undefined> {
  for (const { column, bytes } of chunks) yield [column.name, decodeChunk(bytes, rows, column)];
}

/** The values of a page, not yet told apart. */
interface Page {
  view: DataView;
  values: number;
}

function decodeChunk(bytes: Uint8Array, rows: number, column: Column): CodedColumn {
  const reader = { view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), offset: 0 };
  const codes = new Uint32Array(rows);
  const plain: Page[] = [];
  let hasDictionary = false;
  let row = 0;
  let values = 0;
  while (reader.offset < bytes.length) {
    const header = parquetHeader(reader);
    const page = bytes.subarray(reader.offset, reader.offset + header.compressed_page_size);
    reader.offset += header.compressed_page_size;
    const { dictionary_page_header: dictionary, data_page_header_v2: data } = header;
    if (dictionary) {
      hasDictionary = true;
      plain.push({ view: viewOf(unpacked(page)), values: dictionary.num_values });
    } else if (data) {
      const levels = page.subarray(0, data.definition_levels_byte_length);
      const packed = viewOf(unpacked(page.subarray(data.definition_levels_byte_length)));
      const count = data.num_rows - data.num_nulls;
      const places = hasDictionary ? placesOf(packed, count) : undefined;
      if (!places) plain.push({ view: packed, values: count });
      setCodes(codes.subarray(row, row + data.num_rows), levels, places, values);
      row += data.num_rows;
      values += count;
    } else {
      throw new Error(`the Parquet file has a page of type ${header.type}, which is never written here`);
    }
  }
  return column.type === 'string'
    ? { codes, texts: textsOfPages(plain) }
    : { codes, values: valuesOfPages(plain, column) };
}

/**
 * @param levels of each row whether it has a value, as bits
 * @param places of each value its place in the dictionary; missing where the values themselves lie one behind the other
 * @param before how many values came in earlier pages
 */
function setCodes(
  codes: Uint32Array,
  levels: Uint8Array,
  places: Uint32Array | undefined,
  before: number,
): void {
  const present = new Uint8Array(codes.length);
  readRleBitPackedHybrid({ view: viewOf(levels), offset: 0 }, 1, present, levels.length);
  let next = 0;
  for (let row = 0; row < codes.length; row += 1) {
    if (present[row] === 0) continue;
    // 0 is the code of NULL.
    codes[row] = 1 + (places ? (places[next] ?? 0) : before + next);
    next += 1;
  }
}

function placesOf(packed: DataView, count: number): Uint32Array {
  const places = new Uint32Array(count);
  readRleBitPackedHybrid({ view: packed, offset: 1 }, packed.getUint8(0), places, packed.byteLength - 1);
  return places;
}

const LENGTH_BYTES = 4;

function textsOfPages(pages: readonly Page[]): Texts {
  const count = pages.reduce((sum, { values }) => sum + values, 0);
  const starts = new Uint32Array(count + 1).fill(1);
  const ends = new Uint32Array(count + 1);
  let code = 1;
  let base = 0;
  for (const { view, values } of pages) {
    let at = 0;
    for (const last = code + values; code < last; code += 1) {
      const start = at + LENGTH_BYTES;
      at = start + view.getUint32(at, true);
      starts[code] = base + start;
      ends[code] = base + at;
    }
    base += view.byteLength;
  }
  const parts = pages.map(({ view }) => Buffer.from(view.buffer, view.byteOffset, view.byteLength));
  const [first] = parts;
  return { bytes: first && parts.length === 1 ? first : Buffer.concat(parts), starts, ends };
}

function valuesOfPages(pages: readonly Page[], { type }: Column): (Value | undefined)[] {
  const { parquet } = typeSpec(type);
  const { element } = parquet;
  const values: (Value | undefined)[] = [undefined];
  for (const { view, values: count } of pages)
    for (const stored of readPlain({ view, offset: 0 }, element.type, count, element.type_length))
      values.push(parquet.fromPhysical(stored));
  return values;
}

function unpacked(page: Uint8Array): Uint8Array {
  return zstdDecompressSync(page);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
