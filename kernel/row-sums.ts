/** Sums have 128 bits in four lanes without carries between them. A value is hashed once for each code of its column. */
import { finalMix, murmur } from './murmur';
import { numberAt } from './numbers';

const LANES_BITS: u32 = 4;
const NUMBER_BITS: u32 = 2;
const DOUBLE_BITS: u32 = 3;

/** Hashes the bytes `[start, end)` of values; 0 for NULL, which ends before it begins. @param into four lanes for each code */
export function hashValues(
  bytes: usize,
  starts: usize,
  ends: usize,
  count: u32,
  seed: usize,
  into: usize,
): void {
  for (let code: u32 = 0; code < count; code += 1) {
    const start = numberAt(starts, code);
    const end = numberAt(ends, code);
    const hash = into + (code << LANES_BITS);
    if (start > end) memory.fill(hash, 0, 1 << LANES_BITS);
    else murmur(bytes + start, end - start, seed, hash);
  }
}

/** Adds the hash of each row's code to the row's sum. A code beyond the hashes is NULL. */
export function addHashes(sums: usize, rows: u32, codes: usize, hashes: usize, count: u32): void {
  for (let row: u32 = 0; row < rows; row += 1) {
    const code = numberAt(codes, row);
    if (code >= count) continue;
    const sum = sums + (row << LANES_BITS);
    v128.store(sum, i32x4.add(v128.load(sum), v128.load(hashes + (code << LANES_BITS))));
  }
}

/** Mixes the sum of each row. @param totals receives four numbers of 64 bits: the sum of each lane over all rows */
export function mixSums(sums: usize, rows: u32, totals: usize): void {
  memory.fill(totals, 0, 32);
  for (let row: u32 = 0; row < rows; row += 1) {
    const sum = sums + (row << LANES_BITS);
    // After a single mix, each lane would depend on only 32 bits of the sum.
    finalMix(sum);
    finalMix(sum);
    for (let lane: usize = 0; lane < 4; lane += 1) {
      const total = totals + (lane << DOUBLE_BITS);
      store<u64>(total, load<u64>(total) + <u64>load<u32>(sum + (lane << NUMBER_BITS)));
    }
  }
}
