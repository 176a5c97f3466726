/** A group is encoded as soon as it is full, so that memory has only one group, whatever the size of the day (I12). */
import { type Column, SYNCED_AT } from '../base/column-types.ts';
import type { RecordList } from '../records/record-list.ts';
import { type NamedColumn, coded } from './coded-rows.ts';
import type { ColumnFacts } from './column-facts.ts';
import type { ParquetFile } from './parquet.ts';
import type { Amounts } from './amounts.ts';
import { RecordColumns } from './record-columns.ts';
import type { RowGroupLimits } from './row-group-limits.ts';
import { typedColumns } from './typed-columns.ts';

export interface RowGroupTarget {
  columns: readonly Column[];
  file: ParquetFile;
  facts: ColumnFacts;
  amounts: Amounts;
}

/** Small, because most days have few rows, and memory outside the heap starts full garbage collections. */
const FIRST_ROWS = 256;

export class RowGroups {
  readonly #open: () => Promise<RowGroupTarget>;
  readonly #records: RecordColumns;
  #codes = new Uint32Array();
  /** By row: when its content was first read, as an index into `#times`, counted from 1. */
  #syncedAt = new Uint32Array(FIRST_ROWS);
  #times: (Date | undefined)[] = [undefined];
  #target: RowGroupTarget | undefined;
  #largest = 0;

  /** @param open called once, when the first row group is full: until then no row depends on the columns */
  constructor(limits: RowGroupLimits, open: () => Promise<RowGroupTarget>) {
    this.#open = open;
    this.#records = new RecordColumns(limits);
  }

  get target(): RowGroupTarget | undefined {
    return this.#target;
  }

  get largest(): number {
    return Math.max(this.#largest, this.#records.rows);
  }

  /** @param kept a byte for each record: 0 leaves it out */
  async append(list: RecordList, kept: Uint8Array, syncedAt: Date): Promise<void> {
    for (let from = 0; from < list.count; ) {
      const before = this.#records.rows;
      from = this.#records.append(list, from, kept);
      if (this.#times.at(-1)?.getTime() !== syncedAt.getTime()) this.#times.push(syncedAt);
      this.#syncedAt = holding(this.#syncedAt, this.#records.rows);
      this.#syncedAt.fill(this.#times.length - 1, before, this.#records.rows);
      if (this.#records.isFull) await this.flush();
    }
  }

  async flush(): Promise<RowGroupTarget> {
    this.#target ??= await this.#open();
    const { columns, file, facts, amounts } = this.#target;
    const { rows } = this.#records;
    if (rows === 0) return this.#target;
    const counted = amounts.count(rows, facts.count(rows, this.#columns(rows, columns, facts)));
    await file.writeGroup(rows, counted);
    this.#largest = this.largest;
    this.#records.clear();
    this.#times = [undefined];
    return this.#target;
  }

  *#columns(
    rows: number,
    columns: readonly Column[],
    facts: ColumnFacts,
  ): Generator<NamedColumn, void, undefined> {
    if (this.#codes.length < rows) this.#codes = new Uint32Array(this.#syncedAt.length);
    const codes = this.#codes.subarray(0, rows);
    const syncedAt: NamedColumn = [SYNCED_AT, coded('timestamp', this.#syncedAt, this.#times)];
    const isFirst = columns[0]?.name === SYNCED_AT;
    if (isFirst) yield syncedAt;
    yield* typedColumns(columns, this.#records, codes, (column, rescued) =>
      facts.addRescued(column, rescued),
    );
    if (!isFirst) yield syncedAt;
  }
}

function holding(numbers: Uint32Array<ArrayBuffer>, rows: number): Uint32Array<ArrayBuffer> {
  if (rows <= numbers.length) return numbers;
  const longer = new Uint32Array(Math.max(rows, 2 * numbers.length));
  longer.set(numbers);
  return longer;
}
