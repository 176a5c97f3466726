/**
 * The records of a row group as columns: by field, a code per row, and each distinct literal once. Most values of a
 * report repeat, so whatever a value costs later (its type, its place in the file) it costs once for each distinct one.
 * No type is decided here, so a field that turns out to be of another type costs nothing.
 * I12: codes lie in blocks of BLOCK_ROWS rows that exist only where the field does, so that a field which few records
 * have costs little, and `append` stops at the limits of the row group, however large a page is.
 */
import { giveBackKernel, type Kernel, takeKernel } from '../../kernel/kernel.ts';
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
const NUMBER_BYTES = 4;

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
    const { bytes, count, fields, values, records } = list;
    // All of it in one piece: numbers first, because they lie at multiples of their size.
    const numbers = values.length + records.length + fields.length;
    const size = numbers * NUMBER_BYTES + count + bytes.length;
    const at = kernel.allocate(size);
    const { buffer } = kernel.memory;
    const [valuesAt, recordsAt] = [at, at + values.byteLength];
    const columnsAt = recordsAt + records.byteLength;
    const keptAt = columnsAt + fields.length * NUMBER_BYTES;
    const textAt = keptAt + count;
    const columns = new Uint32Array(buffer, columnsAt, fields.length);
    new Int32Array(buffer, valuesAt, values.length).set(values);
    new Int32Array(buffer, recordsAt, records.length).set(records);
    fields.forEach((field, index) => (columns[index] = this.#columns.get(field) ?? 0));
    if (kept) new Uint8Array(buffer, keptAt, count).set(kept.subarray(0, count));
    else new Uint8Array(buffer, keptAt, count).fill(1);
    new Uint8Array(buffer, textAt, bytes.length).set(bytes);
    const { rows, bytes: maxBytes } = this.#limits;
    const next = kernel.appendRecords(
      textAt,
      valuesAt,
      recordsAt,
      columnsAt,
      keptAt,
      from,
      count,
      rows,
      maxBytes,
    );
    const found = new Uint32Array(kernel.memory.buffer, columnsAt, fields.length);
    fields.forEach((field, index) => {
      const column = found[index] ?? 0;
      if (column !== 0 && !this.#columns.has(field)) this.#columns.set(field, column);
    });
    kernel.release(at, size);
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
