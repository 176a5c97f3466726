/**
 * A ZSTD frame (RFC 8878) that holds its bytes as they are. A column of a small day is some tens of bytes, which no level
 * makes shorter, and to set up a compressor for them takes a hundred times as long as to write this. Every decoder of
 * ZSTD reads it: the compressor itself writes such blocks where compression does not pay.
 */

/** The most that the one byte of its size can say. */
export const MAX_STORED_BYTES = 255;

const MAGIC = [0x28, 0xb5, 0x2f, 0xfd];
/** One segment, whose size follows in one byte; no checksum, no dictionary. */
const DESCRIPTOR = 0x20;
/** The last block of the frame, uncompressed; its size stands in the bits above. */
const LAST_RAW_BLOCK = 1;
const SIZE_SHIFT = 3;

/** @param bytes at most `MAX_STORED_BYTES` */
export function storedFrame(bytes: Uint8Array): Uint8Array {
  const block = (bytes.length << SIZE_SHIFT) | LAST_RAW_BLOCK;
  return Uint8Array.of(...MAGIC, DESCRIPTOR, bytes.length, block & 0xff, block >> 8, 0, ...bytes);
}
