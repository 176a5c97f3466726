/**
 * Each step is done once per different value, and a text stays bytes, so comparing two versions of a day costs a fraction
 * of reading their rows. One row group is in memory at a time (I12).
 */
import { zstdDecompressSync } from 'node:zlib';
import type { RowGroup } from 'hyparquet';
import { parquetHeader } from 'hyparquet/src/column.js';
import { readRleBitPackedHybrid } from 'hyparquet/src/encoding.js';
import { type Column, typeSpec } from '../base/column-types.ts';
import { viewOf } from '../records/murmur.ts';
import { type NamedColumn, readerOf } from './coded-rows.ts';
import type { Row } from './columns.ts';
import { Digest, type RowHashes } from './digest.ts';
import { columnsOf, readMetadata } from './parquet-footer.ts';
import type { ReadableFile } from './readable-file.ts';
import { type PlainValues, widthOf } from './plain-values.ts';

export interface CodedGroup {
  rows: number;
  firstRow: number;
  columns: Iterable<NamedColumn>;
}

export interface CodedFile {
  columns: Column[];
  rows: number;
  groups(
    names?: readonly string[],
    isWanted?: (from: number, to: number) => boolean,
  ): AsyncGenerator<CodedGroup, void, undefined>;
}

export async function openCodedFile(file: ReadableFile): Promise<CodedFile> {
  const metadata = await readMetadata(file);
  const columns = columnsOf(metadata);
  return {
    columns,
    rows: Number(metadata.num_rows),
    async *groups(names, isWanted = () => true) {
      const wanted = columns.filter(({ name }) => names?.includes(name) ?? true);
      let firstRow = 0;
      for (const group of metadata.row_groups) {
        const behind = firstRow + Number(group.num_rows);
        if (isWanted(firstRow, behind))
          yield { rows: behind - firstRow, firstRow, columns: await columnsIn(file, group, wanted) };
        firstRow = behind;
      }
    },
  };
}

export async function digestOf(file: CodedFile, hashes?: RowHashes): Promise<string> {
  const digest = new Digest([], hashes);
  for await (const { rows, columns } of file.groups()) for (const _ of digest.addColumns(rows, columns));
  return digest.value();
}

/** The rows of a file; a NULL is missing from its row. @param names only these columns */
export async function* readParquetRows(
  file: ReadableFile,
  names?: readonly string[],
): AsyncGenerator<Row, void, undefined> {
  for await (const group of (await openCodedFile(file)).groups(names)) yield* rowsOf(group);
}

export function rowsOf({ rows, columns }: Omit<CodedGroup, 'firstRow'>): Row[] {
  const made = Array.from({ length: rows }, (): Row => ({}));
  for (const [name, column] of columns) {
    const valueAt = readerOf(column);
    for (const [index, row] of made.entries()) {
      const value = valueAt(index);
      if (value !== undefined) row[name] = value;
    }
  }
  return made;
}

/** One request, because the columns of a row group lie next to each other; each is unpacked when it is reached. */
async function columnsIn(
  file: ReadableFile,
  group: RowGroup,
  columns: readonly Column[],
): Promise<Iterable<NamedColumn>> {
  const chunkOf = new Map(group.columns.map(({ meta_data: of }) => [of?.path_in_schema[0], of]));
  const places = columns.flatMap((column) => {
    const chunk = chunkOf.get(column.name);
    // I12: a column without any value in the row group is not read, because most columns of a wide table are empty.
    if (!chunk || chunk.statistics?.null_count === chunk.num_values) return [];
    const start = Number(chunk.dictionary_page_offset ?? chunk.data_page_offset);
    return { column, start, end: start + Number(chunk.total_compressed_size) };
  });
  if (places.length === 0) return [];
  const from = Math.min(...places.map(({ start }) => start));
  const all = await file.range(from, Math.max(...places.map(({ end }) => end)));
  return (function* () {
    for (const { column, start, end } of places) {
      const { codes, pages } = unpackedChunk(all.subarray(start - from, end - from), Number(group.num_rows));
      yield [column.name, { type: column.type, codes, values: valuesOfPages(column, pages) }] as const;
    }
  })();
}

interface Page {
  view: DataView;
  values: number;
}

/** `codes`: by row, 0 for NULL, or the place of its value in all pages, counted from 1. */
function unpackedChunk(bytes: Uint8Array, rows: number): { codes: Uint32Array; pages: readonly Page[] } {
  const reader = { view: viewOf(bytes), offset: 0 };
  const codes = new Uint32Array(rows);
  const pages: Page[] = [];
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
      pages.push({ view: unpacked(page, header.uncompressed_page_size), values: dictionary.num_values });
    } else if (data) {
      const levels = page.subarray(0, data.definition_levels_byte_length);
      const packed = unpacked(page.subarray(levels.length), header.uncompressed_page_size - levels.length);
      const count = data.num_rows - data.num_nulls;
      const places = hasDictionary ? placesOf(packed, count) : undefined;
      if (!places) pages.push({ view: packed, values: count });
      setCodes(codes.subarray(row, row + data.num_rows), levels, places, values);
      row += data.num_rows;
      values += count;
    } else {
      throw new Error(`the Parquet file has a page of type ${header.type}, which is never written here`);
    }
  }
  return { codes, pages };
}

/** @param places for each value, its place in the dictionary; missing if the page has the values themselves */
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
/** The smallest chunk size that zlib accepts. */
const MIN_CHUNK_BYTES = 64;

function valuesOfPages({ type }: Column, found: readonly Page[]): PlainValues {
  const { element } = typeSpec(type).parquet;
  const width = widthOf(element);
  const pages = element.type === 'BOOLEAN' ? found.map(withBytes) : found;
  const count = pages.reduce((sum, { values }) => sum + values, 0);
  const starts = new Uint32Array(count + 1).fill(1);
  const ends = new Uint32Array(count + 1);
  let code = 1;
  let base = 0;
  for (const { view, values } of pages) {
    let at = 0;
    for (const last = code + values; code < last; code += 1) {
      const start = width > 0 ? at : at + LENGTH_BYTES;
      at = start + (width > 0 ? width : view.getUint32(at, true));
      starts[code] = base + start;
      ends[code] = base + at;
    }
    base += view.byteLength;
  }
  const parts = pages.map(({ view }) => Buffer.from(view.buffer, view.byteOffset, view.byteLength));
  const [first] = parts;
  return { bytes: first && parts.length === 1 ? first : Buffer.concat(parts), starts, ends };
}

/** A page of booleans with a byte for each bit. */
function withBytes({ view, values }: Page): Page {
  const bits = Array.from({ length: values }, (_, index) => (view.getUint8(index >> 3) >> (index & 7)) & 1);
  return { view: viewOf(Uint8Array.from(bits)), values };
}

/** Into one buffer: many small buffers outside the heap would start full garbage collections. */
function unpacked(page: Uint8Array, bytes: number): DataView {
  return viewOf(zstdDecompressSync(page, { chunkSize: Math.max(MIN_CHUNK_BYTES, bytes + 1) }));
}
