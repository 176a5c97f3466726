/** Writes the rows of a query as text for other programs and pages: CSV, JSON lines, Markdown, or a block for each row. */
import { DuckDBTypeId, type Json } from '@duckdb/node-api';
import { type QueryResult, cell, jsonText, resultObjects, tableText } from './query-result.ts';
import { oneLine } from './terminal-text.ts';
import { terminalColumns } from './text-table.ts';

/** The values of `--format`. */
export const TEXTS = {
  table: (result: QueryResult) => tableText(result, terminalColumns()),
  csv: csvText,
  json: jsonText,
  ndjson: ndjsonText,
  markdown: markdownText,
};

/**
 * CSV by RFC 4180, with a head. NULL is an empty cell, the empty text is `""`. Values are exact: a text that begins with `=`
 * stays unchanged, although spreadsheets run it as a formula.
 */
async function* csvText({ names, blocks }: QueryResult): AsyncGenerator<string> {
  yield `${names.map(csvCell).join(',')}\r\n`;
  for await (const rows of blocks) for (const row of rows) yield `${row.map(csvCell).join(',')}\r\n`;
}

function csvCell(value: Json): string {
  if (value === null) return '';
  const text = cell(value, undefined);
  return text === '' || /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** One JSON object a line. */
async function* ndjsonText(result: QueryResult): AsyncGenerator<string> {
  for await (const row of resultObjects(result)) yield `${JSON.stringify(row)}\n`;
}

/** A table of GitHub's Markdown. */
async function* markdownText(result: QueryResult): AsyncGenerator<string> {
  const line = (cells: readonly string[]) => `| ${cells.map(markdownCell).join(' | ')} |\n`;
  yield line(result.names);
  yield `|${result.names.map(() => ' --- |').join('')}\n`;
  for await (const row of shownRows(result)) yield line(row);
}

/** Escapes everything that Markdown would read as markup, HTML or the end of the cell. */
function markdownCell(text: string): string {
  return oneLine(text).replaceAll(/[\\`*[\]<>|~&$]|(?<!\w)_|_(?!\w)/g, '\\$&');
}

/** Each row as a block, a line for each column: `--vertical`. */
export async function* verticalText(result: QueryResult): AsyncGenerator<string> {
  const names = result.names.map(oneLine);
  const width = Math.min(40, Math.max(...names.map(({ length }) => length)));
  let number = 0;
  for await (const row of shownRows(result)) {
    number += 1;
    const lines = row.map((text, index) => `${(names[index] ?? '').padEnd(width)}  ${oneLine(text)}\n`);
    yield `── row ${number} ──\n${lines.join('')}`;
  }
}

/** The cells for people: decimals without trailing zeros. */
async function* shownRows({ types, blocks }: QueryResult): AsyncGenerator<string[]> {
  const scales = types.map(({ typeId }) => (typeId === DuckDBTypeId.DECIMAL ? 0 : undefined));
  for await (const rows of blocks)
    for (const row of rows) yield row.map((value, index) => cell(value, scales[index]));
}
