/**
 * Most values of a report repeat, so each distinct literal of a field is kept once: every later cost of a value (its type,
 * its place in the file) arises once. No type is decided here, so a field that turns out to have another type costs nothing.
 * I12: codes lie in blocks of BLOCK_ROWS rows, and a block exists only if the field occurs there. A rare field therefore
 * costs little. `append` stops at the limits of the row group, however large a page is.
 */
import { type ColumnType, typeSpec } from '../base/column-types.ts';
import {
  allocated,
  copied,
  giveBackRowsKernel,
  type Kernel,
  release,
  takeRowsKernel,
} from '../records/kernel.ts';
import { firstValueOf, type RecordList, STRIDE } from '../records/record-list.ts';
import { type PlainValues, widthOf } from './plain-values.ts';
import type { RowGroupLimits } from './row-group-limits.ts';

export type LiteralColumn = ReturnType<typeof literalColumn>;

const BLOCK_ROWS = 2 ** 8;
const NUMBER_BYTES = 4;
/** Bytes that are copied at once; a larger record is copied alone. An instance keeps this memory as long as its rows. */
const SOME_BYTES = 2 ** 18;

export class RecordColumns {
  readonly #limits: RowGroupLimits;
  #kernel: Kernel | undefined;
  /** By field that some row has: the address of its column in the kernel's memory. */
  #columns = new Map<string, number>();

  constructor(limits: RowGroupLimits) {
    this.#limits = limits;
  }

  get rows(): number {
    return this.#kernel?.rowCount() ?? 0;
  }

  /** At least the bytes of the records. A value that fits no column is kept once here, but written out for each row. */
  get bytes(): number {
    return this.#kernel?.rowBytes() ?? 0;
  }

  get isFull(): boolean {
    return this.rows >= this.#limits.rows || this.bytes >= this.#limits.bytes;
  }

  get fields(): string[] {
    return [...this.#columns.keys()];
  }

  /** @param kept a byte for each record: 0 leaves it out @returns the first record that was not appended */
  append(list: RecordList, from = 0, kept?: Uint8Array): number {
    let next = from;
    const columns = this.#columnsOf(list.fields);
    while (next < list.count && !this.isFull) next = this.#appendSome(list, next, columns, kept);
    return next;
  }

  /** I12: so few records that no huge page is copied for each of its row groups. @param known receives new columns */
  #appendSome(list: RecordList, from: number, known: Uint32Array, kept?: Uint8Array): number {
    const kernel = this.#begun();
    const { fields, records } = list;
    const behind = this.#endOfSome(list, from);
    const firstByte = records[from * STRIDE] ?? 0;
    const firstValue = firstValueOf(list, from);
    const [, lastByte = 0, lastValue = 0] = records.subarray((behind - 1) * STRIDE, behind * STRIDE);
    const bytes = copied(kernel, list.bytes.subarray(firstByte, lastByte));
    const values = copied(kernel, list.values.subarray(firstValue, lastValue));
    const ofRecords = copied(kernel, records.subarray(from * STRIDE, behind * STRIDE));
    const isKept = copied(kernel, kept?.subarray(from, behind) ?? new Uint8Array(behind - from).fill(1));
    const columns = copied(kernel, known);
    const { rows: maxRows, bytes: maxBytes } = this.#limits;
    const appended = kernel.appendRecords(
      // The addresses that the first byte and the first value of the list would have; the kernel adds modulo 2^32.
      bytes.at - firstByte,
      values.at - firstValue * NUMBER_BYTES,
      values.at,
      ofRecords.at,
      columns.at,
      isKept.at,
      behind - from,
      maxRows,
      maxBytes,
    );
    const found = new Uint32Array(kernel.memory.buffer, columns.at, fields.length);
    for (let index = 0; index < fields.length; index += 1) {
      const column = found[index] ?? 0;
      if (column === known[index]) continue;
      this.#columns.set(fields[index] ?? '', column);
      known[index] = column;
    }
    release(kernel, bytes, values, ofRecords, isKept, columns);
    return from + appended;
  }

  /** By field: the address of its column; 0 for a field that no row has. */
  #columnsOf(fields: readonly string[]): Uint32Array {
    const columns = new Uint32Array(fields.length);
    // I12: a list may have many more fields than the records of a row group.
    if (this.#columns.size > 0)
      for (let index = 0; index < fields.length; index += 1)
        columns[index] = this.#columns.get(fields[index] ?? '') ?? 0;
    return columns;
  }

  /** The end of the next records to copy: as many as fit into the row group and into SOME_BYTES, at least one. */
  #endOfSome({ count, records }: RecordList, from: number): number {
    const most = Math.min(count, from + this.#limits.rows - this.rows);
    const start = records[from * STRIDE] ?? 0;
    let end = most;
    while (end > from + 1 && (records[(end - 1) * STRIDE + 1] ?? 0) - start > SOME_BYTES)
      end = from + ((end - from) >> 1);
    return end;
  }

  column(field: string): LiteralColumn | undefined {
    const at = this.#columns.get(field);
    return at === undefined ? undefined : literalColumn(this.#begun(), at);
  }

  clear(): void {
    if (this.#kernel) giveBackRowsKernel(this.#kernel);
    this.#kernel = undefined;
    this.#columns = new Map();
  }

  #begun(): Kernel {
    if (!this.#kernel) {
      this.#kernel = takeRowsKernel();
      this.#kernel.beginRows();
    }
    return this.#kernel;
  }
}

/** The values of a field in all rows. Each result is valid until the columns change or the same method is called again. */
function literalColumn(kernel: Kernel, at: number) {
  const [count = 0, bytesAt = 0, endsAt = 0] = new Uint32Array(kernel.memory.buffer, at, 3);
  const codesBytes = (count + 1) * NUMBER_BYTES;
  // Not kept in a variable: when the kernel's memory grows, its buffer changes.
  const endsOf = () => new Uint32Array(kernel.memory.buffer, endsAt, count + 1);
  const bytesOf = () => Buffer.from(kernel.memory.buffer, bytesAt, endsOf()[count]);
  return {
    /** The number of literals: their codes are 1 to `count`, in the order of their first occurrence. */
    count,
    /** A code for each row; 0 if the record does not have the field. @param into at least as long as there are rows */
    codes: (into: Uint32Array) => {
      for (let row = 0; row < into.length; row += BLOCK_ROWS) {
        const block = kernel.codesAt(at, row);
        const behind = Math.min(row + BLOCK_ROWS, into.length);
        if (block === 0) into.fill(0, row, behind);
        else into.set(new Uint32Array(kernel.memory.buffer, block, behind - row), row);
      }
      return into;
    },
    get bytes() {
      return bytesOf();
    },
    /** By code: where the literal ends in `bytes`; it begins at the end of the previous literal. */
    get ends() {
      return endsOf();
    },
    /**
     * Texts without an escape, numbers as texts, and short numbers in columns of numbers. NULL and the `left` literals,
     * which need the exact reading, are NULL.
     */
    plainValues: (type: ColumnType): PlainValues & { left: number } => {
      const { digits, parquet } = typeSpec(type);
      if (type !== 'string' && !digits) {
        const [starts, ends] = [new Uint32Array(count + 1).fill(1), new Uint32Array(count + 1)];
        return { bytes: Buffer.alloc(0), starts, ends, left: count };
      }
      const [startsOf, valueEnds] = [allocated(kernel, codesBytes), allocated(kernel, codesBytes)];
      const width = widthOf(parquet.element);
      const numbers = allocated(kernel, (count + 1) * width);
      const isBigEndian = Number(parquet.element.type === 'FIXED_LEN_BYTE_ARRAY');
      const left = digits
        ? kernel.shortNumbers(
            bytesAt,
            endsAt,
            count,
            digits.precision,
            digits.scale,
            width,
            isBigEndian,
            numbers.at,
            startsOf.at,
            valueEnds.at,
          )
        : kernel.plainTexts(bytesAt, endsAt, count, startsOf.at, valueEnds.at);
      const starts = new Uint32Array(kernel.memory.buffer, startsOf.at, count + 1).slice();
      const ends = new Uint32Array(kernel.memory.buffer, valueEnds.at, count + 1).slice();
      const bytes = digits
        ? Buffer.copyBytesFrom(new Uint8Array(kernel.memory.buffer, numbers.at, numbers.bytes))
        : bytesOf();
      release(kernel, startsOf, valueEnds, numbers);
      return { bytes, starts, ends, left };
    },
  };
}
