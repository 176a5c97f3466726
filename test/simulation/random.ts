/**
 * Makes random choices that follow only from a seed. `fork` returns a stream of its own, which does not disturb the
 * others.
 */
export class Random {
  #state: number;

  constructor(seed: number | string) {
    this.#state = hashOf(String(seed));
  }

  fork(name: string): Random {
    return new Random(`${this.#state} ${name}`);
  }

  /** In [0, 1): mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  between(from: number, to: number): number {
    return from + (to - from) * this.next();
  }

  /** A whole number, both ends included. */
  whole(from: number, to: number): number {
    return Math.floor(this.between(from, to + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<Value>(values: readonly [Value, ...Value[]] | readonly Value[]): Value {
    const picked = values[Math.floor(this.next() * values.length)];
    if (picked === undefined) throw new Error('there is nothing to pick from');
    return picked;
  }

  /** `count` of the values, in their order. */
  sample<Value>(values: readonly Value[], count: number): Value[] {
    const drawn = values.map((value, index) => ({ value, index, rank: this.next() }));
    return drawn
      .toSorted((a, b) => a.rank - b.rank)
      .slice(0, count)
      .sort((a, b) => a.index - b.index)
      .map(({ value }) => value);
  }
}

/** FNV-1a */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
