import { randomFillSync } from 'node:crypto';
import { LANES, type Lanes, avalanche } from '../records/murmur.ts';

/** Finds rows by the hashes that the digest counts: 16 bytes a row, and about as much again to find them. */
export class HashIndex {
  readonly firstOf: Int32Array;
  readonly #hashes: Lanes;
  /** Row numbers counted from 1. At most half of the slots are full, so searches are short. */
  readonly #slots: Int32Array;
  /** I12: an attacker can choose hashes, but not their places. */
  readonly #secret = randomFillSync(new Int32Array(LANES));

  constructor(hashes: Lanes) {
    const rows = hashes.length / LANES;
    this.#hashes = hashes;
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(2 * rows + 1)));
    this.firstOf = new Int32Array(rows);
    for (let row = 0; row < rows; row += 1) {
      const slot = this.#slotOf(hashes, row);
      if (this.#slots[slot] === 0) this.#slots[slot] = row + 1;
      this.firstOf[row] = (this.#slots[slot] ?? 0) - 1;
    }
  }

  find(hashes: Lanes, row: number): number | undefined {
    const found = this.#slots[this.#slotOf(hashes, row)] ?? 0;
    return found === 0 ? undefined : found - 1;
  }

  #slotOf(hashes: Lanes, row: number): number {
    const mask = this.#slots.length - 1;
    let slot = this.#placeOf(hashes, row) & mask;
    for (let held = this.#slots[slot] ?? 0; held !== 0; held = this.#slots[slot] ?? 0) {
      if (areEqual(this.#hashes, held - 1, hashes, row)) return slot;
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  #placeOf(hashes: Lanes, row: number): number {
    let place = 0;
    for (let lane = 0; lane < LANES; lane += 1)
      place = avalanche(place ^ (hashes[row * LANES + lane] ?? 0) ^ (this.#secret[lane] ?? 0));
    return place;
  }
}

function areEqual(one: Lanes, rowOfOne: number, other: Lanes, rowOfOther: number): boolean {
  const [a, b] = [rowOfOne * LANES, rowOfOther * LANES];
  return (
    one[a] === other[b] &&
    one[a + 1] === other[b + 1] &&
    one[a + 2] === other[b + 2] &&
    one[a + 3] === other[b + 3]
  );
}

/** By row: 1 if the other version does not have it, or has it less often. */
export function unpairedRows(before: Lanes, after: Lanes): { before: Uint8Array; after: Uint8Array } {
  const index = new HashIndex(before);
  const left = new Int32Array(index.firstOf.length);
  for (const first of index.firstOf) left[first] = (left[first] ?? 0) + 1;
  const added = new Uint8Array(after.length / LANES);
  for (let row = 0; row < added.length; row += 1) {
    const first = index.find(after, row);
    const count = first === undefined ? 0 : (left[first] ?? 0);
    if (first === undefined || count === 0) added[row] = 1;
    else left[first] = count - 1;
  }
  const removed = new Uint8Array(index.firstOf.length);
  for (let row = 0; row < removed.length; row += 1) {
    const first = index.firstOf[row] ?? row;
    const count = left[first] ?? 0;
    if (count === 0) continue;
    removed[row] = 1;
    left[first] = count - 1;
  }
  return { before: removed, after: added };
}
