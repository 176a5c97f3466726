/**
 * Numbers as Parquet has the levels of rows and the places in a dictionary (its encoding RLE): eight or more of the same
 * are a run, others are groups of eight, of as many bits each as the largest takes.
 */
import { numberAt } from './numbers';

/** Numbers of a group, and of the shortest run. */
const GROUP: u32 = 8;
const BYTE_BITS: u32 = 8;
/** A varint has so many bits in a byte. */
const VARINT_BITS: u32 = 7;
const MORE: u32 = 0x80;
/** The most that stands before the bits of a run or of groups. */
const HEADER_BYTES: u32 = 5;

/** Room for so many numbers. */
export function packedRoom(count: u32, width: u32): u32 {
  return (count / GROUP + 1) * (HEADER_BYTES + width);
}

/** @param width bits of a number, at most 32 @param into as much as `packedRoom` says @returns where they end */
export function packNumbers(numbers: usize, count: u32, width: u32, into: usize): usize {
  let at = into;
  let index: u32 = 0;
  let packed: u32 = 0;
  while (index < count) {
    const run = runAt(numbers, count, index);
    if (run < GROUP) {
      index += GROUP;
      continue;
    }
    if (packed < index) at = writeGroups(numbers, packed, index, count, width, at);
    at = writeRun(numberAt(numbers, index), run, width, at);
    index += run;
    packed = index;
  }
  return packed < index ? writeGroups(numbers, packed, index, count, width, at) : at;
}

/** How many of the same begin at `index`. */
function runAt(numbers: usize, count: u32, index: u32): u32 {
  const number = numberAt(numbers, index);
  let behind = index + 1;
  while (behind < count && numberAt(numbers, behind) === number) behind += 1;
  return behind - index;
}

function writeRun(number: u32, run: u32, width: u32, into: usize): usize {
  let at = writeVarint(run << 1, into);
  for (let bits: u32 = 0; bits < width; bits += BYTE_BITS) {
    store<u8>(at, number >>> bits);
    at += 1;
  }
  return at;
}

/** The numbers from `from` to `to`, whole groups; those from `count` on are zeros. */
function writeGroups(numbers: usize, from: u32, to: u32, count: u32, width: u32, into: usize): usize {
  let at = writeVarint((((to - from) / GROUP) << 1) | 1, into);
  let word: u64 = 0;
  let bits: u32 = 0;
  for (let index = from; index < to; index += 1) {
    const number: u64 = index < count ? numberAt(numbers, index) : 0;
    word |= number << bits;
    for (bits += width; bits >= BYTE_BITS; bits -= BYTE_BITS) {
      store<u8>(at, <u8>word);
      word >>>= BYTE_BITS;
      at += 1;
    }
  }
  return at;
}

function writeVarint(value: u32, into: usize): usize {
  let at = into;
  let rest = value;
  for (; rest >= MORE; rest >>>= VARINT_BITS) {
    store<u8>(at, rest | MORE);
    at += 1;
  }
  store<u8>(at, rest);
  return at + 1;
}
