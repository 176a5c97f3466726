/**
 * Each distinct literal is read once, however many rows have it. A value that its column cannot store or reproduce exactly,
 * and every field without a column, goes into the row's `_rescued` (I6). If a field has columns of several types, a value
 * is rescued if no column holds it exactly.
 */
import { isAscii } from 'node:buffer';
import {
  type Column,
  type ColumnType,
  RESCUED,
  type TypeSpec,
  typeSpec,
  type Value,
} from '../base/column-types.ts';
import {
  type Json,
  stringifyJson,
  type JsonObject,
  isJsonObject,
  parseJson,
  rawNumber,
} from '../base/json.ts';
import { valueOfLiteral } from '../records/record-list.ts';
import { type CodedColumn, type NamedColumn, coded, firstOfAll } from './coded-rows.ts';
import type { LiteralColumn, RecordColumns } from './record-columns.ts';
import { type PlainValues, isNull, plainValues } from './plain-values.ts';
import type { Row } from './columns.ts';

/**
 * The inverse: records that lead to the rows of a file again. A row does not show how the service wrote a value (text or
 * number, 1.5 or 1.50), but every column that the record is put into gets the value that it had.
 */
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
    // If a value is rescued, its column has only a part of it.
    return { ...Object.fromEntries(values), ...(isJsonObject(rescued) && rescued) };
  };
}

/** The column with the most information comes first: a text is whole, a double has a sign of 0. */
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

const NOTHING_KNOWN = { starts: new Uint32Array(), ends: new Uint32Array() };

type Rescued = [field: string, value: Json];

/** One column at a time, the first of the table before all others. @param codes receives the codes of each column: as long as there are rows */
export function* typedColumns(
  columns: readonly Column[],
  records: RecordColumns,
  codes: Uint32Array,
  onRescued?: (column: string, rows: number) => void,
): Generator<NamedColumn, void, undefined> {
  const columnsOf = Map.groupBy(columns, ({ field }) => field);
  const rescued = new Map<number, Rescued[]>();
  for (const field of firstOfAll(records.fields, (each) => each === columns[0]?.field)) {
    const literals = records.column(field);
    if (!literals) continue;
    literals.codes(codes);
    const [first, ...beside] = columnsOf.get(field) ?? [];
    let unfit = new Map<number, Json>();
    if (first) yield [first.name, { type: first.type, codes, values: read(literals, first, unfit) }];
    else unfit = new Map(leftValues(literals, NOTHING_KNOWN));
    for (const column of beside) {
      const unfitHere = new Map<number, Json>();
      yield [column.name, { type: column.type, codes, values: read(literals, column, unfitHere) }];
      unfit = new Map([...unfit].filter(([code]) => unfitHere.has(code)));
    }
    if (unfit.size > 0) {
      const rows = rescue(rescued, field, codes, unfit);
      if (first && rows > 0) onRescued?.(first.name, rows);
    }
  }
  if (rescued.size > 0) yield [RESCUED, rescuedColumn(records.rows, rescued)];
}

/** The values of the column, by code. @param unfit receives, by code, the values that the column cannot reproduce */
function read(literals: LiteralColumn, column: Column, unfit: Map<number, Json>): PlainValues {
  const { bytes, starts, ends, left } = literals.plainValues(column.type);
  if (left === 0) return { bytes, starts, ends };
  const held = heldValues(leftValues(literals, { starts, ends }, column.type), typeSpec(column.type), unfit);
  const others = plainValues(column.type, literals.count + 1, held);
  for (let code = 1; code <= literals.count; code += 1) {
    if (isNull(others, code)) continue;
    starts[code] = bytes.length + (others.starts[code] ?? 0);
    ends[code] = bytes.length + (others.ends[code] ?? 0);
  }
  return { bytes: Buffer.concat([bytes, others.bytes]), starts, ends };
}

function* heldValues(
  values: Iterable<[code: number, value: Json]>,
  spec: TypeSpec,
  unfit: Map<number, Json>,
): Generator<[code: number, held: Value | undefined], void, undefined> {
  for (const [code, value] of values) {
    const held = spec.toValue(value);
    if (held === undefined || !roundTrips(spec, held, value)) unfit.set(code, value);
    yield [code, held];
  }
}

/** By code: the values of the literals that are NULL so far. @param type few literals of texts are left */
function* leftValues(
  { count, bytes, ends }: LiteralColumn,
  known: Pick<PlainValues, 'starts' | 'ends'>,
  type?: ColumnType,
): Generator<[code: number, value: Json], void, undefined> {
  // One call into the runtime instead of one call for each literal.
  const all = type !== 'string' && isAscii(bytes) ? bytes.toString('latin1') : undefined;
  for (let code = 1; code <= count; code += 1) {
    if (!isNull(known, code)) continue;
    const [start, end] = [ends[code - 1] ?? 0, ends[code] ?? 0];
    const value = valueOfLiteral(all?.slice(start, end) ?? bytes.toString('utf8', start, end));
    if (value !== null) yield [code, value];
  }
}

/** Whether the column alone reproduces the original value: numbers by value, texts letter by letter. */
function roundTrips(spec: TypeSpec, held: Value, value: Json): boolean {
  return typeof value !== 'string' || value === held || spec.texts(held).includes(value);
}

function rescue(
  rescued: Map<number, Rescued[]>,
  field: string,
  codes: Uint32Array,
  unfit: ReadonlyMap<number, Json>,
): number {
  let rows = 0;
  for (let row = 0; row < codes.length; row += 1) {
    const code = codes[row] ?? 0;
    const value = code === 0 ? undefined : unfit.get(code);
    if (value === undefined) continue;
    rows += 1;
    const fields = rescued.get(row);
    if (fields) fields.push([field, value]);
    else rescued.set(row, [[field, value]]);
  }
  return rows;
}

function rescuedColumn(rows: number, rescued: ReadonlyMap<number, Rescued[]>): CodedColumn {
  const codes = new Uint32Array(rows);
  const texts: (string | undefined)[] = [undefined];
  for (const [row, fields] of rescued)
    codes[row] =
      texts.push(stringifyJson(Object.fromEntries(fields.sort(([a], [b]) => (a < b ? -1 : 1))))) - 1;
  return coded('string', codes, texts);
}
