import type { JsonObject } from '../../shared/base/json.ts';
import { readerOf } from '../../shared/table/coded-rows.ts';
import type { Row, TableSchema } from '../../shared/table/columns.ts';
import { RecordColumns } from '../../shared/table/record-columns.ts';
import { typedColumns } from '../../shared/table/typed-columns.ts';
import { recordListOf } from '../../shared/records/record-list.ts';

/**
 * The rows that the columns build from the records, without `_synced_at`; a NULL is missing.
 * @param onRescued receives each column that has rescued values, and in how many rows
 */
export function typedRows(
  { columns }: TableSchema,
  records: readonly JsonObject[],
  onRescued?: (column: string, rows: number) => void,
): Row[] {
  const group = new RecordColumns({ rows: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY });
  group.append(recordListOf(records));
  const rows = records.map((): Row => ({}));
  for (const [name, column] of typedColumns(columns, group, new Uint32Array(records.length), onRescued)) {
    const valueAt = readerOf(column);
    for (const [index, row] of rows.entries()) {
      const value = valueAt(index);
      if (value !== undefined) row[name] = value;
    }
  }
  return rows;
}
