/*
 * Fills tables of the pages of docs/reference. The sentences of a page, and cells that the code does not have, are kept
 * by hand: a page is read before it is written.
 */

/** A table. Cells may contain any text: a vertical bar is escaped. */
export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/**
 * The page with other rows in the table that has this head.
 *
 * @param heading the table is below this heading of the second level
 * @param rowsFrom makes the new rows; it gets the present rows by their first cell
 * @throws Error if there is no such table
 */
export function withRows(
  page: string,
  heading: string,
  head: readonly string[],
  rowsFrom: (present: ReadonlyMap<string, readonly string[]>) => readonly (readonly string[])[],
): string {
  const first = tableOf(head, []);
  const below = page.indexOf(`\n## ${heading}\n`);
  const start = page.indexOf(first, below);
  if (below < 0 || start < 0) throw new Error(`the page has no table under "## ${heading}":\n${first}`);
  const end = page.indexOf('\n\n', start);
  const present = page
    .slice(start + first.length, end < 0 ? undefined : end)
    .trim()
    .split('\n')
    .map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|')))
    .map(([, ...cells]): [string, string[]] => [cells[0] ?? '', cells.slice(0, -1)]);
  const rest = end < 0 ? '\n' : page.slice(end);
  return page.slice(0, start) + tableOf(head, rowsFrom(new Map(present))) + rest;
}

/** Text in backticks. */
export function code(text: string): string {
  return `\`${text}\``;
}

/** A sentence from a text of the program: its first letter is a capital. */
export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function entriesOf<Name extends string, Value>(
  record: Readonly<Record<Name, Value>>,
): [Name, Value][] {
  return Object.entries(record) as [Name, Value][];
}
