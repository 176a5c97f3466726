/** A value is the bytes `[start, end)` of a buffer; a value that ends before it begins is NULL. */
import { copy } from './bytes';
import { numberAt, setNumberAt } from './numbers';

const NUMBER_BITS: u32 = 2;
const WORD: u32 = 8;
enum Order {
  Bytes,
  /** A number in two's complement, the highest byte first. */
  BigEndian,
  Int32,
  Int64,
  Double,
}

@unmanaged
class Present {
  /** How many bytes the values take: each value once, and for each row. */
  distinctBytes: f64;
  rowBytes: f64;
  distinct: u32;
  places: u32;
}

/**
 * @param count of all values. A code beyond them is NULL.
 * @param distinct receives the code of each value that some row has, in the order of their first occurrence
 * @param filled receives, for each row that is not NULL, its code
 * @param places receives, for each row that is not NULL, the place of its value in `distinct`
 * @param levels receives 1 for each row, or 0 for NULL
 * @param placeOf space for one number per value, filled with zeros
 */
export function presentValues(
  starts: usize,
  ends: usize,
  count: u32,
  codes: usize,
  rows: u32,
  distinct: usize,
  filled: usize,
  places: usize,
  levels: usize,
  placeOf: usize,
  present: Present,
): void {
  let distinctBytes: f64 = 0;
  let rowBytes: f64 = 0;
  let met: u32 = 0;
  let placed: u32 = 0;
  for (let row: u32 = 0; row < rows; row += 1) {
    const code = numberAt(codes, row);
    const isPresent = code < count && numberAt(starts, code) <= numberAt(ends, code);
    setNumberAt(levels, row, u32(isPresent));
    if (!isPresent) continue;
    const length = <f64>(numberAt(ends, code) - numberAt(starts, code));
    const known = placeOf + (code << NUMBER_BITS);
    // Counted from 1.
    let place = load<u32>(known);
    if (place === 0) {
      setNumberAt(distinct, met, code);
      met += 1;
      place = met;
      store<u32>(known, place);
      distinctBytes += length;
    }
    setNumberAt(filled, placed, code);
    setNumberAt(places, placed, place - 1);
    placed += 1;
    rowBytes += length;
  }
  present.distinctBytes = distinctBytes;
  present.rowBytes = rowBytes;
  present.distinct = met;
  present.places = placed;
}

/** Writes the values of these codes without gaps. @param lengthBytes 4 if each value follows its length, or 0 */
export function encodeValues(
  bytes: usize,
  starts: usize,
  ends: usize,
  codes: usize,
  count: u32,
  lengthBytes: u32,
  into: usize,
): void {
  let at = into;
  for (let index: u32 = 0; index < count; index += 1) {
    const code = numberAt(codes, index);
    const start = numberAt(starts, code);
    const length = numberAt(ends, code) - start;
    if (lengthBytes > 0) store<u32>(at, length);
    at += lengthBytes;
    copy(bytes + start, at, length);
    at += length;
  }
}

/** @param codes at least one @param extremes receives the first code of the smallest value, and of the largest value */
export function extremesOf(
  bytes: usize,
  starts: usize,
  ends: usize,
  codes: usize,
  count: u32,
  order: Order,
  extremes: usize,
): void {
  let least = numberAt(codes, 0);
  let greatest = least;
  for (let index: u32 = 1; index < count; index += 1) {
    const code = numberAt(codes, index);
    if (isBefore(bytes, starts, ends, order, code, least)) least = code;
    else if (isBefore(bytes, starts, ends, order, greatest, code)) greatest = code;
  }
  store<u32>(extremes, least);
  store<u32>(extremes, greatest, 4);
}

function isBefore(bytes: usize, starts: usize, ends: usize, order: Order, a: u32, b: u32): bool {
  const startA = numberAt(starts, a);
  const startB = numberAt(starts, b);
  const atA = bytes + startA;
  const atB = bytes + startB;
  switch (order) {
    case Order.Int32:
      return load<i32>(atA) < load<i32>(atB);
    case Order.Int64:
      return load<i64>(atA) < load<i64>(atB);
    case Order.Double:
      return load<f64>(atA) < load<f64>(atB);
    case Order.BigEndian:
      if (load<i8>(atA) !== load<i8>(atB)) return load<i8>(atA) < load<i8>(atB);
      break;
  }
  return areBytesBefore(atA, atB, numberAt(ends, a) - startA, numberAt(ends, b) - startB);
}

/** The order of the bytes, which for texts is the order of the code points. */
function areBytesBefore(a: usize, b: usize, lengthA: u32, lengthB: u32): bool {
  const common = min(lengthA, lengthB);
  let index: u32 = 0;
  for (; index + WORD <= common; index += WORD) {
    const wordA = load<u64>(a + index);
    const wordB = load<u64>(b + index);
    if (wordA !== wordB) return bswap(wordA) < bswap(wordB);
  }
  for (; index < common; index += 1) {
    const byteA = load<u8>(a + index);
    const byteB = load<u8>(b + index);
    if (byteA !== byteB) return byteA < byteB;
  }
  return lengthA < lengthB;
}
