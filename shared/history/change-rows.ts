/*
 * The rows of the table `changes`: what happened to a closed day since it was closed first. A change is one row that says
 * how many records it added, removed and altered, one for the sum of each numeric column, and one for each record, or
 * each altered value, where they are few enough to be listed.
 */
import type { Column } from '../column-types.ts';
import type { DayChanges } from '../lake/documents/ledger.ts';
import { CHANGES_PARTITION_KEYS, CHANGES_TABLE } from '../lake/paths.ts';
import type { Row } from '../lake/table/columns.ts';
import type { ChangedRecord, TableDiff } from '../lake/table/diff.ts';
import type { TableShape } from '../ports.ts';

const COLUMNS: readonly Column[] = [
  { name: 'change_id', type: 'string' },
  { name: 'previous_id', type: 'string' },
  { name: 'changed_at', type: 'timestamp' },
  { name: 'cause', type: 'string' },
  { name: 'what', type: 'string' },
  { name: 'rows_before', type: 'bigint' },
  { name: 'rows_after', type: 'bigint' },
  { name: 'added', type: 'bigint' },
  { name: 'removed', type: 'bigint' },
  { name: 'altered', type: 'bigint' },
  { name: 'listed', type: 'boolean' },
  { name: 'key', type: 'string' },
  { name: 'copies', type: 'bigint' },
  { name: 'column_name', type: 'string' },
  { name: 'old_value', type: 'string' },
  { name: 'new_value', type: 'string' },
  { name: 'record', type: 'string' },
];

export const changesTable: TableShape = {
  name: CHANGES_TABLE,
  description: 'What later readings changed on a day after it was first closed: a row for each changed field',
  partitionKeys: CHANGES_PARTITION_KEYS,
  columns: COLUMNS,
};

/** What replaced a version of a closed day: another reading of it, an older snapshot, or one that was built again. */
export type ChangeCause = 'reading' | 'rollback' | 'rebuild';

/** One version of a day replaced by another. */
export interface Change {
  /** The snapshots. */
  id: string;
  previousId: string;
  at: Date;
  cause: ChangeCause;
  rowsBefore: number;
  rowsAfter: number;
  /** By numeric column, as text. */
  sumsBefore: Readonly<Record<string, string>>;
  sumsAfter: Readonly<Record<string, string>>;
  /** Missing where a version could not be read. */
  diff: TableDiff | undefined;
}

/** What the ledger says of the newest change. */
export function summaryOf({
  at,
  rowsBefore,
  diff,
}: Pick<Change, 'at' | 'rowsBefore' | 'diff'>): DayChanges['last'] {
  const counts = diff && { added: diff.added, removed: diff.removed, altered: diff.altered };
  return { at: at.toISOString(), rowsBefore, ...counts };
}

/** The rows of a change, in the columns of `changesTable`; the one that sums it up is the first. */
export function* changeRows({ diff, ...change }: Change): Generator<Row, void, undefined> {
  const common = {
    change_id: change.id,
    previous_id: change.previousId,
    changed_at: change.at,
    cause: change.cause,
  };
  yield {
    ...common,
    what: 'day',
    rows_before: BigInt(change.rowsBefore),
    rows_after: BigInt(change.rowsAfter),
    added: diff && BigInt(diff.added),
    removed: diff && BigInt(diff.removed),
    altered: diff && BigInt(diff.altered),
    listed: diff?.records !== undefined,
  };
  const { sumsBefore, sumsAfter } = change;
  for (const column of new Set([...Object.keys(sumsBefore), ...Object.keys(sumsAfter)]))
    yield {
      ...common,
      what: 'sum',
      column_name: column,
      old_value: sumsBefore[column],
      new_value: sumsAfter[column],
    };
  for (const record of diff?.records ?? [])
    for (const row of recordRows(record)) yield { ...common, what: record.what, ...row };
}

function recordRows(record: ChangedRecord): Row[] {
  if (record.what === 'altered')
    return record.columns.map(({ name, before, after }) => ({
      key: record.key,
      column_name: name,
      old_value: before,
      new_value: after,
    }));
  return [{ key: record.key, copies: BigInt(record.copies), record: JSON.stringify(record.record) }];
}

/** What the ledger says of the changes that have these rows, the oldest first. @throws if they sum up no change */
export function changesInRows(rows: readonly Row[]): Pick<DayChanges, 'times' | 'last'> {
  const days = rows.filter(({ what }) => what === 'day');
  const { changed_at: at, rows_before: rowsBefore, added, removed, altered } = days.at(-1) ?? {};
  if (!(at instanceof Date)) throw new Error('it has no change');
  const isCounted = typeof added === 'bigint';
  const diff = isCounted
    ? { added: Number(added), removed: Number(removed), altered: Number(altered) }
    : undefined;
  return { times: days.length, last: summaryOf({ at, rowsBefore: Number(rowsBefore), diff }) };
}
