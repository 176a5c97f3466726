/**
 * Packs numbers as Parquet stores levels and dictionary places (its encoding RLE). Eight or more equal numbers are a run;
 * other numbers are groups of eight, each number in `width` bits.
 */
import { numberAt } from './numbers';

const GROUP: u32 = 8;
const BYTE_BITS: u32 = 8;
const VARINT_BITS: u32 = 7;
const CONTINUED: u32 = 0x80;

/** @param width bits of a number, at most 24 @param into space for `5 + width` bytes for each group @returns the written bytes */
export function packNumbers(numbers: usize, count: u32, width: u32, into: usize): u32 {
  let at = into;
  let written: u32 = 0;
  let end: u32 = 0;
  for (let index: u32 = 0; index < count; index = end) {
    const number = numberAt(numbers, index);
    end = index + 1;
    while (end < count && numberAt(numbers, end) === number) end += 1;
    if (end - index < GROUP) {
      end = index + GROUP;
      continue;
    }
    if (written < index) at = writeGroups(numbers, written, index, count, width, at);
    at = writeHeader(at, (end - index) << 1);
    for (let bits: u32 = 0; bits < width; bits += BYTE_BITS) {
      store<u8>(at, number >>> bits);
      at += 1;
    }
    written = end;
  }
  if (written < count) at = writeGroups(numbers, written, count, count, width, at);
  return <u32>(at - into);
}

function writeHeader(into: usize, value: u32): usize {
  let at = into;
  let rest = value;
  for (; rest >= CONTINUED; rest >>>= VARINT_BITS) {
    store<u8>(at, rest | CONTINUED);
    at += 1;
  }
  store<u8>(at, rest);
  return at + 1;
}

function writeGroups(numbers: usize, from: u32, to: u32, count: u32, width: u32, into: usize): usize {
  const groups = (to - from + GROUP - 1) / GROUP;
  let at = writeHeader(into, (groups << 1) | 1);
  let word: u32 = 0;
  let bits: u32 = 0;
  for (let index = from; index < from + groups * GROUP; index += 1) {
    if (index < count) word |= numberAt(numbers, index) << bits;
    for (bits += width; bits >= BYTE_BITS; bits -= BYTE_BITS) {
      store<u8>(at, word);
      at += 1;
      word >>>= BYTE_BITS;
    }
  }
  return at;
}
