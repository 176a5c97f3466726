/**
 * Remembers which keys were met, and with which content: some millions of them, since a day may have as many (I12). A
 * key takes 96 bits of a hash, a content 32 bits, and all of them are in one typed array, because a Map of texts would
 * take five times the memory. With a million keys a day, two different keys have the same hash on one of 10^17 days.
 * Contents are compared only between records with one key.
 */
import { randomFillSync } from 'node:crypto';
import { LANES, TextWords, murmur } from './murmur.ts';

/** Numbers of a slot: three of the key, whose first number is never 0 in a used slot, and the content. */
const STRIDE = 4;
const CONTENT = 3;
/**
 * I12: without knowing the seed, nobody can choose keys that share a slot and so make each search as long as the list.
 */
const SEED = randomFillSync(new Int32Array(LANES));
const FIRST_SLOTS = 1_024;
/** The content of keys that were met before `forgetContents`. */
const FORGOTTEN = 0;

/**
 * `new`: not met before. `known`: met before `forgetContents`. `same`: met with this content. A number: met with that
 * other content.
 */
export type Met = 'new' | 'known' | 'same' | number;

export class MetRecords {
  #slots = new Int32Array(FIRST_SLOTS * STRIDE);
  #taken = 0;
  readonly #words = new TextWords();
  readonly #hash = new Int32Array(LANES);

  /** How many keys were met. */
  get size(): number {
    return this.#taken;
  }

  /**
   * Remembers a key with its content, and returns how it was met before; the first content stays. @param content not 0
   */
  meet(key: string, content: number): Met {
    const [first, second, third] = this.#hashOf(key);
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

  #hashOf(key: string): readonly [number, number, number] {
    murmur(this.#words.of(key), key.length * 2, SEED, this.#hash, 0);
    const [first = 0, second = 0, third = 0] = this.#hash;
    return [first === 0 ? 1 : first, second, third];
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
