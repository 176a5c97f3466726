import type { Column, ColumnType, Value } from '../base/column-types.ts';
import type { Row } from './columns.ts';
import { type PlainValues, plainReader, plainValues } from './plain-values.ts';

/** A column has at least as many codes as rows. A code beyond the values is NULL. Two codes may have equal values. */
export interface CodedColumn {
  readonly type: ColumnType;
  readonly codes: Uint32Array;
  readonly values: PlainValues;
}

/** The column of these values, by code. */
export function coded(
  type: ColumnType,
  codes: Uint32Array,
  values: readonly (Value | undefined)[],
): CodedColumn {
  return { type, codes, values: plainValues(type, values.length, values.entries()) };
}

/** Reads a row's value; rows with the same code share the value in memory. */
export function readerOf({ type, codes, values }: CodedColumn): (row: number) => Value | undefined {
  const read = plainReader(type, values);
  const known: (Value | undefined)[] = [];
  return (row) => {
    const code = codes[row] ?? 0;
    known[code] ??= read(code);
    return known[code];
  };
}

/** The values of a column, by code. */
export function valuesOf({ type, values }: CodedColumn): (Value | undefined)[] {
  const read = plainReader(type, values);
  return Array.from(values.starts, (_, code) => read(code));
}

/** A column and its name. It is valid until the next column is requested. */
export type NamedColumn = readonly [name: string, column: CodedColumn];

/** The items in their order, but the first of these before all others. */
export function firstOfAll<T>(items: Iterable<T>, isFirst: (item: T) => boolean): T[] {
  return [...items].sort((a, b) => Number(isFirst(b)) - Number(isFirst(a)));
}

const CELL_BYTES = 24;

/** Rows as coded columns. I12: it stores only values, because most cells of a wide table are empty. */
export class CodedRows {
  rows = 0;
  bytes = 0;
  readonly #typeOf: ReadonlyMap<string, ColumnType>;
  readonly #cells = new Map<string, Cells>();

  /** @param columns all that the rows may have */
  constructor(columns: readonly Column[]) {
    this.#typeOf = new Map(columns.map(({ name, type }) => [name, type]));
  }

  append(row: Row): void {
    for (const [name, value] of Object.entries(row)) {
      const type = this.#typeOf.get(name);
      if (value === null || value === undefined || type === undefined) continue;
      let cells = this.#cells.get(name);
      if (!cells) {
        cells = { type, rows: [], codes: [], codeOf: new Map(), values: [undefined] };
        this.#cells.set(name, cells);
      }
      cells.rows.push(this.rows);
      cells.codes.push(codeOf(cells, value));
      this.bytes += CELL_BYTES + (typeof value === 'string' ? value.length : 0);
    }
    this.rows += 1;
  }

  columns(): Map<string, CodedColumn> {
    const columns = new Map<string, CodedColumn>();
    for (const [name, cells] of this.#cells) {
      const codes = new Uint32Array(this.rows);
      for (const [index, row] of cells.rows.entries()) codes[row] = cells.codes[index] ?? 0;
      columns.set(name, coded(cells.type, codes, cells.values));
    }
    return columns;
  }
}

interface Cells {
  type: ColumnType;
  rows: number[];
  codes: number[];
  codeOf: Map<unknown, number>;
  values: (Value | undefined)[];
}

function codeOf({ codeOf, values }: Cells, value: Value): number {
  const key = identityOf(value);
  const known = codeOf.get(key);
  if (known !== undefined) return known;
  const code = values.push(value) - 1;
  codeOf.set(key, code);
  return code;
}

/** Identifies equal values of a column: a Map would treat -0 as 0, and two dates of one instant as different. */
function identityOf(value: Value): unknown {
  if (value instanceof Date) return value.getTime();
  return Object.is(value, -0) ? '-0' : value;
}
