/**
 * A dictionary gives each byte string a code: 1, 2, 3… in the order of their first occurrence. If values hardly repeat (an id),
 * searches would find nothing but fill the processor's cache. After the first thousands, each further value is then kept
 * without a search, and equal values may have several codes.
 */
import { areEqual, copy, hashOf } from './bytes';
import { allocate, allocateZeros, release, resize, sizeFor } from './memory';
import { numberAt, setNumberAt } from './numbers';

/** A slot has a code in its low bits and bits of the hash above them; 0 is a free slot. */
const CODE_BITS: u32 = 22;
const CODE_MASK: u32 = (1 << CODE_BITS) - 1;
const FIRST_SLOTS: u32 = 16;
const FIRST_BYTES: u32 = 64;
const NUMBER_BITS: u32 = 2;
/** This many literals are searched in any case; later literals only if at least a tenth of the values were repeated. */
const SEARCHED: u32 = 4096;

@unmanaged
export class Literals {
  count: u32;
  bytes: usize;
  /** By code: where the literal ends in `bytes`; it begins at the end of the previous literal. */
  ends: usize;
  private bytesRoom: u32;
  private endsRoom: u32;
  private slots: usize;
  private slotCount: u32;
  private last: u32;
  private searches: u32;
  private isSearched: bool;
  /** Whether equal literals never have several codes. */
  private isExact: bool;

  static create(isExact: bool): Literals {
    const literals = changetype<Literals>(allocateZeros(offsetof<Literals>()));
    literals.begin(isExact);
    return literals;
  }

  protected begin(isExact: bool): void {
    this.bytesRoom = FIRST_BYTES;
    this.bytes = allocate(FIRST_BYTES);
    this.endsRoom = FIRST_SLOTS;
    this.ends = allocateZeros(FIRST_SLOTS << NUMBER_BITS);
    this.slotCount = FIRST_SLOTS;
    this.slots = allocateZeros(FIRST_SLOTS << NUMBER_BITS);
    this.isSearched = true;
    this.isExact = isExact;
  }

  /** The code of the literal, which is added if it is missing. */
  codeOf(start: usize, length: u32): u32 {
    if (this.last !== 0 && this.holds(this.last, start, length)) return this.last;
    if (!this.isSearched) return this.append(start, length);
    this.searches += 1;
    const hash = hashOf(start, length);
    const mask = this.slotCount - 1;
    let at = hash & mask;
    while (true) {
      const slot = numberAt(this.slots, at);
      if (slot === 0) break;
      const code = slot & CODE_MASK;
      if (slot === slotOf(hash, code) && this.holds(code, start, length)) {
        this.last = code;
        return code;
      }
      at = (at + 1) & mask;
    }
    const code = this.append(start, length);
    setNumberAt(this.slots, at, slotOf(hash, code));
    if (code * 2 > this.slotCount) this.spread();
    return code;
  }

  startOf(code: u32): usize {
    return this.bytes + numberAt(this.ends, code - 1);
  }

  lengthOf(code: u32): u32 {
    return numberAt(this.ends, code) - numberAt(this.ends, code - 1);
  }

  holds(code: u32, start: usize, length: u32): bool {
    return this.lengthOf(code) === length && areEqual(this.startOf(code), start, length);
  }

  private append(start: usize, length: u32): u32 {
    if (this.count === CODE_MASK) unreachable();
    const begin = numberAt(this.ends, this.count);
    if (begin + length > this.bytesRoom) {
      const room = sizeFor(begin + length);
      this.bytes = resize(this.bytes, this.bytesRoom, room);
      this.bytesRoom = room;
    }
    copy(start, this.bytes + begin, length);
    const code = this.count + 1;
    if (code === this.endsRoom) {
      this.ends = resize(this.ends, code << NUMBER_BITS, code << (NUMBER_BITS + 1));
      this.endsRoom = code * 2;
    }
    setNumberAt(this.ends, code, begin + length);
    this.count = code;
    this.last = code;
    return code;
  }

  /** Doubles the slots. At most half of them are full, so searches are short. */
  private spread(): void {
    this.isSearched = this.isExact || this.count < SEARCHED || this.searches * 9 > this.count * 10;
    if (!this.isSearched) return;
    const count = this.slotCount * 2;
    const mask = count - 1;
    const slots = allocateZeros(count << NUMBER_BITS);
    for (let code: u32 = 1; code <= this.count; code += 1) {
      const hash = hashOf(this.startOf(code), this.lengthOf(code));
      let at = hash & mask;
      while (numberAt(slots, at) !== 0) at = (at + 1) & mask;
      setNumberAt(slots, at, slotOf(hash, code));
    }
    release(this.slots, this.slotCount << NUMBER_BITS);
    this.slots = slots;
    this.slotCount = count;
  }
}

function slotOf(hash: u32, code: u32): u32 {
  return (hash & ~CODE_MASK) | code;
}
