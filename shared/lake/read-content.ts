import { type Column, RESCUED } from '../base/column-types.ts';
import { isJsonObject, parseJson } from '../base/json.ts';
import { type CodedColumn, readerOf } from '../table/coded-rows.ts';
import { ColumnFacts, fullest } from '../table/column-facts.ts';
import { Amounts } from '../table/amounts.ts';
import type { RoleFields } from '../reports/roles.ts';
import type { VersionContent } from './ledger.ts';
import { Digest } from '../table/digest.ts';
import { loadCodedFile } from '../table/load-parquet.ts';
import type { ReadableFile } from '../table/readable-file.ts';

export type SnapshotContent = Required<Omit<VersionContent, 'snapshot'>>;

/**
 * Counts the same facts again that were counted when the snapshot was written. I12: memory has one row group.
 * @throws if it is not a Parquet file of ours, or cannot be read
 */
export async function readContent(file: ReadableFile, fields?: RoleFields): Promise<SnapshotContent> {
  const { openCodedFile } = await loadCodedFile();
  const opened = await openCodedFile(file);
  const digest = new Digest();
  const facts = new ColumnFacts(opened.columns);
  const amounts = new Amounts(opened.columns, fields);
  const filled = new Map<string, number>();
  for await (const { rows, columns } of opened.groups()) {
    for (const [name, column] of digest.addColumns(rows, amounts.count(rows, facts.count(rows, columns)))) {
      const filledRows = column.codes.reduce((sum, code) => sum + (code > 0 ? 1 : 0), 0);
      filled.set(name, (filled.get(name) ?? 0) + filledRows);
      if (name === RESCUED) addRescued(facts, opened.columns, column);
    }
  }
  return {
    rows: digest.rows,
    bytes: file.bytes,
    digest: digest.value(),
    values: {
      filled: fullest(Object.fromEntries(filled)),
      ...facts.values,
      ...amounts.values,
    },
  };
}

function addRescued(facts: ColumnFacts, columns: readonly Column[], coded: CodedColumn): void {
  const columnOf = new Map(columns.map(({ name, field }) => [field, name]));
  const valueAt = readerOf(coded);
  for (const row of coded.codes.keys()) {
    const text = valueAt(row);
    if (typeof text !== 'string') continue;
    const rescued = parseJson(text);
    for (const field of isJsonObject(rescued) ? Object.keys(rescued) : []) {
      const column = columnOf.get(field);
      if (column !== undefined) facts.addRescued(column, 1);
    }
  }
}
