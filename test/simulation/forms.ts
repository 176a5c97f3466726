/**
 * Converts records and rows to one form: a record and a row have equal forms exactly if the row has lost nothing of the
 * record. It follows the documents on columns, not the code that writes the columns.
 */
import type { Column, ColumnType, Value } from '../../shared/base/column-types.ts';
import { type Json, type JsonObject, isJsonObject, isRawNumber } from '../../shared/base/json.ts';
import type { Row } from '../../shared/table/columns.ts';

/** The text of each field; a field whose value is null is left out. */
export type Form = Map<string, string>;

export function formOfRecord(record: JsonObject, columns: readonly Column[]): string {
  const typeOf = new Map(columns.map(({ field, type }) => [field, type]));
  const form: Form = new Map();
  for (const [field, value] of Object.entries(record))
    if (value !== null) form.set(field, inColumn(value, typeOf.get(field)) ?? asReceived(value));
  return textOfTexts(form);
}

export function formOfRow(row: Row, columns: readonly Column[]): string {
  const form: Form = new Map();
  for (const { name, field, type } of columns) {
    const held = row[name];
    if (field !== undefined && held !== null && held !== undefined) form.set(field, heldForm(held, type));
  }
  const rescued: Json = typeof row._rescued === 'string' ? exactly(row._rescued) : {};
  if (!isJsonObject(rescued)) throw new Error(`_rescued is not an object: ${String(row._rescued)}`);
  for (const [field, value] of Object.entries(rescued)) form.set(field, asReceived(value));
  return textOfTexts(form);
}

/** The row as one text: equal rows have the same text. */
export function textOfTexts(row: Form): string {
  return JSON.stringify([...row].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The record as its columns show it: a text that is a number becomes that number if its column has a number type. */
export function asShownBy(columns: readonly Column[], record: JsonObject): JsonObject {
  const typeOf = new Map(columns.map(({ field, type }) => [field, type]));
  return Object.fromEntries(
    Object.entries(record).map(([field, value]) => {
      const isNumber = typeof value === 'string' && /^-?(0|[1-9]\d*)(\.\d+)?$/.test(value);
      return [field, isNumber && holdsNumbers(typeOf.get(field)) ? JSON.rawJSON(value) : value];
    }),
  );
}

function holdsNumbers(type: ColumnType | undefined): boolean {
  return type === 'bigint' || type === 'double' || type?.startsWith('decimal') === true;
}

/** The forms that one list has more often than the other: at most three of each, so that a failure is readable. */
export function unlike(expected: readonly string[], found: readonly string[]) {
  return { missing: excess(expected, found), surplus: excess(found, expected) };
}

function excess(these: readonly string[], those: readonly string[]): string[] {
  const more = counted(these);
  for (const [form, count] of counted(those)) more.set(form, (more.get(form) ?? 0) - count);
  return [...more].flatMap(([form, count]) => (count > 0 ? [`${count} × ${form}`] : [])).slice(0, 3);
}

function counted(forms: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const form of forms) counts.set(form, (counts.get(form) ?? 0) + 1);
  return counts;
}

/** The form of a value that its column shows exactly; `undefined` if it has to be rescued or has no column. */
function inColumn(value: Json, type: ColumnType | undefined): string | undefined {
  const number = literalOf(value);
  switch (type) {
    case undefined:
      return undefined;
    case 'string':
      return `text ${typeof value === 'string' ? value : JSON.stringify(value)}`;
    case 'boolean':
      return typeof value === 'boolean' ? `boolean ${value}` : undefined;
    case 'date':
      return `day ${String(value).replace(/^(\d{4})(\d\d)(\d\d)$/, '$1-$2-$3')}`;
    case 'timestamp':
      return `instant ${new Date(String(value)).toISOString()}`;
    default:
      return number && numberForm(number);
  }
}

function asReceived(value: Json): string {
  if (typeof value === 'string') return `text ${value}`;
  if (typeof value === 'boolean') return `boolean ${value}`;
  const number = literalOf(value);
  return number === undefined ? `text ${JSON.stringify(value)}` : numberForm(number);
}

function heldForm(held: Value, type: ColumnType): string {
  if (held instanceof Date)
    return type === 'date' ? `day ${held.toISOString().slice(0, 10)}` : `instant ${held.toISOString()}`;
  if (typeof held === 'string') return `text ${held}`;
  if (typeof held === 'boolean') return `boolean ${held}`;
  return numberForm(`${held}e-${scaleOf(type)}`);
}

/** The decimal places of a column; 0 for types other than decimals. */
export function scaleOf(type: ColumnType): number {
  return Number(/^decimal\(\d+,(\d+)\)$/.exec(type)?.[1] ?? 0);
}

export function literalOf(value: Json): string | undefined {
  return typeof value === 'number' || isRawNumber(value) ? JSON.stringify(value) : undefined;
}

/** The same text for the same number: `1.10`, `11e-1` and `1.100`. */
export function numberForm(literal: string): string {
  const parts = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(literal);
  if (!parts) return `not a number: ${literal}`;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = parts;
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return 'number 0';
  return `number ${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}

export function exactly(json: string): Json {
  return JSON.parse(json, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined ? JSON.rawJSON(source) : value,
  );
}
