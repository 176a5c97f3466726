/**
 * A record again that leads to a row: the inverse of `typedColumns`. The row does not tell how the service wrote a value
 * (a text or a number, 1.5 or 1.50), but whatever columns the record is put into, they hold what they held.
 */
import { type Column, RESCUED, type Value, typeSpec } from '../../column-types.ts';
import { type Json, type JsonObject, isJsonObject, parseJson, rawNumber } from '../../json.ts';
import type { Row } from './columns.ts';

/** @param columns of the file that the rows are read from */
export function recordsOfRows(columns: readonly Column[]): (row: Row) => JsonObject {
  const ranked = columns.toSorted((a, b) => rankOf(a) - rankOf(b));
  return (row) => {
    const values = new Map<string, Json>();
    for (const { name, type, field } of ranked) {
      const held = row[name];
      if (field !== undefined && held !== null && held !== undefined && !values.has(field))
        values.set(field, jsonOf(type, held));
    }
    const { [RESCUED]: text } = row;
    const rescued = typeof text === 'string' ? parseJson(text) : {};
    // What a column holds of a value that is rescued is not all of it.
    return { ...Object.fromEntries(values), ...(isJsonObject(rescued) && rescued) };
  };
}

/** Of several columns of a field, the one whose value says most comes first: a text is whole, a double has a sign of 0. */
function rankOf({ type }: Column): number {
  if (type === 'string') return 0;
  if (type === 'double') return 1;
  return type === 'bigint' || type.startsWith('decimal') ? 2 : 3;
}

function jsonOf(type: Column['type'], held: Value): Json {
  if (typeof held === 'string' || typeof held === 'boolean') return held;
  const [text, ...shorter] = typeSpec(type).texts(held);
  if (held instanceof Date) return text;
  return rawNumber(Object.is(held, -0) ? '-0' : (shorter.at(-1) ?? text));
}
