/**
 * A dictionary is written if it is much smaller. Each different value costs its bytes and its place in the statistics once,
 * whatever the number of rows. The library hyparquet-writer would write the same pages (data page v2, ZSTD), but its
 * public interface accepts neither codes nor dictionaries. `test/table/column-chunk.slow.test.ts` compares the two.
 */
import { zstdCompressSync } from 'node:zlib';
import type { ColumnChunk, PageHeader, Statistics } from 'hyparquet';
import { ByteWriter } from 'hyparquet-writer';
import { writePageHeader } from 'hyparquet-writer/src/datapage.js';
import { type Column, type PhysicalValue, typeSpec } from '../base/column-types.ts';
import type { CodedColumn } from './coded-rows.ts';
import { type Present, StoredValues } from './stored-values.ts';

/** I12: the statistics of all row groups stay in memory until the end of the file. */
const MAX_STATISTIC_BYTES = 1_024;

export type Compress = (bytes: Uint8Array) => Uint8Array | Promise<Uint8Array>;

/** @param cells missing for a column without any value @param compress to a ZSTD frame */
export async function writeColumnChunk(
  output: ByteWriter,
  { name, type }: Column,
  rows: number,
  cells: CodedColumn | undefined,
  compress: Compress,
): Promise<ColumnChunk> {
  const { parquet } = typeSpec(type);
  if (cells && cells.type !== type) throw new RangeError(`a ${type} column cannot hold ${cells.type} values`);
  const values = cells && new StoredValues(rows, cells);
  try {
    const present = values?.present ?? { filled: 0, distinct: 0, distinctBytes: 0, rowBytes: 0 };
    // Booleans could be run-length encoded, but parquetjs-lite, the independent reader, cannot read that.
    const isDictionary = parquet.element.type !== 'BOOLEAN' && dictionaryPays(present);
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
    if (values && isDictionary) {
      const dictionary_page_header = { num_values: present.distinct, encoding: 'PLAIN' } as const;
      await writePage({ type: 'DICTIONARY_PAGE', dictionary_page_header }, values.dictionary());
    }
    const dataStart = output.offset;
    const levels = definitionLevels(rows, values);
    const data_page_header_v2 = {
      num_values: rows,
      num_nulls: rows - present.filled,
      num_rows: rows,
      encoding,
      definition_levels_byte_length: levels.length,
      repetition_levels_byte_length: 0,
      is_compressed: true,
    } as const;
    const body = isDictionary ? values?.packedPlaces(bitWidth(present.distinct)) : values?.values();
    await writePage({ type: 'DATA_PAGE_V2', data_page_header_v2 }, body ?? NOTHING, levels);
    return {
      file_offset: BigInt(start),
      meta_data: {
        type: parquet.element.type,
        encodings: isDictionary ? ['PLAIN', encoding] : [encoding],
        path_in_schema: [name],
        codec: 'ZSTD',
        num_values: BigInt(rows),
        total_compressed_size: BigInt(output.offset - start),
        total_uncompressed_size: BigInt(uncompressedBytes),
        data_page_offset: BigInt(dataStart),
        ...(isDictionary && { dictionary_page_offset: BigInt(start) }),
        statistics: statisticsOf(rows - present.filled, values),
        encoding_stats: [
          ...(isDictionary ? [{ page_type: 'DICTIONARY_PAGE', encoding: 'PLAIN', count: 1 } as const] : []),
          { page_type: 'DATA_PAGE_V2', encoding, count: 1 },
        ],
      },
    };
  } finally {
    values?.close();
  }
}

type PageSize = 'uncompressed_page_size' | 'compressed_page_size';

const NOTHING = new Uint8Array();
const COMPRESSED_NOTHING = zstdCompressSync(NOTHING);

/** Whether a dictionary takes at most half the bytes; a smaller gain would not pay for a reader's extra work. */
function dictionaryPays({ filled, distinct, distinctBytes, rowBytes }: Present): boolean {
  const placesBytes = Math.ceil((filled * bitWidth(distinct)) / 8);
  return distinct < filled && 2 * (placesBytes + distinctBytes) <= rowBytes;
}

function bitWidth(distinct: number): number {
  return 32 - Math.clz32(distinct - 1);
}

/** Runs and groups of bits, without the length prefix of older page formats. */
function definitionLevels(rows: number, values: StoredValues | undefined): Uint8Array {
  const present = values?.present.filled ?? 0;
  if (values && present > 0 && present < rows) return values.packedLevels();
  // One run. Most columns have only this run, and in a wide table the rows would be read a thousand times otherwise.
  const bytes = new ByteWriter(16);
  bytes.appendVarInt(rows << 1);
  bytes.appendUint8(present === 0 ? 0 : 1);
  return bytes.getBytes();
}

function statisticsOf(nulls: number, values: StoredValues | undefined): Statistics {
  const null_count = BigInt(nulls);
  if (!values || values.present.distinct === 0) return { null_count };
  const [min, max] = values.extremes();
  const [min_value, max_value] = [boundOf(min, -0), boundOf(max, 0)];
  return min_value === undefined || max_value === undefined
    ? { null_count }
    : { min_value, max_value, null_count };
}

/**
 * A text's bound is a copy, because the footer outlives the texts, of as many bytes as the footer's writer needs. The writer
 * shortens texts to a few bytes, but may keep texts whole that begin with the last characters of Unicode. Those get no bound.
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
