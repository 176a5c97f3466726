/**
 * Writes a ZSTD frame (RFC 8878) that contains its bytes uncompressed. A column of a small day has some tens of bytes,
 * which no level makes shorter, and setting up a compressor takes a hundred times as long as writing this frame. Every
 * ZSTD decoder reads it: the compressor itself writes such blocks if compression does not pay.
 */

/** The largest size that fits into the frame's one-byte size field. */
export const MAX_STORED_BYTES = 255;

const MAGIC = [0x28, 0xb5, 0x2f, 0xfd];
/** One segment, whose size follows in one byte; no checksum, no dictionary. */
const DESCRIPTOR = 0x20;
/** The last block of the frame, uncompressed; the bits above contain its size. */
const LAST_RAW_BLOCK = 1;
const SIZE_SHIFT = 3;

/** @param bytes at most `MAX_STORED_BYTES` */
export function storedFrame(bytes: Uint8Array): Uint8Array {
  const block = (bytes.length << SIZE_SHIFT) | LAST_RAW_BLOCK;
  return Uint8Array.of(...MAGIC, DESCRIPTOR, bytes.length, block & 0xff, block >> 8, 0, ...bytes);
}
