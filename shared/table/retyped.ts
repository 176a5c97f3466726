/*
 * Compares versions that store a field in different columns: a new `columns` setting puts the values of a field into a
 * further column (I7). A comparison of rows would report all records as different, although the service changed none.
 */
import { type Column, RESCUED, typeSpec } from '../base/column-types.ts';
import { type Json, isJsonObject, parseJson, stringifyJson } from '../base/json.ts';
import type { Row } from './columns.ts';
import { Digest, RowHashes } from './digest.ts';
import { type CodedFile, rowsOf } from './coded-columns.ts';
import { recordsOfRows } from './typed-columns.ts';

type Filled = Readonly<Record<string, number>> | undefined;

export function retypedFields(
  columns: readonly Column[],
  before: Filled = {},
  after: Filled = {},
): ReadonlyMap<string, readonly Column[]> {
  const byField = Map.groupBy(columns, ({ field = '' }) => field);
  const isFilled = (of: NonNullable<Filled>, { name }: Column) => (of[name] ?? 0) > 0;
  const isRetyped = ([field, own]: [string, Column[]]) =>
    field !== '' &&
    own.length > 1 &&
    own.some((column) => isFilled(before, column) !== isFilled(after, column)) &&
    [before, after].every((of) => own.some((column) => isFilled(of, column)));
  return new Map([...byField].filter(isRetyped));
}

/** A retyped field counts once, in whichever columns or in `_rescued` it is stored. */
export async function recordHashes(
  file: CodedFile,
  columns: readonly Column[],
  retyped: ReadonlyMap<string, readonly Column[]>,
): Promise<RowHashes> {
  const hashes = new RowHashes();
  const digest = new Digest(hashes);
  const recordOf = recordsOfRows(columns);
  const contentOf = (row: Row): Row => {
    const record = recordOf(row);
    const content: Row = { ...row, [RESCUED]: rescuedWithout(row, retyped) };
    for (const [field, own] of retyped) {
      for (const { name } of own) delete content[name];
      const value = record[field];
      if (value !== undefined && value !== null) content[own[0]?.name ?? field] = comparable(value, own);
    }
    return content;
  };
  for await (const group of file.groups()) for (const row of rowsOf(group)) digest.add(contentOf(row));
  digest.value();
  return hashes;
}

function rescuedWithout(
  { [RESCUED]: text }: Row,
  retyped: ReadonlyMap<string, readonly Column[]>,
): string | undefined {
  const rescued = typeof text === 'string' ? parseJson(text) : undefined;
  if (!isJsonObject(rescued)) return undefined;
  const others = Object.entries(rescued).filter(([field]) => !retyped.has(field));
  return others.length === 0 ? undefined : stringifyJson(Object.fromEntries(others));
}

/** The same text for texts and numbers that mean the same to one of the columns: 1.5 and `1.50`. */
function comparable(value: Json, columns: readonly Column[]): string {
  for (const { type } of columns) {
    const held = type === 'string' ? undefined : typeSpec(type).toValue(value);
    if (held !== undefined) return typeSpec(type).texts(held)[0];
  }
  return typeof value === 'string' ? value : stringifyJson(value);
}
