/**
 * Memory in pieces of powers of two. A piece that is released is taken again for the next of its size, and everything is
 * forgotten at once when the next text or row group begins. A piece holds what it held before.
 */
const SMALLEST_BITS: u32 = 4;
const POINTER_BITS: u32 = 2;
const PAGE_BITS: u32 = 16;
/** So many bytes behind each piece can be read. */
const SPARE: u64 = 8;
/** The checked build leaves so many bytes after each piece: what passes an end must not meet the next piece unseen. */
const GAP: u32 = 64;
/** Places are numbers of 32 bits. */
const MOST_BYTES: u64 = 0xffff0000;
/** By size, the first released piece, which holds the place of the next one. */
const released: usize = memory.data(32 << POINTER_BITS);
let end: usize = __heap_base;

/** Of the checked build alone: `test/kernel/checked-kernel.ts` keeps by them which bytes may be loaded and stored. */
declare function forgotPieces(endOfStatics: usize): void;
declare function tookPiece(piece: usize, bytes: u32): void;
declare function releasedPiece(piece: usize, bytes: u32): void;

/** Forgets all pieces. */
export function releaseAll(): void {
  if (!ASC_NO_ASSERT) forgotPieces(__heap_base);
  memory.fill(released, 0, 32 << POINTER_BITS);
  end = (__heap_base + 15) & ~15;
}

/** How many bytes a piece has that has room for so many. */
export function sizeFor(bytes: u32): u32 {
  return 1 << bitsFor(bytes);
}

/** A piece of at least so many bytes. It traps where memory is used up. */
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
  // A call costs the same, however much it adds; what is not touched costs nothing.
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

/** @param bytes as many as it was allocated for */
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
