/**
 * A dictionary of byte strings: each has a code, 1, 2, 3… in the order in which they came. The bytes of all lie one behind
 * the other in one buffer; a hash table with open addressing finds them, so that each is kept once. All of it is in typed
 * arrays that are small enough for the processor's cache, because a string or an object for each value would cost more
 * than everything else that is done with it. Where values hardly repeat (an id), searching would find nothing but fill
 * that cache: after the first thousands each further one is kept without a search, and equal ones may have several codes.
 */
import { copyBytes, roomOf, shortHashOfBytes, writableView } from '../../records/short-bytes.ts';

/** A slot holds a code in its low bits and bits of the hash above them; 0 is a free slot. */
const CODE_BITS = 22;
const CODE_MASK = 2 ** CODE_BITS - 1;
const FIRST_SLOTS = 16;
const FIRST_BYTES = 64;
const WORD = 4;
/** So many literals are searched in any case; afterwards only where at least a tenth of the values were repeated. */
const SEARCHED = 4_096;
const REPEATED_SHARE = 0.1;

export class Literals {
  #count = 0;
  /** The code that was returned last. */
  #last = 0;
  /** How many values were searched. */
  #searches = 0;
  #isSearched = true;
  #slots = new Uint32Array(FIRST_SLOTS);
  /** By code, where the literal ends in `#arena`; it begins where the one before ends. */
  #ends = new Uint32Array(FIRST_SLOTS);
  #arena = writableView(FIRST_BYTES);

  /** How many there are: the highest code. */
  get count(): number {
    return this.#count;
  }

  /** The code of the literal `[start, end)`, which is added if it is not found. */
  codeOf(bytes: DataView, start: number, end: number): number {
    if (this.#last > 0 && this.#holds(this.#last, bytes, start, end)) return this.#last;
    if (!this.#isSearched) return this.#append(bytes, start, end);
    this.#searches += 1;
    const hash = shortHashOfBytes(bytes, start, end);
    const slots = this.#slots;
    const mask = slots.length - 1;
    let at = hash & mask;
    for (;;) {
      const slot = slots[at] ?? 0;
      if (slot === 0) break;
      const code = slot & CODE_MASK;
      if (slot === slotOf(hash, code) && this.#holds(code, bytes, start, end)) {
        this.#last = code;
        return code;
      }
      at = (at + 1) & mask;
    }
    const code = this.#append(bytes, start, end);
    slots[at] = slotOf(hash, code);
    if (code * 2 > slots.length) this.#spread();
    return code;
  }

  /** All literals, one behind the other: valid until the next one is added. */
  get bytes(): Buffer {
    return Buffer.from(this.#arena.buffer, 0, this.#endOf(this.#count));
  }

  /** By code, where the literal ends in `bytes`; it begins where the one before ends. */
  get ends(): Uint32Array {
    return this.#ends;
  }

  /** Forgets all, and keeps memory for the next ones. @param keptBytes at most, of the literals */
  clear(keptBytes: number): void {
    if (roomOf(this.#arena) > keptBytes) this.#arena = writableView(FIRST_BYTES);
    this.#slots.fill(0);
    this.#count = 0;
    this.#last = 0;
    this.#searches = 0;
    this.#isSearched = true;
  }

  #endOf(code: number): number {
    return this.#ends[code] ?? 0;
  }

  #holds(code: number, bytes: DataView, start: number, end: number): boolean {
    const arena = this.#arena;
    const begin = this.#endOf(code - 1);
    const length = end - start;
    if (this.#endOf(code) - begin !== length) return false;
    let at = 0;
    for (; at + WORD <= length; at += WORD)
      if (arena.getInt32(begin + at, true) !== bytes.getInt32(start + at, true)) return false;
    for (; at < length; at += 1) if (arena.getUint8(begin + at) !== bytes.getUint8(start + at)) return false;
    return true;
  }

  #append(bytes: DataView, start: number, end: number): number {
    if (this.#count === CODE_MASK) throw new RangeError(`more than ${CODE_MASK} distinct literals`);
    const begin = this.#endOf(this.#count);
    const length = end - start;
    if (begin + length > roomOf(this.#arena)) this.#grow(begin + length);
    copyBytes(bytes, start, this.#arena, begin, length);
    this.#count += 1;
    this.#last = this.#count;
    if (this.#count === this.#ends.length) this.#ends = grownNumbers(this.#ends);
    this.#ends[this.#count] = begin + length;
    return this.#count;
  }

  #grow(needed: number): void {
    const longer = writableView(Math.max(needed, roomOf(this.#arena) * 2));
    new Uint8Array(longer.buffer).set(new Uint8Array(this.#arena.buffer));
    this.#arena = longer;
  }

  /** Into twice as many slots: at most half of them are taken, so that a search is short. */
  #spread(): void {
    this.#isSearched = this.#count < SEARCHED || this.#searches * (1 - REPEATED_SHARE) > this.#count;
    if (!this.#isSearched) return;
    const slots = new Uint32Array(this.#slots.length * 2);
    const mask = slots.length - 1;
    for (let code = 1; code <= this.#count; code += 1) {
      const hash = shortHashOfBytes(this.#arena, this.#endOf(code - 1), this.#endOf(code));
      let at = hash & mask;
      while (slots[at] !== 0) at = (at + 1) & mask;
      slots[at] = slotOf(hash, code);
    }
    this.#slots = slots;
  }
}

function slotOf(hash: number, code: number): number {
  return ((hash & ~CODE_MASK) | code) >>> 0;
}

function grownNumbers(numbers: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const longer = new Uint32Array(numbers.length * 2);
  longer.set(numbers);
  return longer;
}
