/*
 * The rows of the table `changes` show what happened to a closed day since it was first closed. Each change has one row with
 * the numbers of records that it added, removed and altered. It has one more row for the sum of each numeric column, and one
 * for the sum of each role and currency (`key`). If the changed records are few enough to be listed, each added or removed
 * record and each altered value has its own row.
 */
import { columnsOf } from '../lake/documents/described-columns.ts';
import { isDeepStrictEqual } from 'node:util';
import type { Committed, DayChanges } from '../lake/documents/ledger.ts';
import { CHANGES_TABLE, MONTH_PARTITION_KEYS } from '../lake/paths.ts';
import type { Row } from '../lake/table/columns.ts';
import type { ChangedRecord, TableDiff } from '../lake/table/diff.ts';
import type { TableShape } from '../ports.ts';

const COLUMNS = columnsOf([
  ['dt', 'string', "The day in the brand's time zone, YYYY-MM-DD"],
  ['change_id', 'string', 'The id of the version that the change published'],
  ['previous_id', 'string', 'The id of the version that was replaced'],
  ['changed_at', 'timestamp', 'When the change was committed'],
  ['cause', 'string', 'What replaced the version: reading, rollback or rebuild'],
  ['what', 'string', 'What the row is about: day, sum, total, added, removed or altered'],
  ['rows_before', 'bigint', 'The rows of the day before the change'],
  ['rows_after', 'bigint', 'The rows of the day after the change'],
  ['added', 'bigint', 'Records that the change added'],
  ['removed', 'bigint', 'Records that the change removed'],
  ['altered', 'bigint', 'Records that the change altered'],
  ['listed', 'boolean', 'Whether the changed records have rows of their own'],
  ['key', 'string', 'The key of the record, or the currency of a total'],
  ['copies', 'bigint', 'How many equal records were added or removed'],
  ['column_name', 'string', 'The column of a sum or an altered value, or the role of a total'],
  ['old_value', 'string', 'The sum or the value before, as text'],
  ['new_value', 'string', 'The sum or the value after, as text'],
  ['record', 'string', 'The values of an added or removed record, as a JSON object of texts'],
]);

export const changesTable: TableShape = {
  name: CHANGES_TABLE,
  description: 'What later readings changed on a day after it was first closed: a row for each changed field',
  partitionKeys: MONTH_PARTITION_KEYS,
  columns: COLUMNS,
};

/** The cause of a new version of a closed day: another reading, a rollback to an older snapshot, or a rebuild. */
export type ChangeCause = 'reading' | 'rollback' | 'rebuild';

export type Version = Pick<Committed, 'snapshot' | 'rows' | 'bytes' | 'digest' | 'values'>;

export interface Change {
  before: Version;
  after: Version;
  cause: ChangeCause;
}

/**
 * The rows of a change, in the columns of `changesTable`; the first row sums the change up.
 * @param diff missing if a version could not be read
 */
export function* changeRows(
  day: string,
  at: Date,
  { before: { rows, values, snapshot: previous }, after, cause }: Change,
  diff: TableDiff | undefined,
): Generator<Row, void, undefined> {
  const common = { dt: day, change_id: after.snapshot, previous_id: previous, changed_at: at, cause };
  yield {
    ...common,
    what: 'day',
    rows_before: BigInt(rows),
    rows_after: BigInt(after.rows),
    added: diff && BigInt(diff.added),
    removed: diff && BigInt(diff.removed),
    altered: diff && BigInt(diff.altered),
    listed: diff?.records !== undefined,
  };
  const { sums = {}, totals } = values ?? {};
  const { sums: sumsAfter = {}, totals: totalsAfter } = after.values ?? {};
  for (const column of keysOf(sums, sumsAfter))
    yield {
      ...common,
      what: 'sum',
      column_name: column,
      old_value: sums[column],
      new_value: sumsAfter[column],
    };
  if (isDeepStrictEqual(totals?.fields, totalsAfter?.fields))
    for (const key of keysOf(totals?.byCurrency, totalsAfter?.byCurrency)) {
      const [old, now] = [totals?.byCurrency[key] ?? {}, totalsAfter?.byCurrency[key] ?? {}];
      for (const role of keysOf(old, now))
        yield {
          ...common,
          what: 'total',
          key,
          column_name: role,
          old_value: old[role],
          new_value: now[role],
        };
    }
  for (const record of diff?.records ?? [])
    for (const row of recordRows(record)) yield { ...common, what: record.what, ...row };
}

function keysOf(before: object = {}, after: object = {}): string[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])];
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

/**
 * Sums up the changes that have these rows, the oldest first. A change to equal content does not count and is not reported.
 * @returns `changeId`: the id of the newest change
 * @throws if no row is the first row of a change
 */
export function summaryOfRows(
  rows: Iterable<Row>,
): Pick<DayChanges, 'at' | 'times' | 'last'> & { changeId: string } {
  let newest: Row | undefined;
  let last: Row | undefined;
  let times = 0;
  for (const row of rows) {
    if (row.what !== 'day') continue;
    newest = row;
    if (!isOfContent(row)) continue;
    last = row;
    times += 1;
  }
  if (!newest) throw new Error('it has no change');
  const { change_id: changeId } = newest;
  return { changeId: String(changeId), at: timeOf(newest), times, ...(last && { last: lastOf(last) }) };
}

/** Whether a change, by its first row, led to other content, or may have. */
export function isOfContent({ added, removed, altered }: Row): boolean {
  return added !== 0n || removed !== 0n || altered !== 0n;
}

function lastOf(row: Row): NonNullable<DayChanges['last']> {
  const { rows_before: rowsBefore, added, removed, altered } = row;
  const isCounted = typeof added === 'bigint';
  return {
    at: timeOf(row),
    rowsBefore: Number(rowsBefore),
    ...(isCounted && { added: Number(added), removed: Number(removed), altered: Number(altered) }),
  };
}

function timeOf({ changed_at: at }: Row): string {
  if (!(at instanceof Date)) throw new Error('a change has no time');
  return at.toISOString();
}
