/**
 * The records of a row group as columns: by field, a code per row, and each distinct literal once. Most values of a
 * report repeat, so whatever a value costs later (its type, its place in the file) it costs once for each distinct one.
 * No type is decided here, so a field that turns out to be of another type costs nothing.
 * I12: codes lie in blocks of BLOCK_ROWS rows that exist only where the field does, so that a field which few records
 * have costs little, and `append` stops at the limits of the row group, however large a page is.
 */
import { type RecordList, STRIDE, firstValueOf } from '../../records/record-list.ts';
import { viewOf } from '../../records/short-bytes.ts';
import { Literals } from './literals.ts';
import type { RowGroupLimits } from './row-group-limits.ts';

/** The values of a field in all rows. Whatever it returns is valid until the columns change. */
export interface LiteralColumn {
  /** How many literals there are: their codes are 1 to `count`, in the order in which they came. */
  readonly count: number;
  /** A code per row; 0 where the record does not have the field. @param into at least as long as there are rows */
  codes(into: Uint32Array): Uint32Array;
  /** The literals, one behind the other. */
  readonly bytes: Buffer;
  /** By code, where the literal ends in `bytes`; it begins where the one before ends. */
  readonly ends: Uint32Array;
}

const BLOCK_BITS = 8;
const BLOCK_ROWS = 2 ** BLOCK_BITS;
/** About what a block, a column and a distinct literal take besides the records themselves. */
const BLOCK_BYTES = BLOCK_ROWS * 4 + 200;
const COLUMN_BYTES = 800;
const LITERAL_BYTES = 24;
/** Literals of so many bytes are kept room for: each of many columns may have had one huge literal. */
const KEPT_BYTES = 2 ** 25;

export class RecordColumns {
  rows = 0;
  /**
   * About how many bytes of memory the rows take: at least those of their records, because a value that no column holds
   * is written out for each row, with its field, though it is kept here once.
   */
  bytes = 0;
  readonly #limits: RowGroupLimits;
  readonly #columns = new Map<string, Column>();
  /** Blocks of the last row group, to be used again: thousands of small buffers cost more than what they hold. */
  #spare: Uint32Array[] = [];

  constructor(limits: RowGroupLimits) {
    this.#limits = limits;
  }

  get isFull(): boolean {
    return this.rows >= this.#limits.rows || this.bytes >= this.#limits.bytes;
  }

  /** The fields that some row has. */
  get fields(): string[] {
    return [...this.#columns].flatMap(([field, { count }]) => (count > 0 ? [field] : []));
  }

  /**
   * Appends the records from `from` on, until the row group is full.
   * @param kept a byte per record of the list: 0 leaves it out
   * @returns the first record that is not in: `list.count` where all are
   */
  append(list: RecordList, from = 0, kept?: Uint8Array): number {
    const view = viewOf(list.bytes);
    // By field, once a row has it: a page can have far more fields than fit into a row group.
    const columns: (Column | undefined)[] = [];
    let record = from;
    for (; record < list.count && !this.isFull; record += 1)
      if (kept?.[record] !== 0) this.#appendRecord(list, record, view, columns);
    return record;
  }

  /** A method of its own, which is compiled as a whole: a loop over all that it does would be compiled again for its end. */
  #appendRecord(list: RecordList, record: number, view: DataView, columns: (Column | undefined)[]): void {
    const { rows } = this;
    const { fields, values, records } = list;
    const behind = records[record * STRIDE + 2] ?? 0;
    let bytes = (records[record * STRIDE + 1] ?? 0) - (records[record * STRIDE] ?? 0);
    for (let at = firstValueOf(list, record); at < behind; at += STRIDE) {
      const field = values[at] ?? 0;
      const column = columns[field] ?? this.#columnOf(fields[field] ?? '');
      columns[field] = column;
      bytes += column.set(rows, view, values[at + 1] ?? 0, values[at + 2] ?? 0, this.#spare);
    }
    this.rows = rows + 1;
    this.bytes += bytes;
  }

  /** `undefined` where no row has the field. */
  column(field: string): LiteralColumn | undefined {
    const column = this.#columns.get(field);
    return column && column.count > 0 ? column : undefined;
  }

  /** Empties all columns for the next row group. Their buffers are kept, but for fields that no row had. */
  clear(): void {
    const keptBytes = KEPT_BYTES / this.#columns.size;
    this.#spare = [];
    for (const [field, column] of this.#columns) {
      if (column.count === 0) this.#columns.delete(field);
      else this.#spare.push(...column.clear(keptBytes));
    }
    this.rows = 0;
    this.bytes = 0;
  }

  #columnOf(field: string): Column {
    const known = this.#columns.get(field);
    if (known) return known;
    const column = new Column();
    this.#columns.set(field, column);
    return column;
  }
}

class Column implements LiteralColumn {
  readonly #literals = new Literals();
  /** By row / BLOCK_ROWS. */
  #blocks: (Uint32Array | undefined)[] = [];

  get count(): number {
    return this.#literals.count;
  }

  /**
   * @param spare blocks that may be used again
   * @returns about how many bytes of memory the value takes, besides its own
   */
  set(row: number, bytes: DataView, start: number, end: number, spare: Uint32Array[]): number {
    const before = this.#literals.count;
    const code = this.#literals.codeOf(bytes, start, end);
    let taken = code > before ? LITERAL_BYTES : 0;
    if (before === 0) taken += COLUMN_BYTES;
    let block = this.#blocks[row >> BLOCK_BITS];
    if (!block) {
      block = spare.pop()?.fill(0) ?? new Uint32Array(BLOCK_ROWS);
      this.#blocks[row >> BLOCK_BITS] = block;
      taken += BLOCK_BYTES;
    }
    block[row & (BLOCK_ROWS - 1)] = code;
    return taken;
  }

  codes(into: Uint32Array): Uint32Array {
    into.fill(0);
    for (let index = 0; index < this.#blocks.length; index += 1) {
      const block = this.#blocks[index];
      const row = index * BLOCK_ROWS;
      if (block) into.set(row + BLOCK_ROWS > into.length ? block.subarray(0, into.length - row) : block, row);
    }
    return into;
  }

  get bytes(): Buffer {
    return this.#literals.bytes;
  }

  get ends(): Uint32Array {
    return this.#literals.ends;
  }

  /** @returns its blocks */
  clear(keptBytes: number): Uint32Array[] {
    this.#literals.clear(keptBytes);
    const blocks = this.#blocks.filter((block) => block !== undefined);
    this.#blocks = [];
    return blocks;
  }
}
