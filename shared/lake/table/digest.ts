/**
 * A digest says whether two partitions hold the same rows, each as often. It is compared to tell a restated day from one
 * that has not changed (I11). A hash of the file would count another order of pages or a grown schema as a change.
 * Each value has a hash that depends on its column, and is computed once for each different value of a column. The hashes
 * of a row are added, so that the order of columns does not matter; their sum is mixed, so that values cannot change rows
 * unnoticed; and the mixed sums are added, so that the order of rows does not matter and duplicates do.
 */
import { hash } from 'node:crypto';
import type { Value } from '../../column-types.ts';
import type { CodedColumn, NamedColumn } from './coded-rows.ts';
import type { Row } from './columns.ts';
import { type Texts, isNullText } from './texts.ts';
import { highWords, viewOf, writableView } from '../../records/short-bytes.ts';
import { LANES, type Lanes, SPARE_WORDS, ByteWords, finalMix, murmur } from '../../records/murmur.ts';

/** Stands in each digest. Where another way of computing it begins, all days count as changed. */
const VERSION = 'v2';

/**
 * The content of a partition in any order of its rows: their number, and the sum (mod 2^128) of a hash of each.
 * NULLs do not count, so that a schema which grew changes nothing; nor does `_synced_at`.
 */
export class Digest {
  #rows = 0;
  #sum = 0n;
  readonly #values = new ValueHasher();
  readonly #hashes: RowHashes | undefined;

  /** @param hashes gets the hash of each row */
  constructor(hashes?: RowHashes) {
    this.#hashes = hashes;
  }

  /** Passes the columns of rows on, and adds the rows behind the last one: what `add` does, at a tenth of the cost. */
  *addColumns(rows: number, columns: Iterable<NamedColumn>): Generator<NamedColumn, void, undefined> {
    const sums = new Int32Array(rows * LANES);
    for (const column of columns) {
      this.#addColumn(sums, column);
      yield column;
    }
    this.#addRows(rows, sums);
  }

  #addColumn(sums: Lanes, [name, column]: NamedColumn): void {
    if (!counts(name)) return;
    const hashes = this.#values.hashesOf(column, this.#values.seedOf(name));
    const { codes } = column;
    // NULL has a hash of 0.
    for (let row = 0; row * LANES < sums.length; row += 1)
      addLanes(sums, row * LANES, hashes, (codes[row] ?? 0) * LANES);
  }

  add(row: Row): void {
    const sum = new Int32Array(LANES);
    const hashed = new Int32Array(LANES);
    for (const [name, value] of Object.entries(row)) {
      if (value === null || value === undefined || !counts(name)) continue;
      this.#values.hash(value, this.#values.seedOf(name), hashed, 0);
      addLanes(sum, 0, hashed, 0);
    }
    this.#addRows(1, sum);
  }

  get rows(): number {
    return this.#rows;
  }

  /** `<version>:<rows>:<32 hexadecimal digits>` */
  value(): string {
    return `${VERSION}:${this.#rows}:${this.#sum.toString(16).padStart(32, '0')}`;
  }

  /** @param sums of each row the sum of its values' hashes */
  #addRows(rows: number, sums: Lanes): void {
    // As doubles they are exact for two million rows, and only the totals need carries.
    let lowest = 0;
    let low = 0;
    let high = 0;
    let highest = 0;
    for (let at = 0; at < rows * LANES; at += LANES) {
      // Mixed once, each lane would depend on 32 bits of the sum only.
      finalMix(sums, at);
      finalMix(sums, at);
      lowest += (sums[at] ?? 0) >>> 0;
      low += (sums[at + 1] ?? 0) >>> 0;
      high += (sums[at + 2] ?? 0) >>> 0;
      highest += (sums[at + 3] ?? 0) >>> 0;
    }
    const total = BigInt(lowest) + (BigInt(low) << 32n) + (BigInt(high) << 64n) + (BigInt(highest) << 96n);
    this.#sum = BigInt.asUintN(128, this.#sum + total);
    this.#rows += rows;
    this.#hashes?.append(sums);
  }
}

/** The hash of each row, in the order of the rows: 16 bytes a row. */
export class RowHashes {
  readonly #parts: Lanes[] = [];

  append(hashes: Lanes): void {
    this.#parts.push(hashes);
  }

  /** All of them, one behind the other. */
  all(): Lanes {
    const [only, ...others] = this.#parts;
    if (only && others.length === 0) return only;
    const all = new Int32Array(this.#parts.reduce((length, part) => length + part.length, 0));
    let at = 0;
    for (const part of this.#parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  }
}

/** Of each row the hash of its value; 0 for NULL. */
export function columnHashes(rows: number, [name, column]: NamedColumn): Lanes {
  const values = new ValueHasher();
  const hashes = values.hashesOf(column, values.seedOf(name));
  const ofRows = new Int32Array(rows * LANES);
  for (let row = 0; row < rows; row += 1)
    addLanes(ofRows, row * LANES, hashes, (column.codes[row] ?? 0) * LANES);
  return ofRows;
}

/** Whether the column belongs to the content of a row. */
export function counts(column: string): boolean {
  return column !== '_synced_at';
}

function addLanes(into: Lanes, at: number, hashes: Lanes, from: number): void {
  into[at] = (into[at] ?? 0) + (hashes[from] ?? 0);
  into[at + 1] = (into[at + 1] ?? 0) + (hashes[from + 1] ?? 0);
  into[at + 2] = (into[at + 2] ?? 0) + (hashes[from + 2] ?? 0);
  into[at + 3] = (into[at + 3] ?? 0) + (hashes[from + 3] ?? 0);
}

/** Keeps values of different kinds apart: the text `1`, the number 1 and the integer 1 are three values. */
const KINDS = { number: 1, bigint: 2, boolean: 3, date: 4 } as const;
/** A number of 128 bits and its kind. */
const NUMBER_BYTES = 17;

/** By column: they are the same for every day. */
const seeds = new Map<string, Lanes>();

/** The same hash for equal values of a column, another one for every other value or column. */
class ValueHasher {
  readonly #number = writableView(LANES * 4);
  readonly #bytes = new ByteWords();
  #hashes: Lanes = new Int32Array(LANES);
  readonly #words = new Int32Array(LANES + SPARE_WORDS);

  seedOf(column: string): Lanes {
    const known = seeds.get(column);
    if (known) return known;
    const bytes = hash('sha256', column, 'buffer');
    const seed = Int32Array.of(...[0, 4, 8, 12].map((at) => bytes.readInt32LE(at)));
    seeds.set(column, seed);
    return seed;
  }

  /** By code; 0 for NULL, and for a code beyond all values. */
  hashesOf(column: CodedColumn, seed: Lanes): Lanes {
    if ('texts' in column) return this.#hashesOfTexts(column.texts, seed);
    if ('units' in column) return this.#hashesOfUnits(column.units, seed);
    const { values } = column;
    const hashes = this.#lanesFor(values.length);
    for (let code = 0; code < values.length; code += 1) {
      const value = values[code];
      if (value !== undefined) this.hash(value, seed, hashes, code * LANES);
    }
    return hashes;
  }

  /** Of 0 each, in a buffer that is used again: garbage of this size costs more than what it holds. */
  #lanesFor(count: number): Lanes {
    if (this.#hashes.length < count * LANES) this.#hashes = new Int32Array(count * LANES);
    return this.#hashes.fill(0);
  }

  #hashesOfTexts(texts: Texts, seed: Lanes): Lanes {
    const { bytes, starts, ends } = texts;
    const view = viewOf(bytes);
    const hashes = this.#lanesFor(starts.length);
    for (let code = 0; code < starts.length; code += 1) {
      if (isNullText(texts, code)) continue;
      const start = starts[code] ?? 0;
      const end = ends[code] ?? 0;
      murmur(this.#bytes.of(view, start, end), end - start, seed, hashes, code * LANES);
    }
    return hashes;
  }

  /** What `hash` makes of the same numbers as `bigint`. */
  #hashesOfUnits(units: Float64Array, seed: Lanes): Lanes {
    const hashes = this.#lanesFor(units.length);
    const words = this.#words.fill(0);
    words[4] = KINDS.bigint;
    for (let code = 0; code < units.length; code += 1) {
      const value = units[code] ?? Number.NaN;
      if (Number.isNaN(value)) continue;
      words[0] = value;
      words[1] = highWords(value);
      words[2] = value < 0 ? -1 : 0;
      words[3] = words[2];
      murmur(words, NUMBER_BYTES, seed, hashes, code * LANES);
    }
    return hashes;
  }

  hash(value: Value, seed: Lanes, into: Lanes, at: number): void {
    if (typeof value === 'string') {
      const bytes = Buffer.from(value);
      const words = this.#bytes.of(viewOf(bytes), 0, bytes.length);
      murmur(words, bytes.length, seed, into, at);
    } else {
      this.#setNumber(value);
      murmur(this.#words, NUMBER_BYTES, seed, into, at);
    }
  }

  #setNumber(value: Exclude<Value, string>): void {
    const words = this.#words;
    words[4] = this.#setBits(value);
    for (let word = 0; word < LANES; word += 1) words[word] = this.#number.getInt32(word * 4, true);
    for (let word = LANES + 1; word < LANES + SPARE_WORDS; word += 1) words[word] = 0;
  }

  /** @returns the kind */
  #setBits(value: Exclude<Value, string>): number {
    const bits = this.#number;
    if (typeof value === 'bigint') {
      bits.setBigInt64(0, value, true);
      bits.setBigInt64(8, value >> 64n, true);
      return KINDS.bigint;
    }
    bits.setBigInt64(8, 0n, true);
    // Adding 0 makes one zero of both.
    bits.setFloat64(0, (value instanceof Date ? value.getTime() : Number(value)) + 0, true);
    if (value instanceof Date) return KINDS.date;
    return typeof value === 'number' ? KINDS.number : KINDS.boolean;
  }
}
