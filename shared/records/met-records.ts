/**
 * Remembers which keys were met, and with which content: some millions of them, since a day may have as many (I12). A
 * key takes 96 bits of a hash, a content 32 bits, and all of them are in one typed array, because a Map of texts would
 * take five times the memory. With a million keys a day, two different keys have the same hash on one of 10^17 days.
 * Contents are compared only between records with one key.
 */
import { randomFillSync } from 'node:crypto';
import { allocated, copied, giveBackKernel, takeKernel } from './kernel.ts';
import { LANES, type Lanes } from './murmur.ts';

/** Numbers of a slot: three of the key, whose first number is never 0 in a used slot, and the content. */
const STRIDE = 4;
const CONTENT = 3;
/** I12: without the seed, nobody can choose keys that share a slot and make each search as long as the list. */
const SEED = randomFillSync(new Int32Array(LANES));
const FIRST_SLOTS = 1_024;
/** The content of keys that were met before `forgetContents`. */
const FORGOTTEN = 0;

/** `known`: met before `forgetContents`. `same`: met with this content. A number: met with that other content. */
export type Met = 'new' | 'known' | 'same' | number;

export class MetRecords {
  #slots = new Int32Array(FIRST_SLOTS * STRIDE);
  #taken = 0;

  get size(): number {
    return this.#taken;
  }

  /** @returns how the key was met before; the first content stays @param place of the key in `hashes` @param content not 0 */
  meet(hashes: Lanes, place: number, content: number): Met {
    const from = place * LANES;
    const first = hashes[from] === 0 ? 1 : (hashes[from] ?? 1);
    const [second = 0, third = 0] = [hashes[from + 1], hashes[from + 2]];
    const slots = this.#slots;
    const mask = slots.length - 1;
    let at = (first * STRIDE) & mask;
    for (; slots[at] !== 0; at = (at + STRIDE) & mask) {
      if (slots[at] !== first || slots[at + 1] !== second || slots[at + 2] !== third) continue;
      const before = slots[at + CONTENT] ?? FORGOTTEN;
      if (before === FORGOTTEN) return 'known';
      return before === content ? 'same' : before;
    }
    slots[at] = first;
    slots[at + 1] = second;
    slots[at + 2] = third;
    slots[at + CONTENT] = content;
    this.#taken += 1;
    if (this.#taken * STRIDE * 2 > slots.length) this.#grow();
    return 'new';
  }

  /** Everything met so far is `known` from now on, whatever its content. */
  forgetContents(): void {
    for (let at = CONTENT; at < this.#slots.length; at += STRIDE) this.#slots[at] = FORGOTTEN;
  }

  /** Doubles the slots: at most half of them are used, so that a search is short. */
  #grow(): void {
    const old = this.#slots;
    const slots = new Int32Array(old.length * 2);
    const mask = slots.length - 1;
    for (let from = 0; from < old.length; from += STRIDE) {
      const first = old[from] ?? 0;
      if (first === 0) continue;
      let at = (first * STRIDE) & mask;
      while (slots[at] !== 0) at = (at + STRIDE) & mask;
      for (let index = 0; index < STRIDE; index += 1) slots[at + index] = old[from + index] ?? 0;
    }
    this.#slots = slots;
  }
}

export function keyHashes(keys: readonly string[]): Lanes {
  const ends = new Uint32Array(keys.length + 1);
  for (const [index, key] of keys.entries()) ends[index + 1] = (ends[index] ?? 0) + key.length * 2;
  const kernel = takeKernel();
  try {
    kernel.releaseAll();
    // UTF-8 has no lone surrogates: different keys would have the same bytes.
    const bytes = copied(kernel, Buffer.from(keys.join(''), 'utf16le'));
    const [places, seed] = [copied(kernel, ends), copied(kernel, SEED)];
    const into = allocated(kernel, keys.length * LANES * 4);
    kernel.hashValues(bytes.at, places.at, places.at + 4, keys.length, seed.at, into.at);
    return new Int32Array(kernel.memory.buffer, into.at, keys.length * LANES).slice();
  } finally {
    giveBackKernel(kernel);
  }
}
