/*
 * Beside each table of a report there is a table of what was before, e.g. `orders_before`: a row for each record that a
 * change replaced after its day was first closed, with the columns of the report's table. All records of a day that have
 * one key are a group, and a changed group has all its records there. So the records at a place of a day's chain are the
 * rows of the first later change of their group, or the current records.
 */
import { DAY_PARTITION_KEYS, SYNCED_AT } from '../base/column-types.ts';
import { columnsOf } from '../lake/described-columns.ts';
import { beforeTable } from '../lake/paths.ts';
import type { TableColumn, TableShape } from '../ports.ts';
import type { ReportDefinition } from '../reports/definition.ts';

/** No field of a record becomes a column with such a name, because those begin with a letter or a digit. */
export const CHANGE_COLUMNS = columnsOf([
  ['_what', 'string', 'altered, removed or added; an added record with a key has no other values'],
  ['_key', 'string', 'The key of the record; NULL: the record has no key and is paired by its content'],
  ['_place', 'bigint', 'The number of the change among the changes of the day: 1, 2, 3 …'],
  ['_cause', 'string', 'What replaced the version: reading, rollback or rebuild'],
  ['_version', 'string', 'The id of the version that the change published'],
  ['_previous', 'string', 'The id of the version that was replaced'],
  ['_after', 'timestamp', 'The start of the last reading without the change'],
  ['_by', 'timestamp', 'The end of the first reading with the change'],
]);

/** @param columns of the report's table */
export function beforeShape(
  { table, description }: Pick<ReportDefinition, 'table' | 'description'>,
  columns: readonly TableColumn[],
): TableShape {
  return {
    name: beforeTable(table),
    description: `${description}; what they were before later readings changed them`,
    partitionKeys: DAY_PARTITION_KEYS,
    columns: [...CHANGE_COLUMNS, ...columns.filter(({ name }) => name !== SYNCED_AT)],
  };
}
