/*
 * Brings an export or an invoice into DuckDB as the table `theirs`, a row for each line: its order, day, state and exact
 * amounts. Which column is which follows from names and values, as for the fields of records, or from --map.
 */
import { type DuckDBConnection, DuckDBDataChunk, type Json, VARCHAR } from '@duckdb/node-api';
import { isJsonObject } from '../../shared/json.ts';
import { type Role, chooseRoles, evidenceOf, isPlainCurrency, roleOfName } from '../../shared/roles/index.ts';
import { identifier, literal } from '../sql-tables.ts';
import { badFile, csvLines, readCsvText } from './csv.ts';

/** What is compared; a file may have one of them. */
export const MEASURES = ['amount', 'commission'] as const;
export type Measure = (typeof MEASURES)[number];

/** The roles that a comparison uses. */
export const FILE_ROLES = [
  'order_id',
  'product',
  'created',
  'state',
  'line_state',
  'currency',
  'amount',
  'commission',
] as const satisfies readonly Role[];
export type FileRole = (typeof FILE_ROLES)[number];

/** Which of them a person has named. */
export type MappedColumns = Readonly<Partial<Record<FileRole, string>>>;

export interface TheirFile {
  /** Which of them the file has. */
  measures: Measure[];
  /** By role: the heading of its column. */
  columns: Readonly<Partial<Record<FileRole, string>>>;
  /** What was decided or left out, for people. */
  notes: string[];
}

/** A column: its heading, and the heading as a name of a field, without units. */
interface Column {
  heading: string;
  name: string;
  unit: string | undefined;
}

interface Head {
  delimiter: string;
  line: number;
  columns: Column[];
}

/** @throws BrandReportsError `config` for a line, a column or an amount that cannot be read; the message has its line */
export async function loadFile(
  connection: DuckDBConnection,
  file: string,
  mapped: MappedColumns,
): Promise<TheirFile> {
  const text = await readCsvText(file);
  const head = headOf(text, mapped);
  const notes: string[] = [];
  await appendLines(connection, text, head, notes);
  for (const macro of MACROS) await connection.run(macro);
  const chosen = await chooseColumns(connection, head, mapped);
  const columns = Object.fromEntries(
    [...chosen].map(([role, index]) => [role, head.columns[index]?.heading ?? '']),
  );
  const measures = MEASURES.filter((measure) => chosen.has(measure));
  if (!chosen.has('order_id') || measures.length === 0) {
    const missing = chosen.has('order_id') ? 'no amount and no commission' : 'no order id';
    const all = head.columns.map(({ heading }) => `"${heading}"`).join(', ');
    throw badFile(
      `${file} has ${missing}: its columns are ${all}. Name the column, for example --map ${chosen.has('order_id') ? 'commission' : 'order_id'}="${head.columns[0]?.heading}".`,
    );
  }
  const isComma = await hasDecimalComma(
    connection,
    head,
    measures.map((measure) => chosen.get(measure) ?? 0),
  );
  await connection.run(theirsSql(head, chosen, isComma));
  await leaveOutTotals(connection, measures, notes);
  return { columns, measures, notes };
}

const HEAD_LINES = 20;

/** The line with the most known names, by the delimiter that gives the most: titles may stand above it. */
function headOf(text: string, mapped: MappedColumns): Head {
  const isNamed = (heading: string) => Object.values(mapped).some((name) => isSame(heading, name));
  const heads = [',', ';', '\t', '|'].flatMap((delimiter) =>
    csvLines(text, delimiter)
      .take(HEAD_LINES)
      .toArray()
      .map(({ line, cells }) => {
        const columns = columnsOf(cells);
        const known = columns.filter(({ heading, name }) => roleOfName(name) || isNamed(heading)).length;
        return { delimiter, line, columns, known };
      }),
  );
  const [head] = heads.toSorted(
    (a, b) => b.known - a.known || b.columns.length - a.columns.length || a.line - b.line,
  );
  if (!head) throw badFile('The file is empty. Export it again.');
  return head;
}

/** `Comm. (USD)` is the name `Comm` with the unit USD. */
function columnsOf(headings: readonly string[]): Column[] {
  const names = new Set<string>();
  return headings.map((raw, index) => {
    const heading = raw.trim().replaceAll(/\s+/g, ' ') || `column ${index + 1}`;
    const words = heading.split(/[^\p{L}\p{N}_]+/u).filter((word) => word !== '');
    const unit = words.find(isPlainCurrency);
    const own = words.filter((word) => word !== unit).join(' ') || heading.replaceAll('.', ' ');
    const name = names.has(own) ? `${own} (${index + 1})` : own;
    names.add(name);
    return { heading, name, unit };
  });
}

function isSame(heading: string, name: string): boolean {
  return heading.toLowerCase() === name.trim().toLowerCase();
}

const CHUNK_LINES = 2_048;
const TOTAL = String.raw`^\W*(grand |sub)?(totals?|sum|summe|gesamt(summe)?|total general|totale|somme|suma)\b`;

async function appendLines(
  connection: DuckDBConnection,
  text: string,
  head: Head,
  notes: string[],
): Promise<void> {
  const width = head.columns.length;
  const types = Array.from({ length: width + 1 }, () => VARCHAR);
  await connection.run(
    `CREATE TEMP TABLE file_lines (${['line', ...head.columns.keys()].map((each) => `${cellName(each)} VARCHAR`).join(', ')})`,
  );
  const appender = await connection.createAppender('file_lines', 'main', 'temp');
  let rows: string[][] = [];
  const flush = () => {
    const chunk = DuckDBDataChunk.create(types);
    chunk.setRows(rows);
    appender.appendDataChunk(chunk);
    rows = [];
  };
  for (const { line, cells } of csvLines(text, head.delimiter)) {
    if (line <= head.line) continue;
    const more = cells.slice(width).some((cell) => cell !== '');
    if (cells.length < width || more) {
      if (!cells.some((cell) => new RegExp(TOTAL, 'i').test(cell)))
        throw badFile(
          `Line ${line} has ${cells.length} cells, but the head in line ${head.line} has ${width}: "${cells.join(head.delimiter).slice(0, 80)}". Correct the line, or export the file again.`,
        );
      notes.push(leftOut(line));
    } else rows.push([String(line), ...cells.slice(0, width)]);
    if (rows.length === CHUNK_LINES) flush();
  }
  if (rows.length > 0) flush();
  appender.closeSync();
}

function cellName(index: number | string): string {
  return typeof index === 'string' ? index : `c${index}`;
}

/** `bare`: without spaces and signs of currencies. `number_text`: `(1.234,50 €)` as -1234.50; NULL if it is no amount. */
const MACROS = [
  String.raw`CREATE TEMP MACRO clean(t) AS NULLIF(regexp_replace(regexp_replace(t, '^[\s\x{a0}\x{feff}]+|[\s\x{a0}]+$', '', 'g'), '^(?:="(.*)"|''(.*))$', '\1\2', 's'), '')`,
  String.raw`CREATE TEMP MACRO bare(t) AS NULLIF(regexp_replace(clean(t), '[\s\x{a0}\x{202f}\x{2009}''’\p{Sc}]', '', 'g'), '')`,
  String.raw`CREATE TEMP MACRO digits(t) AS CASE WHEN regexp_full_match(bare(t), '[-+−(]*([A-Za-z]{1,3}\.?)?[-+−(]*[0-9.,]*[0-9][0-9.,]*([A-Za-z]{1,3}\.?)?[-−)]*') THEN regexp_replace(bare(t), '[^0-9.,]', '', 'g') END`,
  String.raw`CREATE TEMP MACRO pointed(d) AS CASE WHEN regexp_full_match(d, '(\d{1,3}(,\d{2,3})*,\d{3}|\d{0,29})(\.\d*)?') THEN replace(d, ',', '') END`,
  String.raw`CREATE TEMP MACRO number_text(t, is_comma) AS CASE WHEN regexp_matches(bare(t), '[-−(]') THEN '-' ELSE '' END || pointed(CASE WHEN is_comma THEN translate(digits(t), '.,', ',.') ELSE digits(t) END)`,
  String.raw`CREATE TEMP MACRO is_empty(t) AS COALESCE(regexp_full_match(bare(t), '[-–—−]+'), true)`,
];

const EVIDENCE_LINES = 1_000;

/** @returns by role: the index of its column */
async function chooseColumns(
  connection: DuckDBConnection,
  { columns }: Head,
  mapped: MappedColumns,
): Promise<Map<FileRole, number>> {
  const cells = columns.map(({ name }, index) => {
    const cell = cellName(index);
    return `COALESCE(number_text(${cell}, false), number_text(${cell}, true), clean(${cell})) AS ${identifier(name)}`;
  });
  const sample = await connection.runAndReadAll(
    `SELECT ${cells.join(', ')} FROM file_lines LIMIT ${EVIDENCE_LINES}`,
  );
  const fields = Object.fromEntries(
    Object.entries(mapped).map(([role, name]) => {
      const found = columns.find(({ heading }) => isSame(heading, name));
      if (found) return [role, found.name];
      throw badFile(
        `--map ${role}="${name}" names no column of the file. Its columns are: ${columns.map(({ heading }) => `"${heading}"`).join(', ')}.`,
      );
    }),
  );
  const choices = chooseRoles(
    { name: 'file' },
    { fields, evidence: evidenceOf(sample.getRowObjectsJson().filter(isJsonObject)) },
  );
  return new Map(
    choices.flatMap(({ role, field, candidates: [first, second] }): [FileRole, number][] => {
      const own = FILE_ROLES.find((each) => each === role);
      // A person sees the choice before it counts, so a likely name is enough if there is one alone. A text is no currency.
      const likely = second === undefined && own !== 'currency' ? first?.path : undefined;
      const index = columns.findIndex(({ name }) => name === (field ?? likely));
      return own === undefined || index === -1 ? [] : [[own, index]];
    }),
  );
}

/** Whether amounts are such as 1.234,50. If all of them could be either, files with semicolons have commas. */
async function hasDecimalComma(
  connection: DuckDBConnection,
  head: Head,
  indexes: readonly number[],
): Promise<boolean> {
  const wrong = (isComma: boolean) =>
    indexes
      .map(
        (index) =>
          `SELECT line::INTEGER AS line, ${cellName(index)} AS cell, ${index} AS place FROM file_lines WHERE NOT is_empty(${cellName(index)}) AND number_text(${cellName(index)}, ${isComma}) IS NULL`,
      )
      .join(' UNION ALL ');
  const first = async (isComma: boolean) =>
    (
      await rowsOf(
        connection,
        `SELECT count(*) OVER (), line, cell, place FROM (${wrong(isComma)}) ORDER BY line LIMIT 1`,
      )
    )[0];
  const [withPoint, withComma] = [await first(false), await first(true)];
  if (!withPoint && !withComma) return head.delimiter === ';';
  if (!withPoint || !withComma) return withPoint !== undefined;
  const [, line, cell, place] = Number(withPoint[0]) <= Number(withComma[0]) ? withPoint : withComma;
  throw badFile(
    `Line ${line}: "${cell}" in the column "${head.columns[Number(place)]?.heading}" is no amount. Correct it, or name another column with --map.`,
  );
}

/** The words of dashboards for orders that do not count. */
const VOID_WORDS = ['void', 'voided', 'cancelled', 'canceled', 'declined', 'rejected', 'reversed'];

/** A row for each line. `…_unit`: one unit of the last place that the amount shows. */
function theirsSql(head: Head, chosen: ReadonlyMap<FileRole, number>, isComma: boolean): string {
  const cell = (role: FileRole) => {
    const index = chosen.get(role);
    return index === undefined ? 'NULL::VARCHAR' : cellName(index);
  };
  const texts = MEASURES.map((measure) => `number_text(${cell(measure)}, ${isComma}) AS ${measure}_text`);
  // If no amount ends with a zero, the file leaves zeros out, and 12.5 is as exact as its neighbour 12.34.
  const money = MEASURES.map((measure) => {
    const places = `length(split_part(${measure}_text, '.', 2))`;
    const shown = `CASE WHEN bool_or(${measure}_text LIKE '%.%0') OVER () THEN ${places} ELSE max(${places}) OVER () END`;
    return `COALESCE(CAST(${measure}_text AS decimal(38,9)), 0) AS ${measure}, CAST(power(10, -LEAST(COALESCE(${shown}, 0), 9)) AS decimal(38,9)) AS ${measure}_unit`;
  });
  const unit = MEASURES.toReversed()
    .map((measure) => head.columns[chosen.get(measure) ?? -1]?.unit)
    .find((each) => each !== undefined);
  const signs = MEASURES.toReversed().map(
    (measure) =>
      `CASE WHEN contains(${cell(measure)}, '€') THEN 'EUR' WHEN contains(${cell(measure)}, '£') THEN 'GBP' END`,
  );
  const state = `lower(COALESCE(clean(${cell('line_state')}), clean(${cell('state')})))`;
  return `CREATE TEMP TABLE theirs AS SELECT line::INTEGER AS line, clean(${cell('order_id')}) AS id, clean(${cell('product')}) AS product,
    clean(${cell('created')}) AS created, COALESCE(upper(clean(${cell('currency')})), ${signs.join(', ')}, ${literal(unit ?? null)}) AS currency,
    COALESCE(${state} IN (${VOID_WORDS.map((word) => literal(word)).join(', ')}), false) AS is_void,
    regexp_matches(concat_ws(chr(10), ${head.columns.map((_, index) => cellName(index)).join(', ')}), ${literal(`(?im)${TOTAL}`)}) AS is_labelled, ${money.join(', ')}
    FROM (SELECT *, ${texts.join(', ')} FROM file_lines)`;
}

/** A total has no order; it has a label, or it is the sum of all other lines and the last one. */
async function leaveOutTotals(
  connection: DuckDBConnection,
  measures: readonly string[],
  notes: string[],
): Promise<void> {
  const isSum = measures
    .map(
      (measure) =>
        `abs((SELECT sum(${measure}) FROM theirs) - 2 * ${measure}) < (SELECT sum(${measure}_unit) FROM theirs)`,
    )
    .join(' AND ');
  const isTotal = `is_labelled AND (id IS NULL OR regexp_matches(id, ${literal(`(?i)${TOTAL}`)})) OR id IS NULL AND line = (SELECT max(line) FROM theirs) AND ${isSum}`;
  const totals = await rowsOf(connection, `DELETE FROM theirs WHERE ${isTotal} RETURNING line`);
  notes.push(...totals.map(([line]) => leftOut(Number(line))));
  const rounded = String.raw`SELECT line, id FROM theirs WHERE regexp_full_match(id, '\d[.,]\d+E\+\d+') ORDER BY line LIMIT 1`;
  for (const [line, id] of await rowsOf(connection, rounded))
    throw badFile(
      `Line ${line}: a spreadsheet has rounded the order id to ${id}. Export the file again, and do not save it with the spreadsheet.`,
    );
}

function leftOut(line: number): string {
  return `line ${line} is a total, and left out`;
}

/** The rows of SQL of our own. */
export async function rowsOf(connection: DuckDBConnection, sql: string): Promise<Json[][]> {
  return (await connection.runAndReadAll(sql)).getRowsJson();
}
