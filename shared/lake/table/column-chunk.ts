/**
 * Writes one column of a row group as Parquet: a dictionary page with each value once and the rows' places in it, where
 * that is much smaller, otherwise the values themselves; NULLs are bits of the definition levels. Whatever a value costs,
 * its bytes and its place in the statistics, it costs once for each different one and not for each row.
 * These are the pages that hyparquet-writer would make (data page v2, ZSTD); its public interface takes neither codes nor
 * dictionaries. `test/lake/table/column-chunk.slow.test.ts` compares the two.
 */
import { zstdCompressSync } from 'node:zlib';
import type { ColumnChunk, PageHeader, Statistics } from 'hyparquet';
import { ByteWriter } from 'hyparquet-writer';
import { writePageHeader } from 'hyparquet-writer/src/datapage.js';
import { writeRleBitPackedHybrid } from 'hyparquet-writer/src/encoding.js';
import { type Column, type PhysicalValue, type Value, typeSpec } from '../../column-types.ts';
import type { CodedColumn } from './coded-rows.ts';
import { type PlainType, plainType } from './plain-values.ts';
import { type Texts, isNullText } from './texts.ts';

/** A page of values ends at so many bytes. A page of places needs no bound: two bytes for each row of a row group. */
const PAGE_BYTES = 2 ** 20;
/** I12: statistics of all row groups are held until the end of the file. */
const MAX_STATISTIC_BYTES = 1_024;

export type Compress = (bytes: Uint8Array) => Uint8Array | Promise<Uint8Array>;

/**
 * Appends the column's pages to `output`.
 * @param cells a column without any value needs none
 * @param compress to a ZSTD frame
 * @returns where the pages are and what they hold, for the footer of the file
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
  const texts = cells && 'texts' in cells ? cells.texts : undefined;
  const plain = plainType(element, texts);
  const present = presentValues(rows, cells, (held) => parquet.toPhysical(held));
  // Booleans could be run-length encoded, but parquetjs-lite, the independent reader, cannot read that.
  const sizes = plain.sizes(present.distinct);
  const isDictionary = element.type !== 'BOOLEAN' && dictionaryPays(present, sizes);
  const encoding = isDictionary ? 'RLE_DICTIONARY' : 'PLAIN';

  const start = output.offset;
  let uncompressedBytes = 0;
  const writePage = async (
    header: Omit<PageHeader, PageSize>,
    values: Uint8Array,
    levels: Uint8Array = NOTHING,
  ) => {
    const compressed = values.length === 0 ? COMPRESSED_NOTHING : await compress(values);
    const headerStart = output.offset;
    const uncompressed_page_size = levels.length + values.length;
    const compressed_page_size = levels.length + compressed.length;
    writePageHeader(output, { ...header, uncompressed_page_size, compressed_page_size });
    uncompressedBytes += output.offset - headerStart + uncompressed_page_size;
    output.appendBytes(levels);
    output.appendBytes(compressed);
  };
  if (isDictionary) {
    const dictionary_page_header = { num_values: present.distinct.length, encoding: 'PLAIN' } as const;
    await writePage({ type: 'DICTIONARY_PAGE', dictionary_page_header }, plain.encode(present.distinct));
  }
  const dataStart = output.offset;
  let pages = 0;
  for (const part of isDictionary ? [wholeColumn(rows, present)] : partsOfPages(rows, present, sizes)) {
    const places = present.places.subarray(part.fromPlace, part.toPlace);
    const levels = definitionLevels(part, present.levels);
    const num_rows = part.toRow - part.fromRow;
    const data_page_header_v2 = {
      num_values: num_rows,
      num_nulls: num_rows - places.length,
      num_rows,
      encoding,
      definition_levels_byte_length: levels.length,
      repetition_levels_byte_length: 0,
      is_compressed: true,
    } as const;
    const values = isDictionary
      ? packedPlaces(places, present.distinct.length)
      : plain.encode(valuesOf(present, part));
    await writePage({ type: 'DATA_PAGE_V2', data_page_header_v2 }, values, levels);
    pages += 1;
  }
  return {
    file_offset: BigInt(start),
    meta_data: {
      type: element.type,
      encodings: isDictionary ? ['PLAIN', encoding] : [encoding],
      path_in_schema: [name],
      codec: 'ZSTD',
      num_values: BigInt(rows),
      total_compressed_size: BigInt(output.offset - start),
      total_uncompressed_size: BigInt(uncompressedBytes),
      data_page_offset: BigInt(dataStart),
      ...(isDictionary && { dictionary_page_offset: BigInt(start) }),
      statistics: statisticsOf(rows, present, plain, texts),
      encoding_stats: [
        ...(isDictionary ? [{ page_type: 'DICTIONARY_PAGE', encoding: 'PLAIN', count: 1 } as const] : []),
        { page_type: 'DATA_PAGE_V2', encoding, count: pages },
      ],
    },
  };
}

type PageSize = 'uncompressed_page_size' | 'compressed_page_size';

const NOTHING = new Uint8Array();
const COMPRESSED_NOTHING = zstdCompressSync(NOTHING);

/** The values that are not NULL. */
interface Present {
  /** Each value that some row has, in the order in which they came. */
  distinct: readonly PhysicalValue[];
  /** For each row that is not NULL: the place of its value in `distinct`. */
  places: Uint32Array;
  /** For each row: 1, or 0 for NULL. */
  levels: Uint8Array;
}

function presentValues(
  rows: number,
  cells: CodedColumn | undefined,
  toPhysical: (held: Value) => PhysicalValue,
): Present {
  const levels = new Uint8Array(rows);
  if (!cells) return { distinct: [], places: new Uint32Array(), levels };
  const { codes } = cells;
  const { count: different, physicalOf } = physicalValues(cells, toPhysical);
  const distinct: PhysicalValue[] = [];
  const places = new Uint32Array(rows);
  // By code: 0 until it is met, then -1 for NULL or the place, counted from 1.
  const placeOf = new Int32Array(different);
  let count = 0;
  for (let row = 0; row < rows; row += 1) {
    const code = codes[row] ?? 0;
    let place = placeOf[code] ?? -1;
    if (place === 0) {
      const value = physicalOf(code);
      place = value === undefined ? -1 : distinct.push(value);
      placeOf[code] = place;
    }
    if (place < 0) continue;
    levels[row] = 1;
    places[count] = place - 1;
    count += 1;
  }
  return { distinct, places: places.subarray(0, count), levels };
}

/** How many codes there are, and what each stands for; of texts it is the code itself. */
function physicalValues(cells: CodedColumn, toPhysical: (held: Value) => PhysicalValue) {
  if ('texts' in cells) {
    const { texts } = cells;
    const count = texts.starts.length;
    return { count, physicalOf: (code: number) => (isNullText(texts, code) ? undefined : code) };
  }
  const { values } = cells;
  return {
    count: values.length,
    physicalOf: (code: number) => {
      const value = values[code];
      return value === undefined ? undefined : toPhysical(value);
    },
  };
}

/** Whether a dictionary takes at most half the bytes: it makes more work for a reader. */
function dictionaryPays({ distinct, places }: Present, sizes: Uint32Array): boolean {
  if (distinct.length === places.length) return false;
  let bytes = Math.ceil((places.length * bitWidth(distinct.length)) / 8);
  for (const size of sizes) bytes += size;
  return 2 * bytes <= sizeOf(places, sizes);
}

function sizeOf(places: Uint32Array, sizes: Uint32Array): number {
  let bytes = 0;
  for (const place of places) bytes += sizes[place] ?? 0;
  return bytes;
}

/** The bits that a place in so many values takes. */
function bitWidth(distinct: number): number {
  return 32 - Math.clz32(distinct - 1);
}

/** What a page holds: some rows, and the values of those that are not NULL. */
interface Part {
  fromRow: number;
  toRow: number;
  fromPlace: number;
  toPlace: number;
}

function wholeColumn(rows: number, { places }: Present): Part {
  return { fromRow: 0, toRow: rows, fromPlace: 0, toPlace: places.length };
}

function partsOfPages(rows: number, { places, levels }: Present, sizes: Uint32Array): Part[] {
  const parts: Part[] = [];
  let [fromRow, fromPlace, toPlace, bytes] = [0, 0, 0, 0];
  for (let row = 0; row < rows; row += 1) {
    if (levels[row] === 0) continue;
    const size = sizes[places[toPlace] ?? 0] ?? 0;
    if (bytes > 0 && bytes + size > PAGE_BYTES) {
      parts.push({ fromRow, toRow: row, fromPlace, toPlace });
      [fromRow, fromPlace, bytes] = [row, toPlace, 0];
    }
    bytes += size;
    toPlace += 1;
  }
  return [...parts, { fromRow, toRow: rows, fromPlace, toPlace }];
}

/** Runs and groups of bits, without the length that older pages have. */
function definitionLevels({ fromRow, toRow, fromPlace, toPlace }: Part, levels: Uint8Array): Uint8Array {
  const bytes = new ByteWriter(16);
  const [rows, present] = [toRow - fromRow, toPlace - fromPlace];
  if (present === 0 || present === rows) {
    // One run. Most columns are one, and in a wide table the rows would be looked at a thousand times.
    bytes.appendVarInt(rows << 1);
    bytes.appendUint8(present === 0 ? 0 : 1);
  } else {
    writeRleBitPackedHybrid(bytes, levels.subarray(fromRow, toRow), 1);
  }
  return bytes.getBytes();
}

function packedPlaces(places: Uint32Array, distinct: number): Uint8Array {
  const bytes = new ByteWriter(1 + places.length * 2);
  const width = bitWidth(distinct);
  bytes.appendUint8(width);
  writeRleBitPackedHybrid(bytes, places, width);
  return bytes.getBytes();
}

function valuesOf({ distinct, places }: Present, { fromPlace, toPlace }: Part): PhysicalValue[] {
  // Where all differ, they are in the order of the rows.
  if (distinct.length === places.length) return distinct.slice(fromPlace, toPlace);
  const values: PhysicalValue[] = [];
  for (const place of places.subarray(fromPlace, toPlace)) {
    const value = distinct[place];
    if (value !== undefined) values.push(value);
  }
  return values;
}

function statisticsOf(
  rows: number,
  { distinct, places }: Present,
  plain: PlainType,
  texts: Texts | undefined,
): Statistics {
  const null_count = BigInt(rows - places.length);
  let [min] = distinct;
  if (min === undefined) return { null_count };
  let max = min;
  for (const value of distinct) {
    if (plain.isLess(value, min)) min = value;
    else if (plain.isLess(max, value)) max = value;
  }
  if (texts) {
    const [min_value, max_value] = [beginningOf(texts, min), beginningOf(texts, max)];
    return min_value && max_value ? { min_value, max_value, null_count } : { null_count };
  }
  // By the format's rules a zero stands for both zeros.
  return { min_value: min === 0 ? -0 : min, max_value: max === 0 ? 0 : max, null_count };
}

/**
 * A copy, since the footer outlives the texts, of as much as the footer's writer needs: it shortens them to a few bytes,
 * but may keep those whole that begin with the last characters of Unicode. There, nothing is said.
 */
function beginningOf({ bytes, starts, ends }: Texts, code: PhysicalValue): Uint8Array | undefined {
  const text = bytes.subarray(starts[Number(code)], ends[Number(code)]);
  if (text.length > MAX_STATISTIC_BYTES && text[0] === 0xf4) return undefined;
  return Uint8Array.from(text.subarray(0, MAX_STATISTIC_BYTES));
}
