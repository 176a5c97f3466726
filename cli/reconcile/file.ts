/*
 * Loads an export or an invoice into DuckDB as the table `theirs`, a row for each line: its order, day, state and exact
 * amounts. Names and values decide the role of each column, as for the fields of records, unless --map names it.
 */
import { type DuckDBConnection, DuckDBDataChunk, VARCHAR } from '@duckdb/node-api';
import { type Role, chooseRoles, evidenceOf, isPlainCurrency, roleOfName } from '../../shared/roles/index.ts';
import { counted } from '../output.ts';
import { type CsvLine, badFile, csvLines, readCsvText } from './csv.ts';

/** The amounts to compare; a file may have only one of them. */
export const MEASURES = ['amount', 'commission'] as const;
export type Measure = (typeof MEASURES)[number];

const TEXTS = ['order_id', 'product', 'created', 'state', 'line_state', 'currency'] as const;
/** The roles that a comparison uses. */
export const FILE_ROLES = [...TEXTS, ...MEASURES] as const satisfies readonly Role[];
export type FileRole = (typeof FILE_ROLES)[number];

/** The heading of the column of each role. */
export type FileColumns = Readonly<Partial<Record<FileRole, string>>>;

interface Column {
  heading: string;
  /** The heading as the name of a field: `Comm` for `Comm. (USD)`. */
  name: string;
  /** `USD` */
  unit: string | undefined;
}

interface Head {
  delimiter: string;
  line: number;
  columns: Column[];
}

/**
 * @param mapped the columns that --map names
 * @returns the columns, and notes on lines that were left out
 * @throws BrandReportsError `config` for a line, a column or an amount that cannot be read
 */
export async function loadFile(connection: DuckDBConnection, file: string, mapped: FileColumns) {
  const text = await readCsvText(file);
  const head = headOf(text, mapped);
  const below = csvLines(text, head.delimiter).filter(({ line }) => line > head.line);
  const lines = [...below.map(({ line, cells }) => ({ line, cells: cells.map(cleaned) }))];
  if (lines.length === 0)
    throw badFile(`${file} has no line below its head in line ${head.line}. Export it again.`);
  const chosen = chooseColumns(head, lines, mapped);
  const idAt = chosen.get('order_id') ?? -1;
  const { true: totals = [], false: orders = [] } = Object.groupBy(lines, (line) =>
    isTotal(line, idAt) ? 'true' : 'false',
  );
  const uneven = orders.find(({ cells }) => !isEven(cells, head));
  if (uneven)
    throw badFile(
      `Line ${uneven.line} has ${counted(uneven.cells.length, 'cell')}, but the head in line ${head.line} has ${head.columns.length}. Correct the line, or export the file again.`,
    );
  const rows = rowsOfLines(head, orders, chosen);
  const last = rows.at(-1);
  if (last && last.id === '' && MEASURES.every((measure) => isSum(rows, measure))) {
    totals.push({ line: Number(last.line), cells: [] });
    rows.pop();
  }
  await append(connection, rows);
  const used = new Set(chosen.values());
  const unused = head.columns.filter((_, at) => !used.has(at)).map(({ heading }) => heading);
  return {
    columns: Object.fromEntries([...chosen].map(([role, at]) => [role, head.columns[at]?.heading ?? ''])),
    notes: [
      ...(unused.length > 0 ? [`not used: ${unused.join(', ').slice(0, 500)}`] : []),
      ...totals.map(({ line }) => `line ${line} is a total and is left out`),
    ],
  };
}

/** A cell without the marks that a spreadsheet puts around text: `="0012"`, `'0012`. */
function cleaned(cell: string): string {
  return cell
    .trim()
    .replace(/^="(.*)"$|^'(.*)$/s, '$1$2')
    .trim();
}

const HEAD_LINES = 20;

/** The line with the most known names, with the delimiter that finds the most. Titles may be above it. */
function headOf(text: string, mapped: FileColumns): Head {
  const named = Object.values(mapped);
  const heads = [',', ';', '\t', '|'].flatMap((delimiter) =>
    [...csvLines(text, delimiter).take(HEAD_LINES)].map(({ line, cells }) => {
      const columns = columnsOf(cells.map(cleaned));
      const known = columns.filter(
        (each) => roleOfName(each.name) ?? named.some((name) => isNamed(each, name)),
      );
      return { delimiter, line, columns, rank: known.length + columns.length / 1e6 };
    }),
  );
  const [head] = heads.toSorted((a, b) => b.rank - a.rank);
  if (!head) throw badFile('The file is empty. Export it again.');
  return head;
}

function columnsOf(headings: readonly string[]): Column[] {
  return headings.map((heading, index) => {
    const words = heading.split(/[^\p{L}\p{N}_]+/u).filter((word) => word !== '');
    const unit = words.find(isPlainCurrency);
    const name = words.filter((word) => word !== unit).join(' ');
    const isFirst = headings.indexOf(heading) === index && name !== '';
    return { heading: heading || `column ${index + 1}`, name: isFirst ? name : `column ${index + 1}`, unit };
  });
}

function isNamed({ heading }: Column, name: string): boolean {
  return heading.toLowerCase() === name.trim().toLowerCase();
}

const EVIDENCE_LINES = 1_000;

/** The index of the column of each role. */
function chooseColumns(
  { columns }: Head,
  lines: readonly CsvLine[],
  mapped: FileColumns,
): Map<FileRole, number> {
  const all = columns
    .map(({ heading }) => `"${heading}"`)
    .join(', ')
    .slice(0, 500);
  const records = lines
    .slice(0, EVIDENCE_LINES)
    .map(({ cells }) =>
      Object.fromEntries(columns.map(({ name }, at) => [name, amountOf(cells[at]) ?? cells[at] ?? ''])),
    );
  const fields = Object.entries(mapped).map(([role, name]) => {
    const found = columns.find((column) => isNamed(column, name));
    if (found) return [role, found.name];
    throw badFile(`--map ${role}=${name} names no column of the file. It has ${all}.`);
  });
  // A single cell that is not an amount is an error with its line; it does not exclude the column.
  const evidence = evidenceOf(records).map((each) =>
    each.numeric < 0.9 * each.filled ? each : { ...each, numeric: each.filled },
  );
  const choices = chooseRoles({ name: 'file' }, { fields: Object.fromEntries(fields), evidence });
  const chosen = choices.flatMap(({ role, field, candidates: [first, second] }): [FileRole, number][] => {
    const own = FILE_ROLES.find((each) => each === role);
    // The output shows the choice, so one likely name is enough if it is the only one. A column of texts is never a currency.
    const likely = second === undefined && own !== 'currency' ? first?.path : undefined;
    const at = columns.findIndex(({ name }) => name === (field ?? likely));
    return own === undefined || at === -1 ? [] : [[own, at]];
  });
  const roles = new Map(chosen);
  const hasAmount = MEASURES.some((each) => roles.has(each));
  const missing = !roles.has('order_id') ? 'order_id' : hasAmount ? '' : 'commission';
  if (missing === '') return roles;
  const why = choices.find(({ role }) => role === missing)?.evidence;
  throw badFile(
    `No column of the file is its ${missing}: ${why}. It has ${all}. Name the column: --map ${missing}=…`,
  );
}

const TOTAL = /^\W*(grand |sub)?(totals?|sum|summe|gesamt(summe)?|totale|somme|suma)\b/i;

/** Whether a line has the label of a total, and no order. */
function isTotal({ cells }: CsvLine, idAt: number): boolean {
  const id = cells[idAt] ?? '';
  return (id === '' || TOTAL.test(id)) && cells.some((cell) => TOTAL.test(cell));
}

function isEven(cells: readonly string[], { columns }: Head): boolean {
  return cells.length >= columns.length && cells.slice(columns.length).every((cell) => cell === '');
}

type FileRow = ReturnType<typeof rowsOfLines>[number];

/** Whether the last line is the sum of the others, within the decimal places shown. */
function isSum(rows: readonly FileRow[], measure: Measure): boolean {
  const sum = rows.reduce((all, row) => all + Number(row[measure]), 0);
  const units = rows.reduce((all, row) => all + Number(row[`${measure}_unit`]), 0);
  return Math.abs(sum - 2 * Number(rows.at(-1)?.[measure])) < units;
}

/** Words that dashboards use for orders that do not count. */
const VOID_WORDS = /^(void|voided|cancell?ed|declined|rejected|reversed)$/i;

/** The columns of `theirs`, as text. `…_unit`: one unit of the last decimal place of the amount. */
function rowsOfLines(head: Head, lines: readonly CsvLine[], chosen: ReadonlyMap<FileRole, number>) {
  const at = { amount: chosen.get('amount') ?? -1, commission: chosen.get('commission') ?? -1 };
  const isComma = hasDecimalComma(head, lines, Object.values(at));
  const amount = amountsOf(lines, at.amount, isComma);
  const commission = amountsOf(lines, at.commission, isComma);
  const unit = head.columns[at.commission]?.unit ?? head.columns[at.amount]?.unit ?? '';
  return lines.map(({ line, cells }, index) => {
    const cell = (role: FileRole) => cells[chosen.get(role) ?? -1] ?? '';
    const id = cell('order_id');
    if (/^\d[.,]\d+E\+\d+$/i.test(id))
      throw badFile(
        `Line ${line}: a spreadsheet has rounded the order id to ${id}. Export the file again, and do not save it with the spreadsheet.`,
      );
    const signs = cell('commission') + cell('amount');
    const sign = signs.includes('€') ? 'EUR' : signs.includes('£') ? 'GBP' : undefined;
    return {
      ...{ line: String(line), id, product: cell('product'), created: cell('created') },
      currency: cell('currency').toUpperCase() || (sign ?? unit),
      is_void: String(VOID_WORDS.test(cell('line_state') || cell('state'))),
      ...{ amount: amount[index]?.number ?? '0', amount_unit: amount[index]?.unit ?? '1' },
      ...{ commission: commission[index]?.number ?? '0', commission_unit: commission[index]?.unit ?? '1' },
    };
  });
}

const NOTHING = /^[-–—−]*$/;

/** Whether amounts look like 1.234,50. If no amount decides, files with semicolons use commas. */
function hasDecimalComma(
  { columns, delimiter }: Head,
  lines: readonly CsvLine[],
  places: readonly number[],
): boolean {
  const wrongIf = (isComma: boolean) =>
    places.flatMap((at) =>
      lines
        .filter(({ cells }) => !NOTHING.test(cells[at] ?? '') && amountOf(cells[at], isComma) === undefined)
        .map(({ line, cells }) => ({ line, cell: cells[at], heading: columns[at]?.heading })),
    );
  const [point, comma] = [wrongIf(false), wrongIf(true)];
  const isComma = comma.length < point.length || (comma.length === point.length && delimiter === ';');
  const [wrong] = isComma ? comma : point;
  if (wrong === undefined) return isComma;
  throw badFile(
    `Line ${wrong.line}: "${wrong.cell}" in the column "${wrong.heading}" is not an amount. Correct it, or name another column with --map.`,
  );
}

/** The numbers of a column, each with one unit of its last decimal place. */
function amountsOf(lines: readonly CsvLine[], at: number, isComma: boolean) {
  const numbers = lines.map(({ cells }) => amountOf(cells[at], isComma) ?? '0');
  const places = numbers.map((number) => Math.min(9, number.split('.')[1]?.length ?? 0));
  // If no amount ends with a zero, the file omits trailing zeros, and 12.5 is as exact as 12.34.
  const hasZeros = numbers.some((number) => /\.\d*0$/.test(number));
  const least = hasZeros ? 0 : places.reduce((most, each) => Math.max(most, each), 0);
  return numbers.map((number, index) => ({
    number,
    unit: (10 ** -Math.max(least, places[index] ?? 0)).toFixed(9),
  }));
}

/** Longer cells are not amounts. */
const MAX_UNITS = 60;

/** `(1.234,50 €)` as `-1234.50`; `undefined` if it is not an amount. Without `isComma` either sign may separate decimals. */
export function amountOf(cell = '', isComma?: boolean): string | undefined {
  if (isComma === undefined) return amountOf(cell, false) ?? amountOf(cell, true);
  const bare = cell.length > MAX_UNITS ? '' : cell.replaceAll(/[\s'’\p{Sc}]/gu, '');
  const [, digits = ''] =
    /^[-+−(]*(?:[a-z]{1,3}\.?)?[-+−(]*([\d.,]*\d[\d.,]*)(?:[a-z]{1,3}\.?)?[-−)]*$/i.exec(bare) ?? [];
  const pointed = isComma ? digits.replaceAll(/[.,]/g, (sign) => (sign === '.' ? ',' : '.')) : digits;
  if (!/^(?=.*\d)(\d{1,3}(,\d{2,3})*,\d{3}|\d{0,29})(\.\d*)?$/.test(pointed)) return undefined;
  return (/[-−(]/.test(bare) ? '-' : '') + pointed.replaceAll(',', '');
}

const CHUNK_ROWS = 2_048;

const MONEY = 'decimal(38,9)';
/** In the order of `rowsOfLines`. */
const THEIRS: Readonly<Record<keyof FileRow, string>> = {
  ...{ line: 'integer', id: 'varchar', product: 'varchar', created: 'varchar', currency: 'varchar' },
  ...{ is_void: 'boolean', amount: MONEY, amount_unit: MONEY, commission: MONEY, commission_unit: MONEY },
};

/** DuckDB casts the texts; empty texts become NULL. */
async function append(connection: DuckDBConnection, rows: readonly FileRow[]): Promise<void> {
  const columns = Object.entries(THEIRS).map((column) => column.join(' '));
  await connection.run(`CREATE TEMP TABLE theirs (${columns.join(', ')})`);
  const appender = await connection.createAppender('theirs', 'main', 'temp');
  for (let from = 0; from < rows.length; from += CHUNK_ROWS) {
    const chunk = DuckDBDataChunk.create(columns.map(() => VARCHAR));
    const part = rows.slice(from, from + CHUNK_ROWS);
    chunk.setRows(part.map((row) => Object.values(row).map((text) => text || null)));
    appender.appendDataChunk(chunk);
  }
  appender.closeSync();
}
