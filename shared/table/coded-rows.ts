import type { Value } from '../base/column-types.ts';
import type { Row } from './columns.ts';
import { type Texts, textOfCode, textsOf } from './texts.ts';

/** A column has at least as many codes as rows. The value `undefined` is NULL. Two codes may have equal values. */
export type CodedColumn = CodedValues | CodedTexts | CodedUnits;

export interface CodedValues {
  codes: Uint32Array;
  values: readonly (Value | undefined)[];
}

interface CodedTexts {
  codes: Uint32Array;
  texts: Texts;
}

/** Whole numbers, or decimals in units of their last place, that doubles hold exactly; equal to `bigint`s. NaN is NULL. */
export interface CodedUnits {
  codes: Uint32Array;
  units: Float64Array;
}

/** The beginning of a code's text; `undefined` for NULL and for other types. @param most bytes */
export function beginningOfCode(column: CodedColumn, code: number, most: number): string | undefined {
  if ('texts' in column) return textOfCode(column.texts, code, most);
  const value = valueOfCode(column, code);
  return typeof value === 'string' ? value.slice(0, most) : undefined;
}

export function valueOfCode(column: CodedColumn, code: number): Value | undefined {
  if ('values' in column) return column.values[code];
  if ('texts' in column) return textOfCode(column.texts, code);
  const units = column.units[code] ?? Number.NaN;
  return Number.isNaN(units) ? undefined : BigInt(units);
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
  readonly #cells = new Map<string, Cells>();

  append(row: Row): void {
    for (const [name, value] of Object.entries(row)) {
      if (value === null || value === undefined) continue;
      let cells = this.#cells.get(name);
      if (!cells) {
        cells = { rows: [], codes: [], codeOf: new Map(), values: [undefined] };
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
      const { values } = cells;
      columns.set(
        name,
        typeof values[1] === 'string' ? { codes, texts: textsOf(values) } : { codes, values },
      );
    }
    return columns;
  }
}

interface Cells {
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
