import { type Json, numberText } from '../json.ts';
import { type RecordList, valuesOf } from './record-list.ts';

/** By record, its primary key as text; `undefined` where it has none. @param field `undefined`: the records have no key */
export function keysOf(list: RecordList, field: string | undefined): (string | undefined)[] {
  if (field === undefined) return new Array<undefined>(list.count).fill(undefined);
  return valuesOf(list, field).map(keyOf);
}

/** How many records of a page have no key of their own. */
export function countWithoutKey(list: RecordList, field: string | undefined): number {
  if (field === undefined) return list.count;
  const keys = keysOf(list, field);
  // I1: twice on one page is not an overlap of pages, so the field is not a key of these records.
  const own = new Set(keys.filter((key) => key !== undefined));
  return keys.length - own.size;
}

/** A primary key as text: a text that is not empty, or the digits of a number. */
export function keyOf(value: Json | undefined): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value;
  return numberText(value);
}

/** Returns the upstream record that a response is about, by the key in the response: a service may leave out leading zeros. */
export function ownersAmong(
  upstream: ReadonlyMap<string, unknown>,
): (answered: string) => string | undefined {
  const padded = new Map(
    [...upstream.keys()].flatMap((key) => (key.startsWith('0') ? [[withoutZeros(key), key]] : [])),
  );
  return (answered) => (upstream.has(answered) ? answered : padded.get(withoutZeros(answered)));
}

export function withoutZeros(digits: string): string {
  return digits.replace(/^0+(?=\d)/, '');
}
