/**
 * Compares, copies and hashes bytes eight at a time, because the values of a report are short. The last eight overlap those
 * before them.
 */
const WORD: u32 = 8;
/** What hashes multiply by: 2^64 divided by the golden ratio, until it is a secret. */
let factor: u64 = (0x9e3779b9 << 32) | 0x7f4a7c15;

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
  if (length < WORD) return mixed(shortWord(start, length) | length);
  let hash: u64 = length;
  const last = length - WORD;
  for (let index: u32 = 0; index < last; index += WORD) hash = stirred(hash ^ load<u64>(start + index));
  return mixed(hash ^ load<u64>(start + last));
}

/** Up to seven bytes in the upper bytes of a word, whose lowest is zero. Some bytes behind them are read too. */
function shortWord(start: usize, length: u32): u64 {
  // By two steps, because to shift by 64 bits is to shift by none.
  return (load<u64>(start) << 8) << (56 - 8 * <u64>length);
}

/** I12: who does not know the seed cannot choose values of one hash, which would make each search as long as the list. */
export function seedHashes(seed: u64): void {
  factor = seed | 1;
}

function stirred(hash: u64): u64 {
  // What only the highest bit tells apart must not stay so: a factor that is odd would leave it as it is.
  const product = (hash ^ (hash >>> 32)) * factor;
  return product ^ (product >>> 32);
}

function mixed(hash: u64): u32 {
  return <u32>stirred(stirred(hash));
}
