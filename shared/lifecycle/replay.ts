/*
 * Writes the lifecycle rows of a day anew: the rows before, updated with the records of the version that replaces the current
 * one. Rows that stay the same are copied as columns. I12: the records of a version are in memory in parts, by a hash of
 * their keys.
 */
import type { Column } from '../column-types.ts';
import { type CodedFile, rowsOf } from '../lake/table/coded-columns.ts';
import type { CodedColumn, NamedColumn } from '../lake/table/coded-rows.ts';
import { countOf, readerOf, withValues } from '../lake/table/column-facts.ts';
import type { Row } from '../lake/table/columns.ts';
import { HashIndex } from '../lake/table/diff.ts';
import { Digest, RowHashes, columnHashes } from '../lake/table/digest.ts';
import type { ParquetFile } from '../lake/table/parquet.ts';
import { type Lanes, shortHashOfBytes, viewOf } from '../records/murmur.ts';
import { newRows } from './new-rows.ts';
import { type NowColumns, recordReader } from './records.ts';
import { type Identity, type Moment, Records, partOf, rowAfter } from './rows.ts';

/** About 30 MB. */
const MAX_RECORDS = 100_000;
/** At least so many rows that stay together become a row group of their own. */
const WHOLE_ROWS = 1_000;

export interface Replay {
  /** The lifecycle rows up to the version before. */
  earlier?: { file: CodedFile; digest: string } | undefined;
  /** The number of records in the version, and a function that returns them all: it is called once for each part. */
  rows: number;
  records: () => AsyncIterable<NowColumns>;
  moment: Moment;
}

/**
 * Writes the rows of a day's first version.
 * @returns `false` if records share a key, or there are too many (I12): then `replay` has to write the file
 */
export async function writeNewRows(
  file: ParquetFile,
  columns: readonly Column[],
  { rows, records, moment }: Replay,
): Promise<boolean> {
  if (rows > MAX_HASHED) return false;
  const keys = new RowHashes();
  const isUnique = () => new HashIndex(keys.all()).isUnique;
  let written = 0;
  for await (const group of records()) {
    keys.append(keyHashes(group));
    // Most shared keys show before anything is written.
    if (written === 0 && !isUnique()) return false;
    await file.writeGroup(group.rows, newRows(columns, group, moment));
    written += group.rows;
  }
  if (written !== rows) throw new Error(`${written} rows are read instead of ${rows}`);
  return isUnique();
}

/**
 * Writes the rows of a version that replaces another, or whose records share keys.
 * @param most how many records are in memory
 * @throws if a file differs from what was written
 */
export async function replay(
  file: ParquetFile,
  columns: readonly Column[],
  { earlier, rows, records, moment }: Replay,
  most = MAX_RECORDS,
): Promise<true> {
  const known = earlier && (await sameRows(records, rows, earlier.file));
  const parts = Math.ceil(Math.max(1, known?.others ?? Math.max(rows, earlier?.file.rows ?? 0)) / most);
  let met = 0;
  for (let part = 0; part < parts; part += 1) {
    const isOfPart = (of: Identity) => parts === 1 || hashOf(partOf(of)) % parts === part;
    const now = new Records();
    let firstRow = 0;
    for await (const group of records()) {
      const recordAt = recordReader(group.columns);
      for (let row = 0; row < group.rows; row += 1) {
        const isKnown = known?.isKept(firstRow + row) ?? false;
        const record = isKnown ? undefined : recordAt(row);
        if (record ? !isOfPart(record) : part > 0) continue;
        met += 1;
        if (record) now.add(record);
      }
      firstRow += group.rows;
    }
    const found = new Digest();
    const left: Row[] = [];
    for await (const group of earlier?.file.groups() ?? []) {
      const read = new Map(found.addColumns(group.rows, group.columns));
      // When a day reaches an age, this is often all that changes.
      const counted = read.get('counted_commission');
      if (counted) for (const age of moment.ages) if (!read.has(age)) read.set(age, counted);
      const kept = keptRows(
        { rows: group.rows, columns: read },
        now,
        moment,
        isOfPart,
        left,
        known && ((row) => (known.isStill(group.firstRow + row) ? part : undefined)),
      );
      const next = columns.flatMap(({ name, type }): NamedColumn[] => {
        const column = changedColumn({ name, type }, read.get(name), kept);
        return column ? [[name, column]] : [];
      });
      if (kept.rows.length >= WHOLE_ROWS) await file.writeGroup(kept.rows.length, next);
      else for (const row of rowsOf({ rows: kept.rows.length, columns: next })) await file.append(row);
    }
    if (earlier && found.value() !== earlier.digest)
      throw new Error('its digest differs from the committed digest');
    for (const [before, record] of now.rest(left)) await file.append(rowAfter(before, record, moment));
  }
  if (met !== rows) throw new Error(`${met} rows are read instead of ${rows}`);
  return true;
}

function keyHashes({ rows, columns }: NowColumns): Lanes {
  return columnHashes(
    rows,
    [...columns].filter(([name]) => name === 'key'),
  );
}

function hashOf(text: string): number {
  const bytes = Buffer.from(text);
  return shortHashOfBytes(viewOf(bytes), 0, bytes.length) >>> 0;
}

/** If there are more rows, they are not compared by hashes, which take about 50 bytes each. */
const MAX_HASHED = 1_000_000;

/** The rows of a group that have a record. `changes`: the rows that become different, by their place among `rows`. */
interface Kept {
  rows: number[];
  changes: { place: number; row: number; after: Row }[];
}

/** The columns of a row that describe the current version, besides the columns that identify the row. */
const NOW_COLUMNS = [
  ...(['records', 'order_id', 'product', 'publisher_name', 'state'] as const),
  ...(['amount', 'commission', 'counted_amount', 'counted_commission'] as const),
];

const IDENTITY_AND_NOW = ['key', 'kind', 'publisher_id', 'currency', ...NOW_COLUMNS];

/** Rows that describe a record equally before and after, by their hashes, as when versions are compared. */
interface SameRows {
  /** Whether a row of the version is such a row, and whether a row before is. */
  isKept: (row: number) => boolean;
  isStill: (row: number) => boolean;
  /** The larger of the numbers of other rows, in the version and before. */
  others: number;
}

/** @returns `undefined` if records of the version share a key, or there are too many (I12): then all rows are compared */
async function sameRows(
  records: Replay['records'],
  rows: number,
  earlier: CodedFile,
): Promise<SameRows | undefined> {
  if (rows > MAX_HASHED || earlier.rows > MAX_HASHED) return undefined;
  const [keys, after, before] = [new RowHashes(), new RowHashes(), new RowHashes()];
  for await (const group of records()) {
    keys.append(keyHashes(group));
    after.append(columnHashes(group.rows, group.columns));
  }
  if (!new HashIndex(keys.all()).isUnique) return undefined;
  for await (const group of earlier.groups(IDENTITY_AND_NOW))
    before.append(columnHashes(group.rows, group.columns));
  const [ofAfter, ofBefore] = [after.all(), before.all()];
  const kept = rowsFound(ofAfter, rows, new HashIndex(ofBefore));
  const still = rowsFound(ofBefore, earlier.rows, new HashIndex(ofAfter));
  const others = Math.max(...[kept, still].map((found) => found.filter((is) => is === 0).length));
  return { isKept: (row) => kept[row] === 1, isStill: (row) => still[row] === 1, others };
}

function rowsFound(hashes: Lanes, rows: number, among: HashIndex): Uint8Array {
  const found = new Uint8Array(rows);
  for (let row = 0; row < rows; row += 1) if (among.find(hashes, row) !== undefined) found[row] = 1;
  return found;
}

/** @param left receives the rows that have no record */
function keptRows(
  { rows, columns }: { rows: number; columns: ReadonlyMap<string, CodedColumn> },
  now: Records,
  moment: Moment,
  isOfPart: (of: Identity) => boolean,
  left: Row[],
  partOfSame: (row: number) => number | undefined = () => undefined,
): Kept {
  const readers = new Map([...columns].map(([name, column]) => [name, readerOf(column)] as const));
  const at = (name: string) => readers.get(name) ?? (() => undefined);
  const [key, kind, publisher, currency] = [at('key'), at('kind'), at('publisher_id'), at('currency')];
  const compared = NOW_COLUMNS.map((name) => [name, at(name)] as const);
  const ages = moment.ages.map(at);
  const kept: Kept = { rows: [], changes: [] };
  const rowAt = (row: number): Row =>
    Object.fromEntries([...readers].map(([name, read]) => [name, read(row)]));
  for (let row = 0; row < rows; row += 1) {
    const part = partOfSame(row);
    const hasAges = ages.every((read) => read(row) !== undefined);
    if (part === 0 && !hasAges) {
      const before = rowAt(row);
      const reached = moment.ages.map((age) => [age, before[age] ?? before.counted_commission]);
      const after = { ...before, ...Object.fromEntries(reached) };
      kept.changes.push({ place: kept.rows.length, row, after });
    }
    if (part === 0) kept.rows.push(row);
    if (part !== undefined) continue;
    const of = { key: key(row), kind: kind(row), publisher_id: publisher(row), currency: currency(row) };
    if (!isOfPart(of)) continue;
    const record = now.match(of);
    const isSame = record && hasAges && compared.every(([name, read]) => read(row) === record[name]);
    const before = isSame ? undefined : rowAt(row);
    if (before && !record) left.push(before);
    if (before && record)
      kept.changes.push({ place: kept.rows.length, row, after: rowAfter(before, record, moment) });
    if (record) kept.rows.push(row);
  }
  return kept;
}

function changedColumn(
  { name, type }: Pick<Column, 'name' | 'type'>,
  column: CodedColumn | undefined,
  { rows, changes }: Kept,
): CodedColumn | undefined {
  const valueAt = column ? readerOf(column) : () => undefined;
  const codes = new Uint32Array(rows.length);
  if (column)
    for (let place = 0; place < rows.length; place += 1) codes[place] = column.codes[rows[place] ?? 0] ?? 0;
  const first = column ? countOf(column) : 1;
  const added = new Map<Row[string], number>([[undefined, 0]]);
  for (const { place, row, after } of changes) {
    const value = after[name] ?? undefined;
    if (isEqual(value, valueAt(row))) continue;
    const code = added.get(value) ?? first + added.size - 1;
    added.set(value, code);
    codes[place] = code;
  }
  if (added.size === 1 && !column) return undefined;
  return withValues(
    column,
    codes,
    [...added.keys()].slice(1).map((value) => value ?? undefined),
    type,
  );
}

function isEqual(one: Row[string], other: Row[string]): boolean {
  return one instanceof Date && other instanceof Date ? Number(one) === Number(other) : one === other;
}
