/**
 * No setting decides what is counted, because a later setting may give a column another meaning. Each different value is
 * counted once, times its rows. `amounts.ts` counts amounts.
 */
import { type Column, type ColumnType, typeSpec } from '../base/column-types.ts';
import type { CodedColumn, NamedColumn } from './coded-rows.ts';
import { plainReader } from './plain-values.ts';
import { STATE_WORDS, comparedState, withoutSpaces } from '../reports/definition.ts';

/** How many columns' filled rows a ledger keeps at most; a table may have a thousand columns. */
export const MAX_FILLED = 250;
/** More columns with values that do not fit add nothing to a message for people. */
const MAX_RESCUED = 20;
const LIKE_STATE = /stat|stage|phase|progress|approv|fulfil|settle|(^|_)st(_|$)/;
/** A column with more different words is no state. Two codes may have one word, so more codes may be read. */
const [MAX_WORDS, MAX_CODES] = [20, 200];
const MAX_WORD_LENGTH = 200;
const MAX_WORD_COLUMNS = 20;

export class ColumnFacts {
  readonly #rescued = new Map<string, number>();
  /** The columns that may be states, and the rows of each word; `null` after too many words. */
  readonly #words: Map<string, { column: Column; rows: Map<string, number> | null }>;

  constructor(columns: readonly Column[]) {
    const mayBeStates = columns.filter(
      ({ name, type, field }) => field !== undefined && (type === 'string' || LIKE_STATE.test(name)),
    );
    this.#words = new Map(mayBeStates.map((column) => [column.name, { column, rows: new Map() }]));
  }

  *count(rows: number, columns: Iterable<NamedColumn>): Generator<NamedColumn, void, undefined> {
    for (const named of columns) {
      const [name, column] = named;
      this.#addWords(name, rows, column);
      yield named;
    }
  }

  get values() {
    const { rescued, words } = this;
    return { ...(rescued && { rescued }), ...(words && { words }) };
  }

  /** By column that looks like a state, by name or words: the rows of each word; missing if they are too many. */
  get words(): Record<string, { field?: string; rows?: Record<string, number> }> | undefined {
    const found = [...this.#words.values()].filter(
      ({ column: { name }, rows }) =>
        LIKE_STATE.test(name) ||
        [...(rows?.keys() ?? [])].some((word) => STATE_WORDS.includes(comparedState(word))),
    );
    const columns = found
      .slice(0, MAX_WORD_COLUMNS)
      .map(({ column: { name, field }, rows }) => [
        name,
        { ...(field !== name && { field }), ...(rows && { rows: Object.fromEntries(rows) }) },
      ]);
    return columns.length > 0 ? Object.fromEntries(columns) : undefined;
  }

  addRescued(column: string, rows: number): void {
    this.#rescued.set(column, (this.#rescued.get(column) ?? 0) + rows);
  }

  get rescued(): Record<string, number> | undefined {
    if (this.#rescued.size === 0) return undefined;
    const columns = [...this.#rescued].sort(([, a], [, b]) => b - a);
    return Object.fromEntries(columns.slice(0, MAX_RESCUED));
  }

  #addWords(name: string, rows: number, column: CodedColumn): void {
    const words = this.#words.get(name);
    if (!words?.rows) return;
    const isNamed = LIKE_STATE.test(name);
    const different = column.values.starts.length;
    const counts = isNamed || different <= MAX_CODES ? rowsByCode(rows, column, different) : [];
    const textsOf = textReader(column);
    // Without counts, the column has too many words.
    if (counts.length === 0) words.rows = null;
    for (let code = 0; code < counts.length && words.rows; code += 1) {
      const count = counts[code] ?? 0;
      const text = count > 0 ? textsOf(code).at(-1) : undefined;
      if (text === undefined) continue;
      const word = withoutSpaces(text);
      words.rows.set(word, (words.rows.get(word) ?? 0) + count);
      if (words.rows.size > MAX_WORDS || word.length > MAX_WORD_LENGTH) words.rows = null;
    }
  }
}

export const AMOUNT = 'decimal(38,9)';

export function sumText(sum: bigint, type: ColumnType): string {
  return typeSpec(type).texts(sum)[0];
}

export function fullest(filled: Record<string, number>): Record<string, number> {
  const columns = Object.entries(filled);
  if (columns.length <= MAX_FILLED) return filled;
  return Object.fromEntries(columns.sort(([, a], [, b]) => b - a).slice(0, MAX_FILLED));
}

export function isNumeric(type: ColumnType): boolean {
  return type === 'bigint' || type === 'double' || type.startsWith('decimal(');
}

/** All texts of a code's value, the shortest last; none for NULL. */
export function textReader({ type, values }: CodedColumn): (code: number) => readonly string[] {
  const read = plainReader(type, values);
  const spec = typeSpec(type);
  return (code) => {
    const value = read(code);
    return value === undefined ? [] : spec.texts(value);
  };
}

export function rowsByCode(
  rows: number,
  { codes }: Pick<CodedColumn, 'codes'>,
  different: number,
): Uint32Array {
  const counts = new Uint32Array(different);
  for (let row = 0; row < rows; row += 1) {
    const code = codes[row] ?? 0;
    counts[code] = (counts[code] ?? 0) + 1;
  }
  return counts;
}
