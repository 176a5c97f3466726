import { fstatSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { InvalidArgumentError, Option } from 'commander';
import { textOf } from '../../shared/adapters/error-fields.ts';
import { closesTable } from '../../shared/catalog/closes-table.ts';
import { coverageTable } from '../../shared/catalog/coverage.ts';
import { BrandReportsError, configError } from '../../shared/base/errors.ts';
import { errorSummary } from '../../shared/base/outcome.ts';
import { reports } from '../../shared/reports/index.ts';
import { withDay } from '../../shared/reports/views/typed-day.ts';
import { beforeTable } from '../../shared/lake/paths.ts';
import type { CsvTable } from '../csv-tables.ts';
import { EXIT } from '../exit-codes.ts';
import { sqlLake, unknown } from '../run-options.ts';
import type { CliCommand, SharedFlags } from '../options.ts';
import { counted } from '../../shared/base/exact-number.ts';
import { note, printJson, printPieces } from '../output.ts';
import { printedCommand } from '../printed-command.ts';
import { writeRows } from '../query-file.ts';
import { TEXTS, query } from '../query-result.ts';
import { type SqlLake, createSqlConnection, viewsOfLake } from '../sql-tables.ts';
import { oneLine, printable } from '../terminal-text.ts';

interface QueryFlags extends SharedFlags {
  format?: keyof typeof TEXTS;
  output?: string;
  csv?: CsvTable[];
}

export function addQuery(program: CliCommand): void {
  program
    .command('query')
    .description('run SQL on the lake, as it is now or as it was')
    .argument('[sql]', 'e.g. "SELECT * FROM orders_daily"; - or no argument: standard input')
    .option('--csv <name=file>', 'a CSV file in UTF-8 as a table of texts (several times)', csvTable)
    .takes('lake', 'settings', 'asOf')
    .addOption(
      new Option('--format <format>', 'how the rows are printed (default: table)')
        .choices(Object.keys(TEXTS))
        .conflicts('json'),
    )
    .option('--json', 'print the rows as one JSON array of objects: --format json')
    .addOption(
      new Option('--output <file>', 'write the rows to a .csv, .json or .parquet file').conflicts([
        'format',
        'json',
      ]),
    )
    .example(
      [
        'query "SELECT publisher_id, currency, sum(orders), sum(commission) FROM publisher_performance GROUP BY publisher_id, currency"',
        'query --as-of 2026-01-31T06:00:00Z "SELECT status, count(*) FROM orders GROUP BY status"',
        'query --csv invoice=invoice.csv "SELECT * FROM invoice ANTI JOIN orders ON order_id = transid"',
        `query --output orders.csv "SELECT * FROM orders WHERE dt >= '2026-03-01'"`,
      ],
      relationsText(),
    )
    .action(async (argument: string | undefined, flags: QueryFlags) => {
      const sql = await readSql(argument);
      const lake = { ...(await sqlLake(flags)), asOf: flags.asOf, csvs: flags.csv };
      try {
        if (flags.output === undefined) await printRows(lake, sql, flags);
        else await saveRows(lake, sql, flags.output);
      } catch (thrown) {
        const error = withNames(thrown, flags.csv);
        if (!(error instanceof BrandReportsError) || !SQL_ERRORS.includes(error.code)) throw thrown;
        note(`error: ${error.message}`);
        if (flags.json) printJson({ status: 'failed', error: errorSummary(error) });
        process.exitCode = EXIT.failed;
      }
    });
}

/** Errors of the SQL, which `--json` prints without reports. Other errors have the form of every command. */
const SQL_ERRORS = ['sql', 'sql_refused', 'unknown_table'];

/** @returns the SQL of the argument or of standard input, where a file may begin with a byte order mark */
async function readSql(argument: string | undefined): Promise<string> {
  if (argument !== undefined && argument !== '-') return argument;
  if (argument === '-' || !process.stdin.isTTY) return (await text(process.stdin)).replace(/^\ufeff/, '');
  const next = `Give it as an argument, or on standard input: ${printedCommand('query', ['SHOW TABLES'])}`;
  throw configError('bad_source', `There is no SQL. ${next}`);
}

async function printRows(lake: SqlLake, sql: string, flags: QueryFlags): Promise<void> {
  const format = flags.json ? 'json' : (flags.format ?? 'table');
  const connection = await createSqlConnection(lake, sql);
  try {
    const result = await query(connection, sql);
    await printPieces(TEXTS[format](result), format === 'csv' ? csvOutput() : undefined);
    if (format === 'table') note(`(${counted(result.readRows, 'row')}${asOfText(lake)})`);
  } finally {
    connection.closeSync();
  }
}

/** A regular file gets exact CSV. A terminal may read any other output. Escapes keep the meaning of JSON, but not of CSV. */
export function csvOutput(): (text: string) => string {
  if (fstatSync(1).isFile()) return (exact) => exact;
  return (lines) => printable(lines.replaceAll('\r\n', '\n'));
}

async function saveRows(lake: SqlLake, sql: string, file: string): Promise<void> {
  const rows = await writeRows(lake, sql, file);
  note(oneLine(`(${counted(rows, 'row')} in ${file}${asOfText(lake)})`));
}

function asOfText({ asOf }: SqlLake): string {
  if (asOf === undefined) return '';
  return ` as of ${typeof asOf === 'string' ? `the close of ${asOf}` : new Date(asOf).toISOString()}`;
}

/** The tables in this DuckDB: only the tables that the SQL names were created. */
function withNames(thrown: unknown, csvs: readonly CsvTable[] = []): unknown {
  const [, name] =
    /^Catalog Error: Table with name (\S+) does not exist!/.exec(textOf(thrown, 'message')) ?? [];
  const names = [...tableNames(), ...csvs.map((csv) => csv.name)];
  if (name === undefined || names.includes(name.toLowerCase())) return thrown;
  return unknown('table', name, names);
}

function csvTable(text: string, before: CsvTable[] = []): CsvTable[] {
  const [, name = '', file = ''] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
  const isSame = (other: string) => other.toLowerCase() === name.toLowerCase();
  if ([...tableNames(), ...before.map((csv) => csv.name)].some(isSame))
    throw new InvalidArgumentError(`${name} is already a table. Choose another name.`);
  if (file !== '' && /^[a-z_]\w{0,62}$/i.test(name)) return [...before, { name, file }];
  throw new InvalidArgumentError(
    'Use NAME=FILE with a name of letters, digits and "_", e.g. invoice=invoice.csv.',
  );
}

type Described = readonly [name: string, description: string];

const all = Object.values(reports);
const BEFORE = all.map(({ table }) => beforeTable(table));
const TABLES: readonly Described[] = [
  ...all.map(({ table, description }) => [table, description] as const),
  ['…_before', 'Of each table above: what its records were before later readings changed them'],
  [coverageTable.name, 'One row per brand, report and day: its state, rows, and when it was read'],
  [closesTable.name, 'The days of closed months, and how many of their changes each close contains'],
];
const VIEWS = viewsOfLake(reports);

function tableNames(): string[] {
  return [...TABLES.map(([name]) => name), ...BEFORE, ...VIEWS.map(({ name }) => name)];
}

export function relationsText(): string {
  const views = VIEWS.map(withDay).map(({ name, description, columns }) => {
    const described = columns.map(([column, , meaning]) => [column, meaning] as const);
    return `  ${name}: ${description}\n${listed(described, '    ')}`;
  });
  return `Tables:
${listed(TABLES, '  ')}

Views and their columns:
${views.join('\n')}`;
}

function listed(lines: readonly Described[], indent: string): string {
  const width = Math.max(...lines.map(([name]) => name.length));
  return lines.map(([name, description]) => `${indent}${name.padEnd(width)}  ${description}`).join('\n');
}
