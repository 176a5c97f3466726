/**
 * Allocates memory in pieces whose sizes are powers of two. A released piece is reused for the next request of its
 * size, and all pieces are forgotten when the next text or row group begins. A piece keeps its previous contents.
 */
const SMALLEST_BITS: u32 = 4;
const POINTER_BITS: u32 = 2;
const PAGE_BITS: u32 = 16;
/** This many bytes after each piece can be read. */
const SPARE: u64 = 8;
/** The checked build leaves this many bytes after a piece, so that no access past its end reaches the next. */
const GAP: u32 = 64;
/** Addresses have 32 bits. */
const MOST_BYTES: u64 = 0xffff0000;
/** By size: the first released piece, which contains the address of the next released piece. */
const released: usize = memory.data(32 << POINTER_BITS);
let end: usize = __heap_base;

/** Only in the checked build: `test/records/checked-kernel.ts` tracks which bytes may be loaded and stored. */
declare function forgotPieces(endOfStatics: usize): void;
declare function tookPiece(piece: usize, bytes: u32): void;
declare function releasedPiece(piece: usize, bytes: u32): void;

export function releaseAll(): void {
  if (!ASC_NO_ASSERT) forgotPieces(__heap_base);
  memory.fill(released, 0, 32 << POINTER_BITS);
  end = (__heap_base + 15) & ~15;
}

export function sizeFor(bytes: u32): u32 {
  return 1 << bitsFor(bytes);
}

/** Allocates a piece of at least this many bytes; traps if the memory is used up. */
export function allocate(bytes: u32): usize {
  const bits = bitsFor(bytes);
  const list = released + (bits << POINTER_BITS);
  const piece = load<usize>(list);
  if (piece !== 0) {
    if (!ASC_NO_ASSERT) tookPiece(piece, bytes);
    store<usize>(list, load<usize>(piece));
    return piece;
  }
  const begin = end;
  const behind = <u64>begin + ((<u64>1) << bits);
  if (behind > MOST_BYTES) unreachable();
  end = <usize>behind;
  const size = memory.size();
  const missing = <i32>((behind + SPARE + (1 << PAGE_BITS) - 1) >>> PAGE_BITS) - size;
  // A call costs the same for any amount, and memory that is not touched costs nothing.
  if (missing > 0 && memory.grow(max(missing, size >> 2)) < 0 && memory.grow(missing) < 0) unreachable();
  if (!ASC_NO_ASSERT) {
    tookPiece(begin, bytes);
    end += GAP;
  }
  return begin;
}

export function allocateZeros(bytes: u32): usize {
  const piece = allocate(bytes);
  memory.fill(piece, 0, bytes);
  return piece;
}

/** @param bytes the number with which it was allocated */
export function release(piece: usize, bytes: u32): void {
  const list = released + (bitsFor(bytes) << POINTER_BITS);
  store<usize>(piece, load<usize>(list));
  store<usize>(list, piece);
  if (!ASC_NO_ASSERT) releasedPiece(piece, bytes);
}

/** A piece of another size that begins with the same bytes. */
export function resize(piece: usize, bytes: u32, newBytes: u32): usize {
  const longer = allocate(newBytes);
  memory.copy(longer, piece, bytes);
  release(piece, bytes);
  return longer;
}

function bitsFor(bytes: u32): u32 {
  return bytes <= 1 << SMALLEST_BITS ? SMALLEST_BITS : 32 - clz(bytes - 1);
}
