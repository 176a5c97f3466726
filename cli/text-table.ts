import { exactNumber } from '../shared/base/exact-number.ts';
import { MAX_UNITS_PER_COLUMN, displayWidth, oneLine, styleText } from './terminal-text.ts';

export interface TableColumn {
  name: string;
  align?: 'left' | 'right';
}

const GAP = '  ';
/** The width up to which a column is padded: padding to a text of 1 MB would print 1 MB for each row. */
const MAX_PADDED_WIDTH = 200;

/** Values by the names of their columns. Numbers have thousands separators, and are at the right of their column. */
export type TableRow = Readonly<Record<string, string | number>>;

export function table(rows: readonly TableRow[]): string {
  const columns = Object.keys(rows[0] ?? {}).map((name): TableColumn => {
    const isNumber = rows.some((row) => typeof row[name] === 'number');
    return { name, align: isNumber ? 'right' : 'left' };
  });
  const cells = rows.map((row) =>
    Object.values(row).map((value) => (typeof value === 'number' ? exactNumber(value) : value)),
  );
  const { head, line } = tableLayout(columns, cells);
  return [head, ...cells.map(line)].join('\n');
}

/** @param rows decide the widths of the columns. A wider cell in a later row exceeds its column */
export function tableLayout(columns: readonly TableColumn[], rows: readonly (readonly string[])[]) {
  const names = columns.map(({ name }) => name);
  const widths = columns.map(() => 0);
  for (const row of [names, ...rows])
    for (const [index, width] of widths.entries())
      widths[index] = Math.max(width, paddedWidth(oneLine(row[index] ?? '')));
  const line = (row: readonly string[]) =>
    columns
      .map(({ align }, index) => {
        const text = oneLine(row[index] ?? '');
        const space = ' '.repeat(Math.max(0, (widths[index] ?? 0) - paddedWidth(text)));
        return align === 'right' ? space + text : text + space;
      })
      .join(GAP)
      .trimEnd();
  const rule = widths.map((width) => '─'.repeat(width)).join(GAP);
  return { head: `${styleText('bold', line(names))}\n${styleText('dim', rule)}`, line };
}

/** The width of the text, at most `MAX_PADDED_WIDTH`. A very long text is not measured, because 1 MB takes a second. */
function paddedWidth(text: string): number {
  if (text.length > MAX_PADDED_WIDTH * MAX_UNITS_PER_COLUMN) return MAX_PADDED_WIDTH;
  return Math.min(displayWidth(text), MAX_PADDED_WIDTH);
}
