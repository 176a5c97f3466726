/**
 * A digest shows whether two partitions contain the same rows, each equally often. It distinguishes a restated day from an
 * unchanged day (I11). A hash of the file would report another order of pages, or a grown schema, as a change.
 * Each value has a hash that depends on its column and its bytes, and is computed once per different value. The hashes of a row are
 * added, so the order of columns does not matter. Their sum is mixed, so values that change rows are noticed. The mixed
 * sums are added, so the order of rows does not matter, but duplicates do.
 */
import { hash } from 'node:crypto';
import { type Column, SYNCED_AT } from '../base/column-types.ts';
import {
  allocated,
  copied,
  giveBackKernel,
  type Kernel,
  type Piece,
  release,
  takeKernel,
} from '../records/kernel.ts';
import { LANES, type Lanes } from '../records/murmur.ts';
import { CodedRows, type NamedColumn } from './coded-rows.ts';
import type { Row } from './columns.ts';
import type { PlainValues } from './plain-values.ts';

/** Stands in each digest. If the computation changes, this must change too, and all days then count as changed. */
const VERSION = 'v3';
/** I12: single rows are buffered up to this number, or up to PENDING_BYTES. */
const PENDING_ROWS = 4_096;
const PENDING_BYTES = 2 ** 22;

/** NULLs do not count, so a grown schema changes nothing; nor does `_synced_at`. Hashes are added modulo 2^128. */
export class Digest {
  #rows = 0;
  #sum = 0n;
  readonly #columns: readonly Column[];
  readonly #hashes: RowHashes | undefined;
  #pending: CodedRows;

  /** @param columns of rows that are added as such */
  constructor(columns: readonly Column[] = [], hashes?: RowHashes) {
    this.#columns = columns;
    this.#hashes = hashes;
    this.#pending = new CodedRows(columns);
  }

  /** Passes the columns of rows on; adds the rows after the last column. */
  *addColumns(rows: number, columns: Iterable<NamedColumn>): Generator<NamedColumn, void, undefined> {
    const sums = new RowSums(rows);
    try {
      for (const column of columns) {
        if (counts(column[0])) sums.add(column);
        yield column;
      }
      this.#sum = BigInt.asUintN(128, this.#sum + sums.mix());
      this.#rows += rows;
      this.#hashes?.append(sums.all());
    } finally {
      sums.close();
    }
  }

  /** Adds a row. Many rows are hashed together, by column. */
  add(row: Row): void {
    this.#pending.append(row);
    if (this.#pending.rows >= PENDING_ROWS || this.#pending.bytes >= PENDING_BYTES) this.#addPending();
  }

  #addPending(): void {
    const { rows } = this.#pending;
    if (rows === 0) return;
    const columns = this.#pending.columns();
    this.#pending = new CodedRows(this.#columns);
    for (const _column of this.addColumns(rows, columns));
  }

  get rows(): number {
    this.#addPending();
    return this.#rows;
  }

  value(): string {
    this.#addPending();
    return `${VERSION}:${this.#rows}:${this.#sum.toString(16).padStart(32, '0')}`;
  }
}

/** The hash of each row, in the order of the rows: 16 bytes a row. */
export class RowHashes {
  readonly #parts: Lanes[] = [];

  append(hashes: Lanes): void {
    this.#parts.push(hashes);
  }

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

/** For each row, the hash of its values in these columns together; NULL adds nothing. */
export function columnHashes(rows: number, columns: Iterable<NamedColumn>): Lanes {
  const sums = new RowSums(rows);
  try {
    for (const column of columns) sums.add(column);
    return sums.all();
  } finally {
    sums.close();
  }
}

function counts(column: string): boolean {
  return column !== SYNCED_AT;
}

const NUMBER_BYTES = 4;
const LANES_BYTES = LANES * NUMBER_BYTES;

/** By column, because seeds are the same for every day. */
const seeds = new Map<string, Lanes>();

function seedOf(column: string): Lanes {
  const known = seeds.get(column);
  if (known) return known;
  const bytes = hash('sha256', column, 'buffer');
  const seed = Int32Array.of(...[0, 4, 8, 12].map((at) => bytes.readInt32LE(at)));
  seeds.set(column, seed);
  return seed;
}

/** For each row, the sum of the hashes of its values. It uses the kernel's memory until it is closed. */
class RowSums {
  readonly #kernel: Kernel = takeKernel();
  readonly #rows: number;
  readonly #sums: number;

  constructor(rows: number) {
    this.#kernel.releaseAll();
    this.#rows = rows;
    this.#sums = this.#kernel.allocateZeros(rows * LANES_BYTES);
  }

  add([name, column]: NamedColumn): void {
    const kernel = this.#kernel;
    const seed = copied(kernel, seedOf(name));
    const codes = copied(kernel, column.codes.subarray(0, this.#rows));
    const hashes = this.#hashesOf(column.values, seed);
    kernel.addHashes(this.#sums, this.#rows, codes.at, hashes.at, hashes.bytes / LANES_BYTES);
    release(kernel, seed, codes, hashes);
  }

  /** Turns each row's sum into its hash; call it once. @returns the sum of all hashes; its lowest 128 bits count */
  mix(): bigint {
    const totals = this.#kernel.allocate(LANES * 8);
    this.#kernel.mixSums(this.#sums, this.#rows, totals);
    return new BigUint64Array(this.#kernel.memory.buffer, totals, LANES).reduceRight(
      (sum, lane) => (sum << 32n) + lane,
      0n,
    );
  }

  all(): Lanes {
    return new Int32Array(this.#kernel.memory.buffer, this.#sums, this.#rows * LANES).slice();
  }

  close(): void {
    giveBackKernel(this.#kernel);
  }

  #hashesOf({ bytes, starts, ends }: PlainValues, seed: Piece): Piece {
    const kernel = this.#kernel;
    const hashes = allocated(kernel, starts.length * LANES_BYTES);
    const from = copied(kernel, starts);
    const to = copied(kernel, ends);
    const values = copied(kernel, bytes);
    kernel.hashValues(values.at, from.at, to.at, starts.length, seed.at, hashes.at);
    release(kernel, from, to, values);
    return hashes;
  }
}
