import { count } from './output.ts';
import { MAX_UNITS_PER_COLUMN, displayWidth, oneLine, styleText, truncate } from './terminal-text.ts';

export interface TableColumn {
  name: string;
  align?: 'left' | 'right';
  /** Whether the cells of the column keep their full length. */
  isWhole?: boolean;
}

/** Prints the rows of a table one by one. */
export interface TableLayout {
  head: string;
  line: (row: readonly string[]) => string;
  /** The names of the columns that did not fit. */
  leftOut: string[];
}

const GAP = '  ';
const MIN_COLUMN_WIDTH = 8;
/** The width up to which a full-length column is padded: padding to a text of 1 MB would print 1 MB for each row. */
const MAX_PADDED_WIDTH = 200;

/** Values by the names of their columns. Numbers have thousands separators, and are at the right of their column. */
export type TableRow = Readonly<Record<string, string | number>>;

/**
 * An aligned table; if it is wider than `maxWidth`, the cells of its widest columns are shortened.
 * @param rows have the same columns
 */
export function table(rows: readonly TableRow[], maxWidth = terminalColumns()): string {
  const columns = Object.keys(rows[0] ?? {}).map((name): TableColumn => {
    const isNumber = rows.some((row) => typeof row[name] === 'number');
    return { name, align: isNumber ? 'right' : 'left' };
  });
  const cells = rows.map((row) =>
    Object.values(row).map((value) => (typeof value === 'number' ? count(value) : value)),
  );
  const { head, line } = tableLayout(columns, cells, maxWidth);
  return [head, ...cells.map(line)].join('\n');
}

/**
 * @param rows decide the widths of the columns. Wider cells in later rows are shortened too. They exceed their column if it
 * keeps full lengths, or if `maxWidth` is infinite.
 * @param mayLeaveOut leaves out the columns that do not fit, except the first; otherwise the table may be wider than `maxWidth`
 */
export function tableLayout(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  maxWidth = Number.POSITIVE_INFINITY,
  mayLeaveOut = false,
): TableLayout {
  const isCut = maxWidth < Number.POSITIVE_INFINITY;
  const widest = isCut ? Math.max(maxWidth, MIN_COLUMN_WIDTH) : MAX_PADDED_WIDTH;
  const most = isCut ? widest * MAX_UNITS_PER_COLUMN : Number.POSITIVE_INFINITY;
  const isWhole = (index: number) => !isCut || columns[index]?.isWhole === true;
  // Escaping a whole text of 1 MB takes 0.1 s.
  const shown = (cell = '', index = 0) =>
    oneLine(cell.length > most && !isWhole(index) ? `${cell.slice(0, most)}…` : cell);
  const names = columns.map(({ name }) => name);
  const widths = columns.map(() => 0);
  for (const row of [names, ...rows])
    for (const [index, width] of widths.entries())
      widths[index] = Math.max(width, widthUpTo(widest, shown(row[index], index)));
  const narrowest = widths.map((width, index) =>
    isWhole(index) ? width : Math.min(width, MIN_COLUMN_WIDTH),
  );
  const kept = mayLeaveOut ? indexesThatFit(narrowest, maxWidth) : [...widths.keys()];
  const fitted = shrinkToFit(
    kept.map((index) => ({ width: widths[index] ?? 0, least: narrowest[index] ?? 0 })),
    maxWidth,
  );
  const line = (row: readonly string[]) =>
    kept
      .map((index, place) => {
        const cell = shown(row[index], index);
        const width = fitted[place] ?? 0;
        return pad(isWhole(index) ? cell : truncate(cell, width), width, columns[index]?.align);
      })
      .join(GAP)
      .trimEnd();
  const rule = fitted.map((width) => '─'.repeat(width)).join(GAP);
  const head = `${styleText('bold', line(names))}\n${styleText('dim', rule)}`;
  return { head, line, leftOut: names.filter((_, index) => !kept.includes(index)) };
}

/** The width of the terminal on standard output; infinite if the output is a pipe or a file. */
export function terminalColumns(): number {
  return process.stdout.isTTY ? process.stdout.columns : Number.POSITIVE_INFINITY;
}

/** The width of the text, at most `most`. A very long text is not measured, because 1 MB takes a second. */
function widthUpTo(most: number, text: string): number {
  return text.length > most * MAX_UNITS_PER_COLUMN ? most : Math.min(displayWidth(text), most);
}

function pad(text: string, width: number, align: TableColumn['align']): string {
  const space = ' '.repeat(width - widthUpTo(width, text));
  return align === 'right' ? space + text : text + space;
}

/** The columns, from the left, that fit at their least width; always the first column. */
function indexesThatFit(narrowest: readonly number[], maxWidth: number): number[] {
  let used = -GAP.length;
  return [...narrowest.keys()].filter((index) => {
    const end = used + GAP.length + (narrowest[index] ?? 0);
    if (index > 0 && end > maxWidth) return false;
    used = end;
    return true;
  });
}

/** Narrows the widest columns to one width, so that all fit or each has its least width. */
function shrinkToFit(columns: readonly { width: number; least: number }[], maxWidth: number): number[] {
  const narrowedTo = (limit: number) =>
    columns.map(({ width, least }) => Math.max(least, Math.min(width, limit)));
  const gaps = GAP.length * (columns.length - 1);
  const isTooWide = (limit: number) => narrowedTo(limit).reduce((sum, width) => sum + width, gaps) > maxWidth;
  let limit = Math.max(maxWidth, MIN_COLUMN_WIDTH);
  while (limit > MIN_COLUMN_WIDTH && isTooWide(limit)) limit -= 1;
  return narrowedTo(limit);
}
