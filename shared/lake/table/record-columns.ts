/**
 * The records of a row group as columns: by field, a code per row, and each distinct literal once. Most values of a
 * report repeat, so whatever a value costs later (its type, its place in the file) it costs once for each distinct one.
 * No type is decided here, so a field that turns out to be of another type costs nothing.
 * I12: codes lie in blocks of BLOCK_ROWS rows that exist only where the field does, so that a field which few records
 * have costs little, and `append` stops at the limits of the row group, however large a page is.
 */
import { copied, giveBackKernel, type Kernel, release, takeKernel } from '../../kernel/kernel.ts';
import type { RecordList } from '../../records/record-list.ts';
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

/** Rows whose codes lie together. */
const BLOCK_ROWS = 2 ** 8;

export class RecordColumns {
  readonly #limits: RowGroupLimits;
  /** From the first record of a row group on. */
  #kernel: Kernel | undefined;
  /** By field, in the order in which rows first had them: where its column is in the kernel's memory. */
  #columns = new Map<string, number>();

  constructor(limits: RowGroupLimits) {
    this.#limits = limits;
  }

  get rows(): number {
    return this.#kernel?.rowCount() ?? 0;
  }

  /**
   * About how many bytes of memory the rows take: at least those of their records, because a value that no column holds
   * is written out for each row, with its field, though it is kept here once.
   */
  get bytes(): number {
    return this.#kernel?.rowBytes() ?? 0;
  }

  get isFull(): boolean {
    return this.rows >= this.#limits.rows || this.bytes >= this.#limits.bytes;
  }

  /** The fields that some row has. */
  get fields(): string[] {
    return [...this.#columns.keys()];
  }

  /**
   * Appends the records from `from` on, until the row group is full.
   * @param kept a byte per record of the list: 0 leaves it out
   * @returns the first record that is not in: `list.count` where all are
   */
  append(list: RecordList, from = 0, kept?: Uint8Array): number {
    const kernel = this.#begun();
    const { fields } = list;
    const known = Uint32Array.from(fields, (field) => this.#columns.get(field) ?? 0);
    const bytes = copied(kernel, list.bytes);
    const values = copied(kernel, list.values);
    const records = copied(kernel, list.records);
    const isKept = copied(kernel, kept?.subarray(0, list.count) ?? new Uint8Array(list.count).fill(1));
    const columns = copied(kernel, known);
    const next = kernel.appendRecords(
      bytes.at,
      values.at,
      records.at,
      columns.at,
      isKept.at,
      from,
      list.count,
      this.#limits.rows,
      this.#limits.bytes,
    );
    const found = new Uint32Array(kernel.memory.buffer, columns.at, fields.length);
    for (const [index, field] of fields.entries()) {
      const column = found[index] ?? 0;
      if (column !== known[index]) this.#columns.set(field, column);
    }
    release(kernel, bytes, values, records, isKept, columns);
    return next;
  }

  /** `undefined` where no row has the field. */
  column(field: string): LiteralColumn | undefined {
    const at = this.#columns.get(field);
    return at === undefined ? undefined : literalColumn(this.#begun(), at);
  }

  /** Empties all columns for the next row group. */
  clear(): void {
    if (this.#kernel) giveBackKernel(this.#kernel);
    this.#kernel = undefined;
    this.#columns = new Map();
  }

  #begun(): Kernel {
    if (!this.#kernel) {
      this.#kernel = takeKernel();
      this.#kernel.beginRows();
    }
    return this.#kernel;
  }
}

function literalColumn(kernel: Kernel, at: number): LiteralColumn {
  const { buffer } = kernel.memory;
  const [count = 0, bytesAt = 0, endsAt = 0] = new Uint32Array(buffer, at, 3);
  const ends = new Uint32Array(buffer, endsAt, count + 1);
  return {
    count,
    codes: (into) => {
      for (let row = 0; row < into.length; row += BLOCK_ROWS) {
        const block = kernel.codesAt(at, row);
        const behind = Math.min(row + BLOCK_ROWS, into.length);
        if (block === 0) into.fill(0, row, behind);
        else into.set(new Uint32Array(buffer, block, behind - row), row);
      }
      return into;
    },
    bytes: Buffer.from(buffer, bytesAt, ends[count]),
    ends,
  };
}
