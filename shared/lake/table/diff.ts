/**
 * Compares two versions of a partition: which rows were added, removed and, if a key identifies them, altered.
 * Equal rows are paired by the hash that the digest counts, so the values of all rows are never in memory (I12). Memory
 * has 16 bytes for each row of both versions, about as much again to find rows, and with a key 16 bytes more. Values are
 * read only from row groups with changed rows, and only if the changes are few enough to be listed.
 */
import { randomFillSync } from 'node:crypto';
import { type Column, type TypeSpec, typeSpec } from '../../column-types.ts';
import { LANES, type Lanes, avalanche } from '../../records/murmur.ts';
import { type CodedColumn, valueOfCode } from './coded-rows.ts';
import { type CodedFile, digestOf, openCodedFile } from './coded-columns.ts';
import { RowHashes, columnHashes, counts } from './digest.ts';
import type { ReadableFile } from './readable-file.ts';

/** How many changed records are listed at most, and how many letters they may have in both versions. */
const LISTED_LIMITS = { records: 10_000, bytes: 16 * 2 ** 20 };

type KeyColumns = readonly string[];

export interface TableDiff {
  added: number;
  removed: number;
  /** Records whose key both versions have; 0 without a key. */
  altered: number;
  /** Missing if the records are too many or too large. */
  records?: readonly ChangedRecord[];
}

/** A record that differs; values are texts, and a NULL is missing from its record. */
export type ChangedRecord =
  | { what: 'added' | 'removed'; key: string | undefined; copies: number; record: Record<string, string> }
  | { what: 'altered'; key: string; columns: readonly AlteredColumn[] };

export interface AlteredColumn {
  name: string;
  before: string | null;
  after: string | null;
}

export interface TableVersion {
  file: CodedFile;
  /** The hash of each row, as its digest counted it. */
  hashes: RowHashes;
}

/**
 * @param known the hashes of its rows; without them all rows are read
 * @returns also the digest if the rows were read, so that the caller can detect damage
 */
export async function openVersion(
  snapshot: ReadableFile,
  known?: RowHashes,
): Promise<TableVersion & { digest?: string }> {
  const file = await openCodedFile(snapshot);
  if (known) return { file, hashes: known };
  const hashes = new RowHashes();
  return { file, hashes, digest: await digestOf(file, hashes) };
}

/**
 * @param keys lists of columns that may identify a row together. The first list is used that has a value in each row
 * of both versions and never twice the same values
 */
export async function diffTables(
  before: TableVersion,
  after: TableVersion,
  keys: readonly KeyColumns[],
  limits = LISTED_LIMITS,
): Promise<TableDiff> {
  const unpaired = unpairedRows(before.hashes.all(), after.hashes.all());
  const keyed = await pairedByFirstKey(before.file, after.file, keys, unpaired);
  const altered = keyed?.pairs.length ?? 0;
  const counted = {
    added: unpaired.after.length - altered,
    removed: unpaired.before.length - altered,
    altered,
  };
  if (counted.added + counted.removed + altered > limits.records) return counted;
  const budget = { bytes: limits.bytes };
  const texts = {
    before: await textsOf(before.file, unpaired.before, budget),
    after: await textsOf(after.file, unpaired.after, budget),
  };
  if (!texts.before || !texts.after) return counted;
  const records = listed(
    { before: texts.before, after: texts.after },
    keyed,
    typesDiffer(before.file.columns, after.file.columns),
  );
  return { ...counted, records };
}

/** Row numbers of both versions, ascending. */
interface ChangedRows {
  before: readonly number[];
  after: readonly number[];
}

/** The rows that the other version does not have, or has less often. */
function unpairedRows(before: Lanes, after: Lanes): ChangedRows {
  const index = new HashIndex(before);
  const left = new Int32Array(index.firstOf.length);
  for (const first of index.firstOf) left[first] = (left[first] ?? 0) + 1;
  const added: number[] = [];
  for (let row = 0; row * LANES < after.length; row += 1) {
    const first = index.find(after, row);
    const count = first === undefined ? 0 : (left[first] ?? 0);
    if (first === undefined || count === 0) added.push(row);
    else left[first] = count - 1;
  }
  const removed: number[] = [];
  for (const [row, first] of index.firstOf.entries()) {
    const count = left[first] ?? 0;
    if (count === 0) continue;
    removed.push(row);
    left[first] = count - 1;
  }
  return { before: removed, after: added };
}

export class HashIndex {
  /** By row: the first row with the same hash. */
  readonly firstOf: Int32Array;
  readonly #hashes: Lanes;
  /** Row numbers counted from 1. At most half of the slots are full, so searches are short. */
  readonly #slots: Int32Array;
  /** I12: an attacker can choose hashes, but not their places. */
  readonly #secret = randomFillSync(new Int32Array(LANES));

  constructor(hashes: Lanes) {
    const rows = hashes.length / LANES;
    this.#hashes = hashes;
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(2 * rows + 1)));
    this.firstOf = new Int32Array(rows);
    for (let row = 0; row < rows; row += 1) {
      const slot = this.#slotOf(hashes, row);
      if (this.#slots[slot] === 0) this.#slots[slot] = row + 1;
      this.firstOf[row] = (this.#slots[slot] ?? 0) - 1;
    }
  }

  get isUnique(): boolean {
    return this.firstOf.every((first, row) => first === row);
  }

  find(hashes: Lanes, row: number): number | undefined {
    const found = this.#slots[this.#slotOf(hashes, row)] ?? 0;
    return found === 0 ? undefined : found - 1;
  }

  #slotOf(hashes: Lanes, row: number): number {
    const mask = this.#slots.length - 1;
    let slot = this.#placeOf(hashes, row) & mask;
    for (let held = this.#slots[slot] ?? 0; held !== 0; held = this.#slots[slot] ?? 0) {
      if (areEqual(this.#hashes, held - 1, hashes, row)) return slot;
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  #placeOf(hashes: Lanes, row: number): number {
    let place = 0;
    for (let lane = 0; lane < LANES; lane += 1)
      place = avalanche(place ^ (hashes[row * LANES + lane] ?? 0) ^ (this.#secret[lane] ?? 0));
    return place;
  }
}

function areEqual(one: Lanes, rowOfOne: number, other: Lanes, rowOfOther: number): boolean {
  const [a, b] = [rowOfOne * LANES, rowOfOther * LANES];
  return (
    one[a] === other[b] &&
    one[a + 1] === other[b + 1] &&
    one[a + 2] === other[b + 2] &&
    one[a + 3] === other[b + 3]
  );
}

/** A row of each version with the same key: indexes into the changed rows. */
interface Pair {
  before: number;
  after: number;
}

interface KeyedPairs {
  key: KeyColumns;
  pairs: readonly Pair[];
}

async function pairedByFirstKey(
  before: CodedFile,
  after: CodedFile,
  keys: readonly KeyColumns[],
  rows: ChangedRows,
): Promise<KeyedPairs | undefined> {
  for (const key of keys) {
    const pairs = await pairsByKey(before, after, key, rows);
    if (pairs) return { key, pairs };
  }
  return undefined;
}

/** @returns `undefined` if the columns are no key of one of the versions */
async function pairsByKey(
  before: CodedFile,
  after: CodedFile,
  key: KeyColumns,
  rows: ChangedRows,
): Promise<Pair[] | undefined> {
  const keysBefore = await keysOf(before, key, rows.before);
  const keysAfter = keysBefore && (await keysOf(after, key, rows.after));
  if (!keysBefore || !keysAfter) return undefined;
  const index = new HashIndex(keysBefore);
  return rows.after.flatMap((_row, at) => {
    const found = index.find(keysAfter, at);
    return found === undefined ? [] : [{ before: found, after: at }];
  });
}

/** The hashes of the keys of these rows; `undefined` if the keys do not identify all rows. */
async function keysOf(file: CodedFile, key: KeyColumns, rows: readonly number[]): Promise<Lanes | undefined> {
  const hashes = new RowHashes();
  for await (const { rows: count, columns } of file.groups(key)) {
    const ofKey = [...columns];
    if (ofKey.length < key.length || ofKey.some(([, column]) => hasNull(count, column))) return undefined;
    hashes.append(columnHashes(count, ofKey));
  }
  const all = hashes.all();
  if (!new HashIndex(all).isUnique) return undefined;
  const ofRows = new Int32Array(rows.length * LANES);
  for (const [index, row] of rows.entries())
    ofRows.set(all.subarray(row * LANES, (row + 1) * LANES), index * LANES);
  return ofRows;
}

function hasNull(rows: number, { codes }: CodedColumn): boolean {
  return codes.subarray(0, rows).includes(0);
}

/** By column. */
type RowTexts = Map<string, string>;

/** The texts of these rows; `undefined` if they are larger than the rest of the budget. */
async function textsOf(
  file: CodedFile,
  rows: readonly number[],
  budget: { bytes: number },
): Promise<RowTexts[] | undefined> {
  const typeOf = new Map(file.columns.map(({ name, type }) => [name, type]));
  const texts: RowTexts[] = [];
  const within = (from: number, to: number) => rows.filter((row) => row >= from && row < to);
  const isWanted = (from: number, to: number) => within(from, to).length > 0;
  for await (const { firstRow, rows: count, columns } of file.groups(undefined, isWanted)) {
    const picked = within(firstRow, firstRow + count);
    const ofGroup = picked.map((): RowTexts => new Map());
    for (const ofRow of ofGroup) texts.push(ofRow);
    for (const [name, column] of columns) {
      const type = typeOf.get(name);
      if (type === undefined || !counts(name)) continue;
      const spec = typeSpec(type);
      for (const [row, textOfRow] of ofGroup.entries()) {
        const text = textAt(column, (picked[row] ?? 0) - firstRow, spec);
        if (text === undefined) continue;
        textOfRow.set(name, text);
        budget.bytes -= name.length + text.length;
        if (budget.bytes < 0) return undefined;
      }
    }
  }
  return texts;
}

function textAt(column: CodedColumn, row: number, spec: TypeSpec): string | undefined {
  const value = valueOfCode(column, column.codes[row] ?? 0);
  return value === undefined ? undefined : spec.texts(value)[0];
}

/** Removed records first, then added and altered records, each in the order of their rows. */
function listed(
  texts: { before: readonly RowTexts[]; after: readonly RowTexts[] },
  keyed: KeyedPairs | undefined,
  hasOtherType: (column: string) => boolean,
): ChangedRecord[] {
  if (!keyed) return [...copiesOf('removed', texts.before), ...copiesOf('added', texts.after)];
  const { key, pairs } = keyed;
  const pairedBefore = new Set(pairs.map(({ before }) => before));
  const pairedAfter = new Set(pairs.map(({ after }) => after));
  const single = (what: 'added' | 'removed', row: RowTexts): ChangedRecord => ({
    what,
    key: textOfKey(row, key),
    copies: 1,
    record: Object.fromEntries(row),
  });
  return [
    ...texts.before.flatMap((row, index) => (pairedBefore.has(index) ? [] : [single('removed', row)])),
    ...texts.after.flatMap((row, index) => (pairedAfter.has(index) ? [] : [single('added', row)])),
    ...pairs.map((pair): ChangedRecord => {
      const [before, after] = [texts.before[pair.before] ?? new Map(), texts.after[pair.after] ?? new Map()];
      return {
        what: 'altered',
        key: textOfKey(after, key),
        columns: alteredColumns(before, after, hasOtherType),
      };
    }),
  ];
}

function textOfKey(row: RowTexts, key: KeyColumns): string {
  const texts = key.map((column) => row.get(column) ?? '');
  return texts.length === 1 ? (texts[0] ?? '') : JSON.stringify(texts);
}

function copiesOf(what: 'added' | 'removed', rows: readonly RowTexts[]): ChangedRecord[] {
  const byContent = Map.groupBy(rows, (row) => JSON.stringify([...row].sort(([a], [b]) => (a < b ? -1 : 1))));
  return [...byContent.values()].map((equal) => ({
    what,
    key: undefined,
    copies: equal.length,
    record: Object.fromEntries(equal[0] ?? []),
  }));
}

function alteredColumns(
  before: RowTexts,
  after: RowTexts,
  hasOtherType: (column: string) => boolean,
): AlteredColumn[] {
  return [...new Set([...before.keys(), ...after.keys()])]
    .map((name) => ({ name, before: before.get(name) ?? null, after: after.get(name) ?? null }))
    .filter(({ name, before, after }) => before !== after || hasOtherType(name));
}

/** A value of another type is another value, even if it has the same text. */
function typesDiffer(before: readonly Column[], after: readonly Column[]): (column: string) => boolean {
  const typesBefore = new Map(before.map(({ name, type }) => [name, type]));
  const others = after.filter(({ name, type }) => (typesBefore.get(name) ?? type) !== type);
  return (column) => others.some(({ name }) => name === column);
}
