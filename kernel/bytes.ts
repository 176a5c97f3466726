/** Compares, copies and hashes bytes a word at a time: the values of a report are short. */
import { avalanche } from './murmur';

const WORD: u32 = 4;

export function areEqual(a: usize, b: usize, length: u32): bool {
  let index: u32 = 0;
  for (; index + WORD <= length; index += WORD) if (load<u32>(a + index) !== load<u32>(b + index)) return false;
  for (; index < length; index += 1) if (load<u8>(a + index) !== load<u8>(b + index)) return false;
  return true;
}

export function copy(from: usize, to: usize, length: u32): void {
  let index: u32 = 0;
  for (; index + WORD <= length; index += WORD) store<u32>(to + index, load<u32>(from + index));
  for (; index < length; index += 1) store<u8>(to + index, load<u8>(from + index));
}

/** A multiplication a word, then the mixing of MurmurHash3. */
export function hashOf(start: usize, length: u32): u32 {
  let hash = length;
  let index: u32 = 0;
  for (; index + WORD <= length; index += WORD) {
    hash = (hash ^ load<u32>(start + index)) * 0x9e3779b1;
    hash ^= hash >>> 15;
  }
  for (; index < length; index += 1) hash = (hash ^ load<u8>(start + index)) * 0x01000193;
  return avalanche(hash);
}
