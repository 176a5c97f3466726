import { styleText } from 'node:util';
import { displayWidth, oneLine, truncate } from './terminal-text.ts';

export interface TableColumn {
  name: string;
  align?: 'left' | 'right';
}

const GAP = '  ';
const MIN_COLUMN_WIDTH = 8;

/** An aligned table; where it is wider than `maxWidth`, the cells of its widest columns are shortened. */
export function table(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  maxWidth = Number.POSITIVE_INFINITY,
): string {
  const cells = rows.map((row) => row.map(oneLine));
  const names = columns.map(({ name }) => oneLine(name));
  const widths = shrinkToFit(
    columns.map((_, index) => Math.max(...[names, ...cells].map((row) => displayWidth(row[index] ?? '')))),
    maxWidth,
  );
  const line = (row: readonly string[]) =>
    row
      .map((cell, index) => {
        const width = widths[index] ?? 0;
        return pad(truncate(cell, width), width, columns[index]?.align);
      })
      .join(GAP)
      .trimEnd();
  const rule = widths.map((width) => '─'.repeat(width)).join(GAP);
  return [styleText('bold', line(names)), styleText('dim', rule), ...cells.map(line)].join('\n');
}

/** The width of the terminal on standard output; infinite where the output is a pipe or a file. */
export function terminalColumns(): number {
  return process.stdout.isTTY ? process.stdout.columns : Number.POSITIVE_INFINITY;
}

function pad(text: string, width: number, align: TableColumn['align']): string {
  const space = ' '.repeat(Math.max(0, width - displayWidth(text)));
  return align === 'right' ? space + text : text + space;
}

/** Takes one column at a time from the widest cell until all fit, or none is wider than the minimum. */
function shrinkToFit(widths: readonly number[], maxWidth: number): number[] {
  const fitted = [...widths];
  const total = () => fitted.reduce((sum, width) => sum + width, GAP.length * (fitted.length - 1));
  while (total() > maxWidth) {
    const widest = Math.max(...fitted);
    if (widest <= MIN_COLUMN_WIDTH) return fitted;
    fitted[fitted.indexOf(widest)] = widest - 1;
  }
  return fitted;
}
