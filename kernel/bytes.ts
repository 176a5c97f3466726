/**
 * Compares, copies and hashes bytes eight at a time, because the values of a report are short. The last eight overlap those
 * before them; fewer than eight are taken by one.
 */
const WORD: u32 = 8;
/** What hashes multiply by: 2^64 divided by the golden ratio, until it is a secret. */
let factor: u64 = (0x9e3779b9 << 32) | 0x7f4a7c15;

export function areEqual(a: usize, b: usize, length: u32): bool {
  if (length < WORD) {
    for (let index: u32 = 0; index < length; index += 1)
      if (load<u8>(a + index) !== load<u8>(b + index)) return false;
    return true;
  }
  const last = length - WORD;
  for (let index: u32 = 0; index < last; index += WORD)
    if (load<u64>(a + index) !== load<u64>(b + index)) return false;
  return load<u64>(a + last) === load<u64>(b + last);
}

export function copy(from: usize, to: usize, length: u32): void {
  if (length < WORD) {
    for (let index: u32 = 0; index < length; index += 1) store<u8>(to + index, load<u8>(from + index));
    return;
  }
  const last = length - WORD;
  for (let index: u32 = 0; index < last; index += WORD) store<u64>(to + index, load<u64>(from + index));
  store<u64>(to + last, load<u64>(from + last));
}

export function hashOf(start: usize, length: u32): u32 {
  let hash: u64 = length;
  if (length < WORD) {
    for (let index: u32 = 0; index < length; index += 1) hash = (hash << 8) | load<u8>(start + index);
    return mixed(hash);
  }
  const last = length - WORD;
  for (let index: u32 = 0; index < last; index += WORD) hash = stirred(hash ^ load<u64>(start + index));
  return mixed(hash ^ load<u64>(start + last));
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
