/** What the rows of a column come to: how many have each value, and the sum of whole numbers. */
import { numberAt, setNumberAt } from './numbers';

const DOUBLE_BITS: u32 = 3;
const LOW: i64 = 0xffffffff;
const LOW_BITS: u32 = 32;

/** @param counts gets by code how many rows have it: zeros. A code beyond them is not counted. @param count of all codes */
export function countRows(codes: usize, rows: u32, counts: usize, count: u32): void {
  for (let row: u32 = 0; row < rows; row += 1) {
    const code = numberAt(codes, row);
    if (code < count) setNumberAt(counts, code, numberAt(counts, code) + 1);
  }
}

/**
 * Exact, since the upper and the lower 32 bits of the numbers are summed apart.
 * @param units doubles, whole numbers; NaN is NULL @param counts by code how many rows have it
 * @param sum gets two numbers of 64 bits, the first in units of 2 ** 32
 * @returns whether some row has a number
 */
export function sumUnits(units: usize, counts: usize, count: u32, sum: usize): bool {
  let isFound = false;
  let high: i64 = 0;
  let low: i64 = 0;
  for (let code: u32 = 0; code < count; code += 1) {
    const unit = load<f64>(units + (code << DOUBLE_BITS));
    const times = <i64>numberAt(counts, code);
    if (Number.isNaN(unit) || times === 0) continue;
    isFound = true;
    const value = <i64>unit;
    high += (value >> LOW_BITS) * times;
    low += (value & LOW) * times;
  }
  store<i64>(sum, high);
  store<i64>(sum, low, 8);
  return isFound;
}
