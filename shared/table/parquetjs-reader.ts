/**
 * Reads snapshots with parquetjs-lite, the independent reader that is mandated for checking our files. It shares no code
 * with the writer, so a content on which both agree is in the file. Only `verify` and the tests use it.
 * The library is old and would fail or misread without these four changes:
 * - it has no ZSTD: an inflate function is added to its table of compressions;
 * - it refuses files by version number and fails on newer annotations: the footer is changed in memory to version 1
 *   without annotations, and `column-types.ts` converts the plain values;
 * - it applies `toString()` to the values of a dictionary page: they are wrapped so that `toString()` returns the value;
 * - its run-length decoder misreads dictionary indices above 255: the decoder of hyparquet, which only reads, replaces it.
 */
import { zstdDecompressSync } from 'node:zlib';
import { readRleBitPackedHybrid } from 'hyparquet/src/encoding.js';
import codecs from 'parquetjs-lite/lib/codec/index.js';
import compression from 'parquetjs-lite/lib/compression.js';
import parquetjs from 'parquetjs-lite/parquet.js';
import { BrandReportsError } from '../base/errors.ts';
import { viewOf } from '../records/murmur.ts';
import { type Column, type ColumnType, typeSpec, type Value } from '../base/column-types.ts';
import type { Row } from './columns.ts';

/** A column that the file does not have is NULL. @throws BrandReportsError `bug` if the bytes cannot be read */
export async function* readWithParquetjs(
  bytes: Uint8Array,
  columns: readonly Column[],
): AsyncGenerator<Row, void, undefined> {
  try {
    const cursor = await open(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
    for (let rows = await cursor.nextRowGroup(); rows !== null; rows = await cursor.nextRowGroup()) {
      for (const row of rows) {
        yield Object.fromEntries(columns.map(({ name, type }) => [name, fromPhysical(type, row[name])]));
      }
    }
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new BrandReportsError(
      'bug',
      'unreadable_snapshot',
      `parquetjs-lite cannot read this snapshot: ${reason}. Sync its day again with --from and --to.`,
      { cause: thrown },
    );
  }
}

async function open(bytes: Buffer) {
  const file = await parquetjs.ParquetEnvelopeReader.openBuffer(bytes, {
    default_dictionary_size: bytes.length,
  });
  const metadata = await file.readFooter();
  metadata.version = 1;
  for (const element of metadata.schema) element.converted_type = null;
  return new parquetjs.ParquetReader(metadata, file, { rawStatistics: true }).getCursor();
}

function fromPhysical(type: ColumnType, stored: unknown): Value | undefined {
  if (stored === undefined) return undefined;
  const value = typeSpec(type).parquet.fromPhysical(stored);
  if (value === undefined) throw new Error(`a ${type} column contains a ${typeof stored}`);
  return value;
}

compression.PARQUET_COMPRESSION_METHODS.ZSTD = { inflate: (page) => zstdDecompressSync(page) };

const { PLAIN } = codecs;
if (!PLAIN) throw new Error('parquetjs-lite has no PLAIN encoding');
codecs.PLAIN = {
  decodeValues(type, cursor, count, options) {
    const { column } = options;
    if (!column) return PLAIN.decodeValues(type, cursor, count, options);
    const values = PLAIN.decodeValues(type, cursor, count, { typeLength: column.typeLength });
    return values.map((value) => ({ toString: () => value }));
  },
};

codecs.RLE_DICTIONARY = {
  decodeValues(_type, { buffer, offset }, count) {
    const places = new Uint32Array(count);
    const reader = { view: viewOf(buffer), offset: offset + 1 };
    readRleBitPackedHybrid(reader, buffer.readUInt8(offset), places, buffer.length - offset - 1);
    return Array.from(places);
  },
};
