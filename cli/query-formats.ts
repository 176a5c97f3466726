import type { Json } from '@duckdb/node-api';
import { type QueryResult, cell, jsonText, tableText } from './query-result.ts';

export const TEXTS = {
  table: tableText,
  csv: csvText,
  json: jsonText,
};

/** CSV by RFC 4180: NULL is an empty cell, the empty text `""`. A text with `=` first is exact, although spreadsheets run it. */
async function* csvText({ names, blocks }: QueryResult): AsyncGenerator<string> {
  yield `${names.map(csvCell).join(',')}\r\n`;
  for await (const rows of blocks) for (const row of rows) yield `${row.map(csvCell).join(',')}\r\n`;
}

function csvCell(value: Json): string {
  if (value === null) return '';
  const text = cell(value, undefined);
  return text === '' || /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
