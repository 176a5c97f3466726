const WORD = 4;

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/**
 * 32 bits of `[start, end)`: one multiplication per word, then the mixing of MurmurHash3. For the short values of a
 * report this is faster than a call into the runtime.
 */
export function shortHashOfBytes(bytes: DataView, start: number, end: number, seed = 0): number {
  let hash = seed ^ (end - start);
  let at = start;
  for (; at + WORD <= end; at += WORD) {
    hash = Math.imul(hash ^ bytes.getInt32(at, true), 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  for (; at < end; at += 1) hash = Math.imul(hash ^ bytes.getUint8(at), 0x01000193);
  return avalanche(hash);
}

/**
 * MurmurHash3 (x86, 128 bits), as its author published it: a hash for data that nobody forges, at a tenth of the cost
 * of a cryptographic hash for the short values of a report. It is seeded with all four lanes of its state, so that each
 * column has its own hash. `test/records/murmur.test.ts` computes the check value that its author published.
 */

/** A hash, or its initial state: 128 bits as four signed 32-bit lanes. */
export type Lanes = Int32Array;
export const LANES = 4;

/** Words that `murmur` may read past the end of its input. */
const SPARE_WORDS = 4;

/**
 * Texts in the form that `murmur` reads: UTF-16, two letters per word, so that a text has twice as many bytes as
 * letters.
 */
export class TextWords {
  #words = new Int32Array(256);

  /** Valid until the next text. */
  of(text: string): Int32Array {
    const count = (text.length + 1) >> 1;
    if (this.#words.length < count + SPARE_WORDS) this.#words = new Int32Array((count + SPARE_WORDS) * 2);
    const words = this.#words;
    const even = text.length & ~1;
    for (let index = 0; index < even; index += 2)
      words[index >> 1] = text.charCodeAt(index) | (text.charCodeAt(index + 1) << 16);
    if (even < text.length) words[even >> 1] = text.charCodeAt(even);
    for (let word = count; word < count + SPARE_WORDS; word += 1) words[word] = 0;
    return words;
  }
}

/**
 * Hashes the first bytes of the words.
 * @param words little-endian; unused bytes of the last word are 0, and so are the three words after it
 * @param into the hash is written to `into[at…at + 3]`
 */
export function murmur(words: Int32Array, bytes: number, seed: Lanes, into: Lanes, at: number): void {
  let h1 = seed[0] ?? 0;
  let h2 = seed[1] ?? 0;
  let h3 = seed[2] ?? 0;
  let h4 = seed[3] ?? 0;
  const whole = (bytes >> 4) << 2;
  for (let word = 0; word < whole; word += 4) {
    h1 = h1 ^ scrambled1(words[word] ?? 0);
    h1 = (Math.imul((rotated(h1, 19) + h2) | 0, 5) + 0x561ccd1b) | 0;
    h2 = h2 ^ scrambled2(words[word + 1] ?? 0);
    h2 = (Math.imul((rotated(h2, 17) + h3) | 0, 5) + 0x0bcaa747) | 0;
    h3 = h3 ^ scrambled3(words[word + 2] ?? 0);
    h3 = (Math.imul((rotated(h3, 15) + h4) | 0, 5) + 0x96cd1c35) | 0;
    h4 = h4 ^ scrambled4(words[word + 3] ?? 0);
    h4 = (Math.imul((rotated(h4, 13) + h1) | 0, 5) + 0x32ac3b17) | 0;
  }
  into[at] = h1 ^ scrambled1(words[whole] ?? 0) ^ bytes;
  into[at + 1] = h2 ^ scrambled2(words[whole + 1] ?? 0) ^ bytes;
  into[at + 2] = h3 ^ scrambled3(words[whole + 2] ?? 0) ^ bytes;
  into[at + 3] = h4 ^ scrambled4(words[whole + 3] ?? 0) ^ bytes;
  finalMix(into, at);
}

/** The last step of the hash: every bit of `lanes[at…at + 3]` comes to depend on all others. */
function finalMix(lanes: Lanes, at: number): void {
  const sum = (lanes[at] ?? 0) + (lanes[at + 1] ?? 0) + (lanes[at + 2] ?? 0) + (lanes[at + 3] ?? 0);
  const m1 = avalanche(sum | 0);
  const m2 = avalanche(((lanes[at + 1] ?? 0) + sum) | 0);
  const m3 = avalanche(((lanes[at + 2] ?? 0) + sum) | 0);
  const m4 = avalanche(((lanes[at + 3] ?? 0) + sum) | 0);
  const mixed = m1 + m2 + m3 + m4;
  lanes[at] = mixed;
  lanes[at + 1] = m2 + mixed;
  lanes[at + 2] = m3 + mixed;
  lanes[at + 3] = m4 + mixed;
}

const C1 = 0x239b961b;
const C2 = 0xab0e9789;
const C3 = 0x38b34ae5;
const C4 = 0xa1e38b93;

const scrambled1 = (word: number) => Math.imul(rotated(Math.imul(word, C1), 15), C2);
const scrambled2 = (word: number) => Math.imul(rotated(Math.imul(word, C2), 16), C3);
const scrambled3 = (word: number) => Math.imul(rotated(Math.imul(word, C3), 17), C4);
const scrambled4 = (word: number) => Math.imul(rotated(Math.imul(word, C4), 18), C1);

function rotated(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}

/** Makes every bit depend on the others. */
export function avalanche(lane: number): number {
  const once = Math.imul(lane ^ (lane >>> 16), 0x85ebca6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35);
  return twice ^ (twice >>> 16);
}
