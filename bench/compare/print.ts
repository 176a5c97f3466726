/** Prints numbers and tables of `npm run bench` as Markdown. */

/** The middle value; of an even number of values the lower of the two. */
export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? 0;
}

/** The median, and if there are several values, the smallest and the largest: `9.1 (8.8–9.4)`. */
export function spread(values: readonly number[], digits: number): string {
  const text = (value: number) => value.toLocaleString('en-US', { maximumFractionDigits: digits });
  const range = values.length > 1 ? ` (${text(Math.min(...values))}–${text(Math.max(...values))})` : '';
  return `${text(median(values))}${range}`;
}

/** Aligns all columns but the first to the right. */
export function printTable(heads: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = heads.map((head, column) =>
    Math.max(head.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]) => {
    const cells = row.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
    );
    return `| ${cells.join(' | ')} |`;
  };
  const rule = widths.map((width, column) =>
    column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  console.log(['', line(heads), line(rule), ...rows.map(line), ''].join('\n'));
}
