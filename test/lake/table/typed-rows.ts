import type { Value } from '../../../shared/column-types.ts';
import type { JsonObject } from '../../../shared/json.ts';
import { type CodedColumn, valueOfCode } from '../../../shared/lake/table/coded-rows.ts';
import type { Row, TableSchema } from '../../../shared/lake/table/columns.ts';
import { RecordColumns } from '../../../shared/lake/table/record-columns.ts';
import { isNullText } from '../../../shared/lake/table/texts.ts';
import { typedColumns } from '../../../shared/lake/table/typed-columns.ts';
import { recordListOf } from '../../../shared/records/record-list.ts';

/**
 * The rows that the records become, by their columns; without `_synced_at`, and NULL is missing.
 * @param onRescued told of each column some of whose values are rescued: in how many rows
 */
export function typedRows(
  { columns }: TableSchema,
  records: readonly JsonObject[],
  onRescued?: (column: string, rows: number) => void,
): Row[] {
  const group = new RecordColumns({ rows: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY });
  group.append(recordListOf(records));
  const rows = records.map((): Row => ({}));
  for (const [name, column] of typedColumns(columns, group, new Uint32Array(records.length), onRescued))
    for (const [index, row] of rows.entries()) {
      const value = valueAt(column, column.codes[index] ?? 0);
      if (value !== undefined) row[name] = value;
    }
  return rows;
}

/** What a code of the column stands for. */
export function valueAt(column: CodedColumn, code: number): Value | undefined {
  if (!('texts' in column)) return valueOfCode(column, code);
  const { texts } = column;
  if (isNullText(texts, code)) return undefined;
  return texts.bytes.toString('utf8', texts.starts[code], texts.ends[code]);
}
