/**
 * Writes the records of a partition as row groups: a group is typed, counted into the digest and encoded as soon as it
 * is full, so that memory holds one of them, whatever the size of the day (I12).
 */
import type { RecordList } from '../../records/record-list.ts';
import type { NamedColumn } from './coded-rows.ts';
import type { ColumnFacts } from './column-facts.ts';
import type { TableSchema } from './columns.ts';
import type { Digest } from './digest.ts';
import type { ParquetFile } from './parquet.ts';
import { RecordColumns } from './record-columns.ts';
import { ROW_GROUP_BYTES, maxRowsOfGroup } from './row-group-limits.ts';
import { typedColumns } from './typed-columns.ts';

export class RowGroups {
  readonly #schema: TableSchema;
  readonly #file: ParquetFile;
  readonly #digest: Digest;
  readonly #facts: ColumnFacts;
  readonly #records: RecordColumns;
  readonly #codes: Uint32Array;
  /** By row, when its content was first read: an index into `#times`, counted from 1. */
  readonly #syncedAt: Uint32Array;
  #times: (Date | undefined)[] = [undefined];

  /** @param file of the schema's columns */
  constructor(schema: TableSchema, file: ParquetFile, digest: Digest, facts: ColumnFacts) {
    const rows = maxRowsOfGroup(schema.columns.length);
    this.#schema = schema;
    this.#file = file;
    this.#digest = digest;
    this.#facts = facts;
    this.#records = new RecordColumns({ rows, bytes: ROW_GROUP_BYTES });
    this.#codes = new Uint32Array(rows);
    this.#syncedAt = new Uint32Array(rows);
  }

  /**
   * @param kept a byte per record: 0 leaves it out
   * @param syncedAt when their content was first read
   */
  async append(list: RecordList, kept: Uint8Array, syncedAt: Date): Promise<void> {
    for (let from = 0; from < list.count; ) {
      const before = this.#records.rows;
      from = this.#records.append(list, from, kept);
      if (this.#times.at(-1)?.getTime() !== syncedAt.getTime()) this.#times.push(syncedAt);
      this.#syncedAt.fill(this.#times.length - 1, before, this.#records.rows);
      if (this.#records.isFull) await this.flush();
    }
  }

  /** Writes what was appended since the last full row group. */
  async flush(): Promise<void> {
    const { rows } = this.#records;
    if (rows === 0) return;
    const counted = this.#facts.count(rows, this.#columns(rows));
    await this.#file.writeGroup(rows, this.#digest.addColumns(rows, counted));
    this.#records.clear();
    this.#times = [undefined];
  }

  *#columns(rows: number): Generator<NamedColumn, void, undefined> {
    const codes = this.#codes.subarray(0, rows);
    yield* typedColumns(this.#schema.columns, this.#records, codes, (column, rescued) =>
      this.#facts.addRescued(column, rescued),
    );
    yield ['_synced_at', { codes: this.#syncedAt, values: this.#times }];
  }
}
