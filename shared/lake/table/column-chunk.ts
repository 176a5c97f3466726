/**
 * Writes one column of a row group as Parquet. If a dictionary is much smaller, it writes a dictionary page with each
 * value once and the rows' places in it; otherwise it writes the values themselves. NULLs are bits of the definition
 * levels. Each different value costs its bytes and its place in the statistics once, however many rows have it.
 *
 * hyparquet-writer would write the same pages (data page v2, ZSTD), but its public interface accepts neither codes nor
 * dictionaries. `test/lake/table/column-chunk.slow.test.ts` compares the two.
 */
import { zstdCompressSync } from 'node:zlib';
import type { ColumnChunk, PageHeader, Statistics } from 'hyparquet';
import { ByteWriter } from 'hyparquet-writer';
import { writePageHeader } from 'hyparquet-writer/src/datapage.js';
import { type Column, type ParquetElement, type PhysicalValue, typeSpec } from '../../column-types.ts';
import type { CodedColumn } from './coded-rows.ts';
import { packedNumbers } from './packed-numbers.ts';
import { type PlainValues, plainValues } from './plain-values.ts';
import { type Present, StoredValues } from './stored-values.ts';
import { textsOf } from './texts.ts';

/**
 * A page of values ends at this many bytes. A page of places needs no limit: it has two bytes for each row of a row
 * group.
 */
const PAGE_BYTES = 2 ** 20;
/** I12: the statistics of all row groups stay in memory until the end of the file. */
const MAX_STATISTIC_BYTES = 1_024;

export type Compress = (bytes: Uint8Array) => Uint8Array | Promise<Uint8Array>;

/**
 * Appends the column's pages to `output`.
 * @param cells missing for a column without any value
 * @param compress to a ZSTD frame
 * @returns where the pages are and what they contain, for the footer of the file
 */
export async function writeColumnChunk(
  output: ByteWriter,
  { name, type }: Column,
  rows: number,
  cells: CodedColumn | undefined,
  compress: Compress,
): Promise<ColumnChunk> {
  const { parquet } = typeSpec(type);
  const { element } = parquet;
  const plain = plainValues(parquet, cells ?? NO_CELLS[element.type === 'BYTE_ARRAY' ? 'texts' : 'values']);
  const values = new StoredValues(plain);
  try {
    const present = values.present(rows, cells?.codes ?? new Uint32Array(rows));
    return await writePages(output, name, element.type, rows, { plain, values, present }, compress);
  } finally {
    values.close();
  }
}

interface ColumnValues {
  plain: PlainValues;
  values: StoredValues;
  present: Present;
}

/** The contents of a page: some rows, and the values of the rows that are not NULL. */
export interface Part {
  fromRow: number;
  toRow: number;
  fromPlace: number;
  toPlace: number;
}

async function writePages(
  output: ByteWriter,
  name: string,
  type: ParquetElement['type'],
  rows: number,
  { plain, values, present }: ColumnValues,
  compress: Compress,
): Promise<ColumnChunk> {
  // Booleans could be run-length encoded, but parquetjs-lite, the independent reader, cannot read that.
  const isDictionary = type !== 'BOOLEAN' && dictionaryPays(present, plain);
  const encoding = isDictionary ? 'RLE_DICTIONARY' : 'PLAIN';

  const start = output.offset;
  let uncompressedBytes = 0;
  const writePage = async (
    header: Omit<PageHeader, PageSize>,
    body: Uint8Array,
    levels: Uint8Array = NOTHING,
  ) => {
    const compressed = body.length === 0 ? COMPRESSED_NOTHING : await compress(body);
    const headerStart = output.offset;
    const uncompressed_page_size = levels.length + body.length;
    const compressed_page_size = levels.length + compressed.length;
    writePageHeader(output, { ...header, uncompressed_page_size, compressed_page_size });
    uncompressedBytes += output.offset - headerStart + uncompressed_page_size;
    output.appendBytes(levels);
    output.appendBytes(compressed);
  };
  if (isDictionary) {
    const dictionary_page_header = { num_values: present.distinct.length, encoding: 'PLAIN' } as const;
    await writePage({ type: 'DICTIONARY_PAGE', dictionary_page_header }, values.encode(present.distinct));
  }
  const dataStart = output.offset;
  const parts = isDictionary ? [wholeColumn(rows, present)] : partsOf(rows, plain, present);
  for (const part of parts) {
    const levels = definitionLevels(part, present.levels);
    const num_rows = part.toRow - part.fromRow;
    const data_page_header_v2 = {
      num_values: num_rows,
      num_nulls: num_rows - (part.toPlace - part.fromPlace),
      num_rows,
      encoding,
      definition_levels_byte_length: levels.length,
      repetition_levels_byte_length: 0,
      is_compressed: true,
    } as const;
    const body = isDictionary
      ? packedPlaces(present)
      : values.encode(present.filled.subarray(part.fromPlace, part.toPlace));
    await writePage({ type: 'DATA_PAGE_V2', data_page_header_v2 }, body, levels);
  }
  return {
    file_offset: BigInt(start),
    meta_data: {
      type,
      encodings: isDictionary ? ['PLAIN', encoding] : [encoding],
      path_in_schema: [name],
      codec: 'ZSTD',
      num_values: BigInt(rows),
      total_compressed_size: BigInt(output.offset - start),
      total_uncompressed_size: BigInt(uncompressedBytes),
      data_page_offset: BigInt(dataStart),
      ...(isDictionary && { dictionary_page_offset: BigInt(start) }),
      statistics: statisticsOf(rows, { plain, values, present }),
      encoding_stats: [
        ...(isDictionary ? [{ page_type: 'DICTIONARY_PAGE', encoding: 'PLAIN', count: 1 } as const] : []),
        { page_type: 'DATA_PAGE_V2', encoding, count: parts.length },
      ],
    },
  };
}

type PageSize = 'uncompressed_page_size' | 'compressed_page_size';

const NOTHING = new Uint8Array();
const COMPRESSED_NOTHING = zstdCompressSync(NOTHING);

/** The cells of a column without any value. */
const NO_CELLS = {
  texts: { codes: new Uint32Array(), texts: textsOf([undefined]) },
  values: { codes: new Uint32Array(), values: [undefined] },
};

/** Whether a dictionary takes at most half the bytes; a smaller gain would not pay for a reader's extra work. */
function dictionaryPays(
  { distinct, places, distinctBytes, rowBytes }: Present,
  { lengthBytes }: PlainValues,
): boolean {
  if (distinct.length === places.length) return false;
  const placesBytes = Math.ceil((places.length * bitWidth(distinct.length)) / 8);
  const dictionaryBytes = distinctBytes + distinct.length * lengthBytes;
  return 2 * (placesBytes + dictionaryBytes) <= rowBytes + places.length * lengthBytes;
}

/** How many bits a place takes among this many values. */
function bitWidth(distinct: number): number {
  return 32 - Math.clz32(distinct - 1);
}

/** The pages of a column without a dictionary: each has at most `mostBytes`, or one value. */
export function partsOf(
  rows: number,
  { stored: { starts, ends }, lengthBytes }: PlainValues,
  present: Present,
  mostBytes = PAGE_BYTES,
): Part[] {
  const { filled, levels, rowBytes } = present;
  if (rowBytes + filled.length * lengthBytes <= mostBytes) return [wholeColumn(rows, present)];
  const parts: Part[] = [];
  let [fromRow, fromPlace, place, bytes] = [0, 0, 0, 0];
  for (let row = 0; row < rows; row += 1) {
    if (levels[row] === 0) continue;
    const code = filled[place] ?? 0;
    const size = lengthBytes + (ends[code] ?? 0) - (starts[code] ?? 0);
    if (bytes > 0 && bytes + size > mostBytes) {
      parts.push({ fromRow, toRow: row, fromPlace, toPlace: place });
      [fromRow, fromPlace, bytes] = [row, place, 0];
    }
    bytes += size;
    place += 1;
  }
  return [...parts, { fromRow, toRow: rows, fromPlace, toPlace: place }];
}

function wholeColumn(rows: number, { filled }: Present): Part {
  return { fromRow: 0, toRow: rows, fromPlace: 0, toPlace: filled.length };
}

/** Runs and groups of bits, without the length prefix of older page formats. */
function definitionLevels({ fromRow, toRow, fromPlace, toPlace }: Part, levels: Uint32Array): Uint8Array {
  const [rows, present] = [toRow - fromRow, toPlace - fromPlace];
  if (present > 0 && present < rows) return packedNumbers(levels.subarray(fromRow, toRow), 1);
  // One run. Most columns have only this run, and in a wide table the rows would be read a thousand times otherwise.
  const bytes = new ByteWriter(16);
  bytes.appendVarInt(rows << 1);
  bytes.appendUint8(present === 0 ? 0 : 1);
  return bytes.getBytes();
}

/** A byte with the number of bits for each place, then the places. */
function packedPlaces({ places, distinct }: Present): Uint8Array {
  const width = bitWidth(distinct.length);
  return Buffer.concat([Uint8Array.of(width), packedNumbers(places, width)]);
}

function statisticsOf(rows: number, { plain, values, present }: ColumnValues): Statistics {
  const { distinct, places } = present;
  const null_count = BigInt(rows - places.length);
  if (distinct.length === 0) return { null_count };
  const { min, max } = values.extremes(distinct);
  const [min_value, max_value] = [boundOf(plain.valueOf(min), -0), boundOf(plain.valueOf(max), 0)];
  return min_value === undefined || max_value === undefined
    ? { null_count }
    : { min_value, max_value, null_count };
}

/**
 * A bound for the statistics; `undefined` leaves it out. A text's bound is a copy, because the footer outlives the texts,
 * of as many bytes as the footer's writer needs. The writer shortens texts to a few bytes, but may keep texts whole that
 * begin with the last characters of Unicode.
 * @param zero by the format's rules, a zero stands for both zeros
 */
function boundOf(
  value: PhysicalValue | Uint8Array | undefined,
  zero: number,
): PhysicalValue | Uint8Array | undefined {
  if (!(value instanceof Uint8Array)) return value === 0 ? zero : value;
  if (value.length > MAX_STATISTIC_BYTES && value[0] === 0xf4) return undefined;
  return Uint8Array.from(value.subarray(0, MAX_STATISTIC_BYTES));
}
