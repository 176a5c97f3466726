/*
 * Writes the object of a day in its table of what was before: all earlier changes, then the records of one more change. The
 * columns of a row group are copied as they are, so that no row becomes an object, however many records changed.
 */
import type { Column } from '../base/column-types.ts';
import type { DayHistory } from '../lake/ledger.ts';
import type { CodedFile, CodedGroup } from '../table/coded-columns.ts';
import { type CodedColumn, type NamedColumn, coded } from '../table/coded-rows.ts';
import { loadParquet } from '../table/load-parquet.ts';
import type { ParquetFile } from '../table/parquet.ts';
import type { ObjectWriter } from '../ports.ts';
import { CHANGE_COLUMNS } from './before-table.ts';
import { type ChangedRecords, NEW_KEY } from './changed-records.ts';
import { type RecordKey, columnsOfKey, keyColumn } from './record-key.ts';

export type ChangeCause = 'reading' | 'rollback' | 'rebuild';

export interface ChangeFacts {
  _place: bigint;
  _cause: ChangeCause;
  _version: string;
  _previous: string;
  _after: Date | undefined;
  _by: Date;
}

export interface WrittenChange {
  earlier: CodedFile | undefined;
  before: CodedFile;
  after: CodedFile;
  changed: ChangedRecords;
  key: RecordKey;
  facts: ChangeFacts;
}

/** By what a change has of a row (`changed-records.ts`). */
const WHAT = [undefined, 'altered', 'removed', 'added', 'added'];

export async function writeChange(
  output: ObjectWriter,
  columns: readonly Column[],
  { earlier, before, after, changed, key, facts }: WrittenChange,
): Promise<Pick<NonNullable<DayHistory['object']>, 'rows' | 'bytes'>> {
  const { writeParquet } = await loadParquet();
  const file = writeParquet(output, columns);
  try {
    for await (const group of earlier?.groups() ?? []) await file.appendGroup(group);
    await copyRows(file, before, changed.before, key, facts);
    await copyRows(file, after, changed.after, key, facts);
    await copyRows(file, after, changed.after, key, facts, 'key alone');
    const { rows, bytes } = await file.finish();
    return { rows, bytes };
  } catch (thrown) {
    await file.abort();
    throw thrown;
  }
}

/** Copies the rows that a change has whole, or those of which it has the key alone. */
async function copyRows(
  file: ParquetFile,
  from: CodedFile,
  what: Uint8Array,
  key: RecordKey,
  facts: ChangeFacts,
  only?: 'key alone',
): Promise<void> {
  const isWanted = (of: number) => of > 0 && (of === NEW_KEY) === (only !== undefined);
  const isRead = (first: number, behind: number) => what.subarray(first, behind).some(isWanted);
  for await (const group of from.groups(only && columnsOfKey(key), isRead)) {
    const ofGroup = what.subarray(group.firstRow, group.firstRow + group.rows);
    const picked = Uint32Array.from([...ofGroup.keys()].filter((row) => isWanted(ofGroup[row] ?? 0)));
    const columns = changeColumns(group, ofGroup, picked, key, facts, only);
    await file.appendGroup({ rows: picked.length, columns });
  }
}

function* changeColumns(
  group: CodedGroup,
  what: Uint8Array,
  picked: Uint32Array,
  key: RecordKey,
  facts: ChangeFacts,
  only: 'key alone' | undefined,
): Generator<NamedColumn, void, undefined> {
  const of = (column: CodedColumn): CodedColumn => ({
    ...column,
    codes: picked.map((row) => column.codes[row] ?? 0),
  });
  const whatCodes = picked.map((row) => what[row] ?? 0);
  yield ['_what', coded('string', whatCodes, WHAT)];
  const named = new Set(columnsOfKey(key));
  const ofKey = new Map<string, CodedColumn>();
  for (const [name, column] of group.columns) {
    if (named.has(name)) ofKey.set(name, column);
    if (!only) yield [name, of(column)];
  }
  const texts = keyColumn(group.rows, ofKey, key);
  if (texts) yield ['_key', of(texts)];
  const codes = new Uint32Array(picked.length).fill(1);
  const values = new Map(Object.entries(facts));
  for (const { name, type } of CHANGE_COLUMNS)
    if (values.has(name)) yield [name, coded(type, codes, [undefined, values.get(name)])];
}
