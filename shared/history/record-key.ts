/*
 * The key of a day's records: the columns, or the paths in the JSON of columns, whose values identify a record. A text names
 * the key in ledgers and in `coverage`, e.g. `order_no|order_id,sku`, and views compute the same key texts in SQL.
 */
import { type Column, typeSpec } from '../base/column-types.ts';
import type { CodedFile } from '../table/coded-columns.ts';
import { type CodedColumn, coded, readerOf, valuesOf } from '../table/coded-rows.ts';
import { RowHashes, columnHashes } from '../table/digest.ts';
import { HashIndex } from '../table/hash-index.ts';
import { isNull } from '../table/plain-values.ts';
import { comparableKeys } from '../planning/primary-key.ts';
import { LANES, type Lanes } from '../records/murmur.ts';
import { fieldsOfKey } from '../records/record-list.ts';
import type { ReportDefinition } from '../reports/definition.ts';
import { NOT_WHOLE_NUMBER } from '../reports/views/key-sql.ts';
import {
  type RoleColumn,
  type RoleFields,
  jsonAt,
  placesOf,
  placesOfRole,
  textOf,
} from '../reports/roles.ts';
import type { ReportSettings } from '../settings/settings.ts';

/** A part of a key: its value is the first that is not empty at these places. */
type KeyPart = readonly RoleColumn[];
export type RecordKey = readonly KeyPart[];

/** The name of a chain in which no record has a key. */
export const NO_KEY = '';
const [BETWEEN_PARTS, BETWEEN_PLACES, BETWEEN_TEXTS] = [',', '|', '\u001f'];

export function keyName(key: RecordKey): string {
  return key
    .map((places) => places.map(({ column, path }) => [column.name, ...path].join('.')).join(BETWEEN_PLACES))
    .join(BETWEEN_PARTS);
}

/** The key of this name. Columns are never removed from a table (I7), so the key of a chain is always found. */
export function keyOfName(columns: readonly Column[], name: string): RecordKey {
  if (name === NO_KEY) return [];
  return name.split(BETWEEN_PARTS).map((part) =>
    part.split(BETWEEN_PLACES).flatMap((place) => {
      const [of = '', ...path] = place.split('.');
      const column = columns.find((each) => each.name === of);
      return column ? [{ column, path }] : [];
    }),
  );
}

export interface KeyRules {
  report: Pick<ReportDefinition, 'primaryKey' | 'likelyKeys'>;
  settings?: Pick<ReportSettings, 'key'> | undefined;
  columns: readonly Column[];
  fields: RoleFields;
  keyIsNone: boolean;
}

/**
 * Chooses the key of a day's chain of changes by its first version with records. The first key is chosen that is unique and
 * that every record has. Without such a key it is the first that every record has, or else the first that some record has.
 */
export async function chosenKey(file: CodedFile, rules: KeyRules): Promise<string> {
  let best = { name: NO_KEY, rank: 0 };
  for (const key of possibleKeys(rules)) {
    const rank = rankOf(await keyHashes(file, key));
    if (rank > best.rank) best = { name: keyName(key), rank };
    if (rank === UNIQUE) break;
  }
  return best.name;
}

const [SOME, ALL, UNIQUE] = [1, 2, 3];

function rankOf(keys: Lanes): number {
  const rows = keys.length / LANES;
  let without = 0;
  for (let row = 0; row < rows; row += 1) if (isKeyless(keys, row)) without += 1;
  if (without > 0) return without < rows ? SOME : 0;
  return new HashIndex(keys).firstOf.every((first, row) => first === row) ? UNIQUE : ALL;
}

/** The first key that no two records of the version share, and of which every record has all parts. */
export async function ownKey(file: CodedFile, rules: KeyRules): Promise<RecordKey | undefined> {
  for (const key of namedKeys(rules)) {
    const ranks = await Promise.all(key.map(async (part) => rankOf(await keyHashes(file, [part]))));
    if (ranks.every((rank) => rank >= ALL) && rankOf(await keyHashes(file, key)) === UNIQUE) return key;
  }
  return undefined;
}

function possibleKeys(rules: KeyRules): RecordKey[] {
  const [order, product] = [
    placesOfRole('order_id', rules.columns, rules.fields),
    placesOfRole('product', rules.columns, rules.fields),
  ];
  return [...namedKeys(rules), ...[[order, product], [order]].filter((key) => key.every(isPart))];
}

/** The keys of the whole table. An order and its product are no such key, because several days may have them. */
function namedKeys({ report, settings, columns, keyIsNone }: KeyRules): RecordKey[] {
  return comparableKeys({ report, settings }, keyIsNone)
    .map((key) => fieldsOfKey(key).map((field) => placesOf(columns, [field])))
    .filter((key) => key.every(isPart));
}

function isPart(part: KeyPart): boolean {
  return part.length > 0 && part.every(isPlace);
}

/** A floating point number has another text in every engine, and a name with these signs could not be read back. */
function isPlace({ column, path }: RoleColumn): boolean {
  if (path.length > 0 && column.type !== 'string') return false;
  return column.type !== 'double' && !path.some((name) => name === '' || /[,|"'\\]/.test(name));
}

/** The hash of each row's key; see `isKeyless`. */
export async function keyHashes(file: CodedFile, key: RecordKey): Promise<Lanes> {
  const hashes = new RowHashes();
  for await (const { rows, columns } of file.groups(columnsOfKey(key))) {
    const texts = keyColumn(rows, new Map(columns), key);
    hashes.append(columnHashes(rows, texts ? [['_key', texts]] : []));
  }
  return hashes.all();
}

export function isKeyless(keys: Lanes, row: number): boolean {
  for (let lane = 0; lane < LANES; lane += 1) if (keys[row * LANES + lane] !== 0) return false;
  return true;
}

export function columnsOfKey(key: RecordKey): string[] {
  return key.flat().map(({ column }) => column.name);
}

/** The key texts of rows; NULL if all parts are empty. `undefined`: no row has a key. */
export function keyColumn(
  rows: number,
  columns: ReadonlyMap<string, CodedColumn>,
  key: RecordKey,
): CodedColumn | undefined {
  const [only, ...others] = key.map((part) => partColumn(rows, columns, part));
  if (others.length === 0) return only;
  return derived(rows, [only, ...others], (texts) =>
    texts.some((text) => text) ? texts.map((text) => text ?? '').join(BETWEEN_TEXTS) : undefined,
  );
}

function partColumn(
  rows: number,
  columns: ReadonlyMap<string, CodedColumn>,
  part: KeyPart,
): CodedColumn | undefined {
  const [only, ...others] = part.map((place) => placeColumn(columns, place));
  if (others.length === 0) return only;
  return derived(rows, [only, ...others], (texts) => texts.find((text) => text));
}

function placeColumn(
  columns: ReadonlyMap<string, CodedColumn>,
  { column, path }: RoleColumn,
): CodedColumn | undefined {
  const found = columns.get(column.name);
  if (!found) return undefined;
  if (path.length === 0 && found.type === 'string' && !hasEmpty(found.values)) return found;
  const texts = valuesOf(found).map((value) => {
    if (value === undefined) return undefined;
    if (value instanceof Date && column.type === 'timestamp') return String(value.getTime());
    const [text] = typeSpec(column.type).texts(value);
    return (path.length > 0 ? textAtPath(text, path) : text) || undefined;
  });
  return coded('string', found.codes, texts);
}

const [IS_NOT_WHOLE, HALF_CHARACTER] = [
  new RegExp(`^${NOT_WHOLE_NUMBER}$`),
  /(?<!\\)(?:\\\\)*\\u[dD][89a-fA-F]/,
];

/** A text, a number or a boolean, as SQL has it. */
function textAtPath(text: string, path: readonly string[]): string | undefined {
  // DuckDB reads no JSON with half a character. Stored JSON has no other escape of this kind.
  if (HALF_CHARACTER.test(text)) return undefined;
  const value = jsonAt(text.replace(/^[ \t\n\r]+/, ''), path);
  const found = typeof value === 'boolean' ? String(value) : textOf(value);
  if (found === undefined || IS_NOT_WHOLE.test(found)) return undefined;
  return found === '-0' ? '0' : found;
}

function hasEmpty({ starts, ends }: { starts: Uint32Array; ends: Uint32Array }): boolean {
  return starts.some((start, code) => start === ends[code] && !isNull({ starts, ends }, code));
}

/** The texts that follow from the texts of each row in other columns. */
function derived(
  rows: number,
  columns: readonly (CodedColumn | undefined)[],
  textOf: (texts: readonly (string | undefined)[]) => string | undefined,
): CodedColumn {
  const read = columns.map((column) => (column ? readerOf(column) : () => undefined));
  const texts = Array.from({ length: rows }, (_, row) =>
    textOf(
      read.map((textAtRow) => {
        const text = textAtRow(row);
        return typeof text === 'string' ? text : undefined;
      }),
    ),
  );
  const codes = Uint32Array.from(texts, (_, row) => row + 1);
  return coded('string', codes, [undefined, ...texts]);
}
