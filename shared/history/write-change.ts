/*
 * Writes the object of a day in its table of what was before: all earlier changes, then the records of one more change. The
 * columns of a row group are copied as they are, so that no row becomes an object, however many records changed.
 */
import type { Column } from '../column-types.ts';
import type { DayHistory } from '../lake/documents/ledger.ts';
import type { CodedFile, CodedGroup } from '../lake/table/coded-columns.ts';
import type { CodedColumn, NamedColumn } from '../lake/table/coded-rows.ts';
import { readerOf } from '../lake/table/column-facts.ts';
import type { Row } from '../lake/table/columns.ts';
import { loadParquet } from '../lake/table/load-parquet.ts';
import type { ParquetFile } from '../lake/table/parquet.ts';
import type { ReadableFile } from '../lake/table/readable-file.ts';
import { textsOf } from '../lake/table/texts.ts';
import type { ObjectWriter } from '../ports.ts';
import { ADDED, type ChangedRecords, NEW_KEY } from './changed-records.ts';
import { type RecordKey, columnsOfKey, keyColumn } from './record-key.ts';

export type ChangeCause = 'reading' | 'rollback' | 'rebuild';

/** What all rows of a change have in common, by control column. */
export interface ChangeFacts {
  _place: bigint;
  _cause: ChangeCause;
  _version: string;
  _previous: string;
  _after: Date | undefined;
  _by: Date;
}

export interface WrittenChange {
  /** The object with the earlier changes. */
  earlier: ReadableFile | undefined;
  before: CodedFile;
  after: CodedFile;
  changed: ChangedRecords;
  key: RecordKey;
  facts: ChangeFacts;
}

/** By what a change has of a row (`changed-records.ts`). */
const WHAT = [undefined, 'altered', 'removed', 'added', 'added'];
/** Fewer rows are written together with the rows of other row groups. */
const WHOLE_ROWS = 1_000;

/** @throws if a version or the object with the earlier changes cannot be read; then nothing was written */
export async function writeChange(
  output: ObjectWriter,
  columns: readonly Column[],
  { earlier, before, after, changed, key, facts }: WrittenChange,
): Promise<Pick<NonNullable<DayHistory['object']>, 'rows' | 'bytes'>> {
  const { writeParquet } = await loadParquet();
  const file = writeParquet(output, columns);
  try {
    if (earlier) await file.appendFile(earlier);
    const isWhole = (what: number) => what > 0 && what !== NEW_KEY;
    await copyRows(file, { file: before, what: changed.before, isWanted: isWhole }, key, facts);
    if (changed.after.includes(ADDED))
      await copyRows(file, { file: after, what: changed.after, isWanted: isWhole }, key, facts);
    if (changed.after.includes(NEW_KEY)) {
      const isWanted = (what: number) => what === NEW_KEY;
      await copyRows(file, { file: after, what: changed.after, isWanted, hasKeyAlone: true }, key, facts);
    }
    const { rows, bytes } = await file.finish();
    return { rows, bytes };
  } catch (thrown) {
    await file.abort();
    throw thrown;
  }
}

interface Source {
  file: CodedFile;
  what: Uint8Array;
  isWanted: (what: number) => boolean;
  hasKeyAlone?: true;
}

async function copyRows(
  file: ParquetFile,
  { file: from, what, isWanted, hasKeyAlone }: Source,
  key: RecordKey,
  facts: ChangeFacts,
): Promise<void> {
  const names = hasKeyAlone && columnsOfKey(key);
  const isRead = (first: number, behind: number) => what.subarray(first, behind).some(isWanted);
  for await (const group of from.groups(names, isRead)) {
    const ofGroup = what.subarray(group.firstRow, group.firstRow + group.rows);
    const picked = Uint32Array.from([...ofGroup.keys()].filter((row) => isWanted(ofGroup[row] ?? 0)));
    const columns = changeColumns({ group, what: ofGroup, picked, key, hasKeyAlone }, facts);
    if (picked.length >= WHOLE_ROWS) await file.writeGroup(picked.length, columns);
    else for (const row of rowsOfColumns(picked.length, columns)) await file.append(row);
  }
}

interface PickedRows {
  group: CodedGroup;
  /** What the change has of each row of the group. */
  what: Uint8Array;
  picked: Uint32Array;
  key: RecordKey;
  hasKeyAlone: true | undefined;
}

function* changeColumns(
  { group, what, picked, key, hasKeyAlone }: PickedRows,
  facts: ChangeFacts,
): Generator<NamedColumn, void, undefined> {
  const of = <Coded extends CodedColumn>(column: Coded): Coded => ({
    ...column,
    codes: picked.map((row) => column.codes[row] ?? 0),
  });
  const named = new Set(columnsOfKey(key));
  const ofKey = new Map<string, CodedColumn>();
  for (const [name, column] of group.columns) {
    if (named.has(name)) ofKey.set(name, column);
    if (!hasKeyAlone) yield [name, of(column)];
  }
  const texts = keyColumn(group.rows, ofKey, key);
  if (texts) yield ['_key', of(texts)];
  yield ['_what', { codes: picked.map((row) => what[row] ?? 0), texts: textsOf(WHAT) }];
  const codes = new Uint32Array(picked.length).fill(1);
  for (const [name, value] of Object.entries(facts)) {
    const values = [undefined, value];
    yield [name, typeof value === 'string' ? { codes, texts: textsOf(values) } : { codes, values }];
  }
}

function rowsOfColumns(rows: number, columns: Iterable<NamedColumn>): Row[] {
  const made = Array.from({ length: rows }, (): Row => ({}));
  for (const [name, column] of columns) {
    const valueAt = readerOf(column);
    for (const [index, row] of made.entries()) row[name] = valueAt(index);
  }
  return made;
}
