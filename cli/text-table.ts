import { styleText } from 'node:util';
import { cut, oneLine, width } from './terminal-text.ts';

export interface TableColumn {
  name: string;
  align?: 'left' | 'right';
}

const GAP = '  ';
const NARROWEST = 8;

/** An aligned table of texts; where it is too wide for `columns`, its widest cells are cut. */
export function table(
  heads: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  columns = Number.POSITIVE_INFINITY,
): string {
  const cells = rows.map((row) => row.map(oneLine));
  const names = heads.map(({ name }) => oneLine(name));
  const widths = narrowed(
    heads.map((_, index) => Math.max(...[names, ...cells].map((row) => width(row[index] ?? '')))),
    columns,
  );
  const line = (row: readonly string[]) =>
    row
      .map((cell, index) => padded(cut(cell, widths[index] ?? 0), widths[index] ?? 0, heads[index]?.align))
      .join(GAP)
      .trimEnd();
  const rule = widths.map((wide) => '─'.repeat(wide)).join(GAP);
  return [styleText('bold', line(names)), styleText('dim', rule), ...cells.map(line)].join('\n');
}

/** The columns of standard output's terminal; without one nothing has to fit. */
export function terminalColumns(): number {
  return process.stdout.isTTY ? process.stdout.columns : Number.POSITIVE_INFINITY;
}

function padded(text: string, wide: number, align: TableColumn['align']): string {
  const space = ' '.repeat(Math.max(0, wide - width(text)));
  return align === 'right' ? space + text : text + space;
}

/** Takes from the widest column, one at a time, until all fit. */
function narrowed(widths: number[], columns: number): number[] {
  const fitted = [...widths];
  const total = () => fitted.reduce((sum, wide) => sum + wide, GAP.length * (fitted.length - 1));
  while (total() > columns) {
    const widest = Math.max(...fitted);
    if (widest <= NARROWEST) return fitted;
    fitted[fitted.indexOf(widest)] = widest - 1;
  }
  return fitted;
}
