/** Files that are no CSV in UTF-8 are refused, because DuckDB would take some of them for a CSV with strange rows. */
import { isUtf8 } from 'node:buffer';
import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { textOf } from '../shared/adapters/error-fields.ts';
import { configError } from '../shared/base/errors.ts';
import { shellWord } from '../shared/base/shell-word.ts';
import { counted } from '../shared/base/exact-number.ts';
import { note } from './output.ts';
import { literal } from './sql-files.ts';
import { oneLine } from './terminal-text.ts';

export interface CsvTable {
  name: string;
  file: string;
}

interface Contents {
  /** The number of blank lines above the heading. */
  skip: number;
  /** The first other line, without texts in quotes. */
  heading: string;
  delimiters: string[];
}

/** The comma is the last one, because amounts contain it: `A1;1,50` also has one comma in each line. */
const DELIMITERS = ['\t', ';', '|', ','];
const HEAD_BYTES = 65_536;
const LINE_END = /\r?\n|\r/;
/** A quote inside a cell, as in `5" disk`, begins no text. */
const QUOTED = /(?<=^|[\t;|,\r\n])"(?:[^"]|"")*"/g;

/** No row is skipped or filled up: a line with another number of cells is an error. */
const OPTIONS = [
  `all_varchar = true, quote = '"', escape = '"', comment = '', strict_mode = true, null_padding = false`,
  "ignore_errors = false, compression = 'none', hive_partitioning = false, allow_quoted_nulls = false",
].join(', ');

/** @throws BrandReportsError `config` if a file is not CSV in UTF-8 */
export async function createCsvTables(
  connection: DuckDBConnection,
  tables: readonly CsvTable[],
): Promise<void> {
  for (const { name, file } of tables) {
    const contents = await contentsOf(file);
    // DuckDB would read these characters as a pattern, and a path that is not absolute as an address.
    const path = resolve(file).replaceAll(/[*?[]/g, '[$&]');
    try {
      const source = `${literal(path)}, ${OPTIONS}, skip = ${contents.skip}`;
      const { delimiter, hasHeader, columns } = await dialectOf(connection, source, contents);
      const rows = `read_csv(${source}, delim = ${literal(delimiter)}, header = ${hasHeader})`;
      await connection.run(`CREATE TABLE "${name}" AS FROM ${rows}`);
      const read = await connection.runAndReadAll(`SELECT count(*) FROM "${name}"`);
      const count = counted(Number(read.getRows()[0]?.[0]), 'row');
      const found =
        columns.length === 1 ? 'one column' : `delimiter ${delimiter === '\t' ? 'tab' : literal(delimiter)}`;
      const header = hasHeader ? 'first line is the header' : 'no header found';
      note(oneLine(`${name}: ${count} of ${file}, ${found}, ${header}, columns: ${columns.join(', ')}`));
    } catch (thrown) {
      throw unreadable(file, thrown);
    }
  }
}

/** @throws DuckDB's error for the first line that does not fit */
async function dialectOf(connection: DuckDBConnection, source: string, { heading, delimiters }: Contents) {
  // A text in quotes may contain the same delimiter in each line, too.
  for (const delimiter of DELIMITERS.filter((each) => heading.includes(each))) {
    const found = await sniffed(connection, source, `, delim = ${literal(delimiter)}`).catch(() => undefined);
    if (found && found.columns.length > 1) return found;
  }
  // No delimiter divides all lines. If the file has one anyway, a line is broken, and DuckDB would read each line as one cell.
  for (const delimiter of delimiters.filter((each) => each !== ',' || heading.includes(each))) {
    const columns = heading.split(delimiter).map((_, index) => `column${index}`);
    const types = columns.map((column) => `${column}: 'VARCHAR'`).join(', ');
    const fixed = `auto_detect = false, header = true, delim = ${literal(delimiter)}, columns = {${types}}`;
    await connection.run(`SELECT count(*) FROM read_csv(${source}, ${fixed})`);
  }
  return sniffed(connection, source, '');
}

async function sniffed(connection: DuckDBConnection, source: string, more: string) {
  const columns = 'list_transform("Columns", lambda c: c.name) AS columns';
  const sql = `SELECT "Delimiter", "HasHeader", ${columns} FROM sniff_csv(${source}${more})`;
  const [[delimiter, hasHeader, names] = []] = (await connection.runAndReadAll(sql)).getRowsJson();
  return {
    delimiter: typeof delimiter === 'string' ? delimiter : ',',
    hasHeader: hasHeader === true,
    columns: Array.isArray(names) ? names.map(String) : [],
  };
}

async function contentsOf(file: string): Promise<Contents> {
  const cannotBeRead = (error: unknown) =>
    badCsv(`${file} cannot be read (${textOf(error, 'code')}). Name another file with --csv.`);
  const found = await stat(file).catch((error: unknown) => {
    if (textOf(error, 'code') !== 'ENOENT') throw cannotBeRead(error);
  });
  if (!found) throw badCsv(`${file} does not exist. Name a CSV file: --csv NAME=FILE`);
  if (!found.isFile())
    throw badCsv(`${file} is ${found.isDirectory() ? 'a folder' : 'not a file'}. Name a CSV file.`);
  const bytes = await readFile(file).catch((error: unknown) => {
    throw cannotBeRead(error);
  });
  const first = bytes.toString('latin1', 0, HEAD_BYTES);
  const [kind, , encoding] = OTHERS.find(([, isKind]) => isKind(first)) ?? [];
  const next = encoding === undefined ? 'Open it, and save it as CSV in UTF-8' : converted(encoding, file);
  if (kind !== undefined) throw badCsv(`${file} is ${kind}, not CSV in UTF-8. ${next}`);
  if (bytes.includes(0))
    throw badCsv(`${file} contains the character NUL, so it is not text. Export it again as CSV.`);
  if (!isUtf8(bytes))
    throw badCsv(`${file} is not UTF-8, but probably Windows-1252. ${converted('WINDOWS-1252', file)}`);
  const head = bytes.toString('utf8', 0, HEAD_BYTES).replace(/^\ufeff/, '');
  if (head.trim() === '' && bytes.toString().trim() === '')
    throw badCsv(`${file} is empty. Name a CSV file with at least a header.`);
  const skip = head.split(LINE_END).findIndex((line) => !/^ *$/.test(line));
  const heading = head.replaceAll(QUOTED, '').split(LINE_END)[skip] ?? '';
  if (/^sep=/i.test(heading))
    throw badCsv(
      `Remove the first line, "${heading}": tail -n +2 ${shellWord(file)} > ${shellWord(`${file}.csv`)}`,
    );
  return { skip, heading, delimiters: DELIMITERS.filter((delimiter) => bytes.includes(delimiter)) };
}

function converted(encoding: string, file: string): string {
  return `Convert it: iconv -f ${encoding} -t UTF-8 ${shellWord(file)} > ${shellWord(`${file}.utf8.csv`)}`;
}

const begins =
  (...starts: readonly string[]) =>
  (head: string) =>
    starts.some((start) => head.startsWith(start));

/** What is no CSV in UTF-8, and the encoding that `iconv` can convert. */
const OTHERS: readonly (readonly [kind: string, isKind: (head: string) => boolean, encoding?: string])[] = [
  ['a workbook or a zip archive', begins('PK\x03\x04', '\xd0\xcf\x11\xe0')],
  ['compressed with gzip', begins('\x1f\x8b')],
  ['Parquet or a PDF', begins('PAR1', '%PDF')],
  ['UTF-16', begins('\xff\xfe', '\xfe\xff'), 'UTF-16'],
  ['UTF-16', (head) => head[1] === '\0' && head[3] === '\0', 'UTF-16LE'],
  ['UTF-16', (head) => head[0] === '\0' && head[2] === '\0', 'UTF-16BE'],
  ['JSON', (head) => /^(\xef\xbb\xbf)?\s*(\{\s*["}]|\[\s*[[{\]"\d-])/.test(head)],
  ['HTML or XML', (head) => /^(\xef\xbb\xbf)?\s*<[!?a-z]/i.test(head)],
];

/** DuckDB's message also has advice that is for its own users. */
function unreadable(file: string, thrown: unknown) {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const [, line] = /CSV Error on Line: (\d+)/.exec(message) ?? [];
  const [reason = ''] =
    /Expected Number of Columns: \d+ Found: \d+|unterminated quote|Maximum line size[^.\n]*/.exec(message) ??
    [];
  const where = line === undefined ? 'cannot be read as CSV' : `line ${line}, does not fit the other lines`;
  const [why = ''] = message.split(/\n| *"/, 1);
  const next = 'Correct it, or export it again with one kind of line end.';
  return badCsv(`${file}, ${where} (${reason || why}). ${next}`);
}

function badCsv(message: string) {
  return configError('bad_csv', message);
}
