/** `shared/table/record-columns.ts` describes these columns and their limits (I12). */
import { Literals } from './literals';
import { allocateZeros, releaseAll, resize } from './memory';

/** A value and a record of a list take three numbers each, of 4 bytes. */
const STRIDE_BYTES: u32 = 12;
const BLOCK_BITS: u32 = 8;
const BLOCK_ROWS: u32 = 1 << BLOCK_BITS;
const FIRST_BLOCKS: u32 = 8;
const NUMBER_BITS: u32 = 2;
/** About how many bytes a block, a column and a distinct literal take besides the records themselves. */
const BLOCK_BYTES: u32 = BLOCK_ROWS * 4 + 200;
const COLUMN_BYTES: u32 = 800;
const LITERAL_BYTES: u32 = 24;

let rows: u32 = 0;
let bytes: f64 = 0;

@unmanaged
class Column extends Literals {
  /** By row / BLOCK_ROWS: the address of the block; 0 if no row of the block has the field. */
  private blocks: usize;
  private blocksRoom: u32;

  static create(): Column {
    const column = changetype<Column>(allocateZeros(offsetof<Column>()));
    column.begin(false);
    column.blocksRoom = FIRST_BLOCKS;
    column.blocks = allocateZeros(FIRST_BLOCKS << NUMBER_BITS);
    return column;
  }

  /** @returns about how many bytes of memory the value takes, besides its own bytes */
  set(row: u32, start: usize, length: u32): u32 {
    const before = this.count;
    const code = this.codeOf(start, length);
    let taken = code > before ? LITERAL_BYTES : 0;
    if (before === 0) taken += COLUMN_BYTES;
    let block = this.blockOf(row);
    if (block === 0) {
      block = this.addBlock(row);
      taken += BLOCK_BYTES;
    }
    store<u32>(block + ((row & (BLOCK_ROWS - 1)) << NUMBER_BITS), code);
    return taken;
  }

  /** The address of the codes of the row's block; 0 if no row of the block has the field. */
  blockOf(row: u32): usize {
    const index = row >>> BLOCK_BITS;
    return index < this.blocksRoom ? load<usize>(this.blocks + (index << NUMBER_BITS)) : 0;
  }

  private addBlock(row: u32): usize {
    const index = row >>> BLOCK_BITS;
    while (index >= this.blocksRoom) {
      const bytes = this.blocksRoom << NUMBER_BITS;
      this.blocks = resize(this.blocks, bytes, bytes * 2);
      memory.fill(this.blocks + bytes, 0, bytes);
      this.blocksRoom *= 2;
    }
    const block = allocateZeros(BLOCK_ROWS << NUMBER_BITS);
    store<usize>(this.blocks + (index << NUMBER_BITS), block);
    return block;
  }
}

export function beginRows(): void {
  releaseAll();
  rows = 0;
  bytes = 0;
}

export function rowCount(): u32 {
  return rows;
}

/** About how many bytes of memory the rows take, including their records. */
export function rowBytes(): f64 {
  return bytes;
}

/**
 * Appends records until the row group is full.
 * @param text the address of the text to which places of values refer
 * @param values the address of the values to which places in `records` refer
 * @param firstValue the address of the first record's values
 * @param columns by field of this list: the address of its column; 0 until some row has the field
 * @param kept a byte for each record: 0 leaves it out
 * @returns the number of records that were processed: `count` if all were
 */
export function appendRecords(
  text: usize,
  values: usize,
  firstValue: usize,
  records: usize,
  columns: usize,
  kept: usize,
  count: u32,
  maxRows: f64,
  maxBytes: f64,
): u32 {
  let done: u32 = 0;
  let first = firstValue;
  for (; done < count && <f64>rows < maxRows && bytes < maxBytes; done += 1) {
    const record = records + done * STRIDE_BYTES;
    const behind = values + (load<u32>(record, 8) << NUMBER_BITS);
    if (load<u8>(kept + done) !== 0) {
      const valueBytes = appendValues(text, first, behind, columns);
      bytes += <f64>(load<u32>(record, 4) - load<u32>(record)) + valueBytes;
      rows += 1;
    }
    first = behind;
  }
  return done;
}

function appendValues(text: usize, first: usize, behind: usize, columns: usize): f64 {
  let taken: u64 = 0;
  for (let value = first; value < behind; value += STRIDE_BYTES) {
    const slot = columns + (load<u32>(value) << NUMBER_BITS);
    if (load<usize>(slot) === 0) store<usize>(slot, changetype<usize>(Column.create()));
    const start = load<u32>(value, 4);
    taken += changetype<Column>(load<usize>(slot)).set(rows, text + start, load<u32>(value, 8) - start);
  }
  return <f64>taken;
}

export function codesAt(column: usize, row: u32): usize {
  return changetype<Column>(column).blockOf(row);
}
