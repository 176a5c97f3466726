import { MAX_UNITS_PER_COLUMN, displayWidth, oneLine, styleText, truncate } from './terminal-text.ts';

export interface TableColumn {
  name: string;
  align?: 'left' | 'right';
}

/** Prints the rows of a table one by one. */
export interface TableLayout {
  head: string;
  line: (row: readonly string[]) => string;
}

const GAP = '  ';
const MIN_COLUMN_WIDTH = 8;
/** Where nothing is cut, a longer cell stands out: to pad the column to a text of 1 MB would print 1 MB for each row. */
const MAX_PADDED_WIDTH = 200;

/** An aligned table; if it is wider than `maxWidth`, the cells of its widest columns are shortened. */
export function table(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  maxWidth?: number,
): string {
  const { head, line } = tableLayout(columns, rows, maxWidth);
  return [head, ...rows.map(line)].join('\n');
}

/**
 * @param rows decide how wide the columns are. In a longer table, cells that are wider are shortened as well, or stand out
 * of their column if `maxWidth` is infinite.
 */
export function tableLayout(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  maxWidth = Number.POSITIVE_INFINITY,
): TableLayout {
  const isCut = maxWidth < Number.POSITIVE_INFINITY;
  const widest = isCut ? Math.max(maxWidth, MIN_COLUMN_WIDTH) : MAX_PADDED_WIDTH;
  const most = isCut ? widest * MAX_UNITS_PER_COLUMN : Number.POSITIVE_INFINITY;
  // To escape all of a text of 1 MB takes a tenth of a second.
  const shown = (cell = '') => oneLine(cell.length > most ? `${cell.slice(0, most)}…` : cell);
  const names = columns.map(({ name }) => name);
  const widths = columns.map(() => 0);
  for (const row of [names, ...rows])
    for (const [index, width] of widths.entries())
      widths[index] = Math.max(width, widthUpTo(widest, shown(row[index])));
  const fitted = shrinkToFit(widths, maxWidth);
  const line = (row: readonly string[]) =>
    fitted
      .map((width, index) => {
        const cell = shown(row[index]);
        return pad(isCut ? truncate(cell, width) : cell, width, columns[index]?.align);
      })
      .join(GAP)
      .trimEnd();
  const rule = fitted.map((width) => '─'.repeat(width)).join(GAP);
  return { head: `${styleText('bold', line(names))}\n${styleText('dim', rule)}`, line };
}

/** The width of the terminal on standard output; infinite where the output is a pipe or a file. */
export function terminalColumns(): number {
  return process.stdout.isTTY ? process.stdout.columns : Number.POSITIVE_INFINITY;
}

/** Of a text so long that it cannot be narrower, `most` without measuring it: that takes a second for 1 MB. */
function widthUpTo(most: number, text: string): number {
  return text.length > most * MAX_UNITS_PER_COLUMN ? most : Math.min(displayWidth(text), most);
}

function pad(text: string, width: number, align: TableColumn['align']): string {
  const space = ' '.repeat(width - widthUpTo(width, text));
  return align === 'right' ? space + text : text + space;
}

/** Narrows the widest columns to one width, so that all fit or that width is the minimum. */
function shrinkToFit(widths: readonly number[], maxWidth: number): number[] {
  const narrowedTo = (limit: number) => widths.map((width) => Math.min(width, limit));
  const gaps = GAP.length * (widths.length - 1);
  const isTooWide = (limit: number) => narrowedTo(limit).reduce((sum, width) => sum + width, gaps) > maxWidth;
  let limit = Math.max(maxWidth, MIN_COLUMN_WIDTH);
  while (limit > MIN_COLUMN_WIDTH && isTooWide(limit)) limit -= 1;
  return narrowedTo(limit);
}
