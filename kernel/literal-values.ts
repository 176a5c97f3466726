/**
 * Reads the literals whose bytes alone decide their meaning: numbers of few digits, and texts without an escape. All other
 * literals are left to the exact reading. By code, a literal lies in `bytes` between two of `ends`; the first code is 1.
 */
import { BACKSLASH, beginsNumber, byteAt, isDigit, LOWER_N, MINUS, POINT, QUOTE, ZERO } from './json';
import { numberAt, setNumberAt } from './numbers';

/** A double holds every number with this many digits exactly. */
const SAFE_DIGITS: u32 = 15;
const BYTE_BITS: u32 = 8;
/** Bytes that are compared at once. */
const WIDE: u32 = 16;

/**
 * Writes numbers as Parquet does, each in `width` bytes of two's complement.
 * @param precision the most digits that a number may have; so many fit into the bytes
 * @param scale how many of the digits follow the point
 * @param isBigEndian whether the highest byte comes first
 * @param into receives, by code, the number in units of its last place
 * @param starts and `valueEnds` receive, by code, its place there. NULL and the numbers that are left begin after their end
 * @returns how many are left
 */
export function shortNumbers(
  bytes: usize,
  ends: usize,
  count: u32,
  precision: u32,
  scale: u32,
  width: u32,
  isBigEndian: bool,
  into: usize,
  starts: usize,
  valueEnds: usize,
): u32 {
  let left: u32 = 0;
  const limit = powerOfTen(min(precision, SAFE_DIGITS));
  setNull(starts, valueEnds, 0);
  for (let code: u32 = 1; code <= count; code += 1) {
    const start = bytes + numberAt(ends, code - 1);
    const value = shortNumber(start, bytes + numberAt(ends, code), scale, limit);
    if (Number.isNaN(value)) {
      if (byteAt(start) !== LOWER_N) left += 1;
      setNull(starts, valueEnds, code);
      continue;
    }
    const at = code * width;
    if (isBigEndian) storeBigEndian(into + at, width, <i64>value);
    else store<i64>(into + at, <i64>value);
    setNumberAt(starts, code, at);
    setNumberAt(valueEnds, code, at + width);
  }
  return left;
}

function setNull(starts: usize, ends: usize, code: u32): void {
  setNumberAt(starts, code, 1);
  setNumberAt(ends, code, 0);
}

function storeBigEndian(at: usize, width: u32, value: i64): void {
  let rest = value;
  for (let end = at + width; end > at; end -= 1) {
    store<u8>(end - 1, rest);
    rest >>= BYTE_BITS;
  }
}

/** @returns NaN if it is not a number without an exponent, has too many digits to be exact, or reaches `limit` */
function shortNumber(start: usize, end: usize, scale: u32, limit: f64): f64 {
  if (<u32>(end - start) > SAFE_DIGITS) return NaN;
  const isNegative = byteAt(start) === MINUS;
  let number: u64 = 0;
  let places: u32 = 0;
  let isAfterPoint = false;
  for (let at = isNegative ? start + 1 : start; at < end; at += 1) {
    const byte = byteAt(at);
    if (isDigit(byte)) {
      number = number * 10 + (byte - ZERO);
      places += u32(isAfterPoint);
    } else if (byte === POINT) isAfterPoint = true;
    else return NaN;
  }
  if (places > scale || scale - places > SAFE_DIGITS) return NaN;
  const units = <f64>number * powerOfTen(scale - places);
  if (units >= limit) return NaN;
  // Not -units, because whole numbers have no -0.
  return isNegative ? 0 - units : units;
}

function powerOfTen(exponent: u32): f64 {
  let power: f64 = 1;
  for (let index: u32 = 0; index < exponent; index += 1) power *= 10;
  return power;
}

/**
 * @param starts receives, by code, where a text begins in `bytes`; a number is a text as a whole. NULL and the literals that
 * are left begin after their end
 * @returns how many are left
 */
export function plainTexts(bytes: usize, ends: usize, count: u32, starts: usize, textEnds: usize): u32 {
  let left: u32 = 0;
  const hasEscapes = hasBackslash(bytes, bytes + numberAt(ends, count));
  setNull(starts, textEnds, 0);
  for (let code: u32 = 1; code <= count; code += 1) {
    let start = numberAt(ends, code - 1);
    let end = numberAt(ends, code);
    const first = byteAt(bytes + start);
    if (first === QUOTE && !(hasEscapes && hasBackslash(bytes + start, bytes + end))) {
      start += 1;
      end -= 1;
    } else if (!beginsNumber(first)) {
      if (first !== LOWER_N) left += 1;
      start = 1;
      end = 0;
    }
    setNumberAt(starts, code, start);
    setNumberAt(textEnds, code, end);
  }
  return left;
}

function hasBackslash(start: usize, end: usize): bool {
  let at = start;
  for (; at + WIDE <= end; at += WIDE)
    if (v128.any_true(i8x16.eq(v128.load(at), i8x16.splat(<i8>BACKSLASH)))) return true;
  for (; at < end; at += 1) if (byteAt(at) === BACKSLASH) return true;
  return false;
}
