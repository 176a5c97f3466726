/** Compares, copies and hashes eight bytes at a time: values are short. The last eight overlap the eight before. */
const WORD: u32 = 8;
const LOW: u64 = 0xffffffff;
/** The start of hashes, and the halves of their factor: 2^64 / golden ratio until a secret replaces it. */
let begin: u64 = 0;
let factorLow: u64 = 0x7f4a7c15;
let factorHigh: u64 = 0x9e3779b9;

export function areEqual(a: usize, b: usize, length: u32): bool {
  if (length < WORD) return shortWord(a, length) === shortWord(b, length);
  const last = length - WORD;
  for (let index: u32 = 0; index < last; index += WORD)
    if (load<u64>(a + index) !== load<u64>(b + index)) return false;
  return load<u64>(a + last) === load<u64>(b + last);
}

export function copy(from: usize, to: usize, length: u32): void {
  if (length < WORD) {
    copyShort(from, to, length);
    return;
  }
  const last = length - WORD;
  for (let index: u32 = 0; index < last; index += WORD) store<u64>(to + index, load<u64>(from + index));
  store<u64>(to + last, load<u64>(from + last));
}

function copyShort(from: usize, to: usize, length: u32): void {
  let at: usize = 0;
  if (length & 4) {
    store<u32>(to, load<u32>(from));
    at = 4;
  }
  if (length & 2) {
    store<u16>(to + at, load<u16>(from + at));
    at += 2;
  }
  if (length & 1) store<u8>(to + at, load<u8>(from + at));
}

export function hashOf(start: usize, length: u32): u32 {
  const first = begin ^ length;
  if (length < WORD) return <u32>folded(first ^ shortWord(start, length));
  let hash = first;
  const last = length - WORD;
  for (let index: u32 = 0; index < last; index += WORD) hash = folded(hash ^ load<u64>(start + index));
  return <u32>folded(hash ^ load<u64>(start + last));
}

/** Up to seven bytes in the upper bytes of a word whose lowest byte is zero. Some bytes after them are read too. */
function shortWord(start: usize, length: u32): u64 {
  // In two steps, because a shift by 64 bits is a shift by 0.
  return (load<u64>(start) << 8) << (56 - 8 * <u64>length);
}

/** I12: without these numbers nobody can choose values with equal hashes, which would make searches long. */
export function seedHashes(first: u64, factor: u64): void {
  begin = first;
  factorLow = (factor & LOW) | 1;
  factorHigh = factor >>> 32;
}

/**
 * Folds both halves of the 128-bit product into one. The lower half alone is not enough: its low bits depend only on
 * the low bits of the word, and the highest bit of a word changes only its highest bit, whatever the factor is.
 */
function folded(word: u64): u64 {
  const low = word & LOW;
  const high = word >>> 32;
  const lowest = low * factorLow;
  const crossed = low * factorHigh;
  const middle = (lowest >>> 32) + (crossed & LOW) + high * factorLow;
  const upper = high * factorHigh + (crossed >>> 32) + (middle >>> 32);
  return upper ^ ((middle << 32) | (lowest & LOW));
}
