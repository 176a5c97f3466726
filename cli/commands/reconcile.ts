/**
 * Compares an export or an invoice with the lake, or its reports with each other, order by order: the sums of both sides,
 * the differences by cause, and the orders that differ. It writes no file but `--output`.
 */
import { dirname } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { InvalidArgumentError, Option } from 'commander';
import { daysOfMonth } from '../../shared/days.ts';
import { configError } from '../../shared/errors.ts';
import { type ReportLedgers, daysOfLedgers } from '../../shared/lake/documents/read.ts';
import { closedTable } from '../../shared/lake/paths.ts';
import type { Settings } from '../../shared/settings/settings.ts';
import { EXIT } from '../exit-codes.ts';
import { type CliCommand, type SharedFlags, month } from '../options.ts';
import { count, counted, note, print, printJson, printPieces } from '../output.ts';
import { fileFormat, writeRows, writeWhole } from '../query-file.ts';
import { TEXTS } from '../query-formats.ts';
import { query, resultObjects } from '../query-result.ts';
import { FILE_ROLES, type FileColumns, MEASURES, loadFile } from '../reconcile/file.ts';
import { printedCommand } from '../printed-command.ts';
import { CAUSES_SQL, compare, rowsOf, sumsSql } from '../reconcile/match.ts';
import { REPORT_RELATIONS, compareReports } from '../reconcile/reports.ts';
import { sqlLake, unknown } from '../run-options.ts';
import { createSqlConnection } from '../sql-tables.ts';
import { oneLine, styleText } from '../terminal-text.ts';

interface ReconcileFlags extends SharedFlags {
  month?: string;
  publisher?: string;
  against: keyof typeof TABLES;
  map?: FileColumns;
  output?: string;
}

const TABLES = { orders: 'order_states', transactions: 'transaction_states' } as const;

export function addReconcile(program: CliCommand): void {
  program
    .command('reconcile')
    .description('compare an export or an invoice with the lake')
    .argument('[file]', 'a CSV file; missing: compare orders, transactions and attribution')
    .option('--month <month>', 'the month, YYYY-MM (default: the days of the file)', month)
    .option('--brand <name>', 'the brand, if the lake has several')
    .option('--publisher <id>', 'only records of this publisher, for the invoice of one')
    .addOption(
      new Option('--against <table>', 'what the file is compared with')
        .choices(Object.keys(TABLES))
        .default('orders'),
    )
    .option('--map <role=column>', `a column, e.g. commission=Comm; roles: ${FILE_ROLES.join(', ')}`, mapped)
    .takes('asOfClose')
    .option('--output <file>', 'write every difference to a file, e.g. differences.xlsx')
    .takes('lake', 'settings', 'environment')
    .option('--json', 'print sums, causes and every difference as one JSON document')
    .example(
      ['reconcile invoice.csv --month 2026-10 --map commission=Comm', 'reconcile --month 2026-10'],
      'Exit code 0: everything agrees, or the lake proves the cause of each difference; 1: something is not explained.',
    )
    .action(async (file: string | undefined, flags: ReconcileFlags) => {
      const sources = await sqlLake(flags);
      const { output, asOfClose } = flags;
      const ending = output === undefined ? undefined : fileFormat(output, undefined);
      const relations = file === undefined ? REPORT_RELATIONS : relationsOf(flags);
      const run = async (path?: string) => {
        const ledgers: ReportLedgers[] = [];
        const lake = {
          ...sources,
          asOfClose,
          ...(path !== undefined && { outputFolder: dirname(path) }),
          onLedgers: (all: readonly ReportLedgers[]) => void ledgers.push(...all),
        };
        const connection = await createSqlConnection(
          lake,
          relations.map((name) => `FROM ${name}`).join('; '),
        );
        try {
          await reconcile(connection, file, flags, brandOf(ledgers, flags.brand, sources.settings));
          if (ending && path !== undefined) await writeRows(connection, DIFFERENCES, ending, path);
        } finally {
          connection.closeSync();
        }
      };
      await (output === undefined ? run() : writeWhole(output, sources.store.localFolder, run));
    });
}

/** `commission=Comm`, once for each role. */
function mapped(text: string, before: FileColumns = {}): FileColumns {
  const [, name = '', column = ''] = /^(\w+)=(.+)$/s.exec(text) ?? [];
  const role = FILE_ROLES.find((each) => each === name);
  if (role) return { ...before, [role]: column };
  throw new InvalidArgumentError(`Use role=column, e.g. commission=Comm. Roles: ${FILE_ROLES.join(', ')}.`);
}

/** The table that a file is compared with, and the table of closed months. */
function relationsOf({ against, asOfClose }: ReconcileFlags): string[] {
  return asOfClose === undefined ? [TABLES[against], closedTable(TABLES[against])] : [TABLES[against]];
}

/** Compares, prints the result and decides the exit code. */
async function reconcile(
  connection: DuckDBConnection,
  file: string | undefined,
  flags: ReconcileFlags,
  { brand, timeZone }: ReturnType<typeof brandOf>,
): Promise<void> {
  const { against, publisher, asOfClose, json } = flags;
  const loaded = file === undefined ? undefined : await loadFile(connection, file, flags.map ?? {});
  const columns = loaded?.columns ?? { commission: 'commission' };
  const chosen = Object.entries(columns).map(([role, heading]) => `${role} = ${heading}`);
  for (const line of loaded ? [chosen.join(', '), ...loaded.notes] : []) note(oneLine(line));
  const { month: of = asOfClose } = flags;
  const days = of === undefined ? [] : daysOfMonth(of);
  const [table = '', closed] = loaded ? relationsOf(flags) : REPORT_RELATIONS.slice(0, 1);
  const measures = MEASURES.filter((measure) => columns[measure] !== undefined);
  const comparison = { table, closed, brand, publisher, from: days[0], to: days.at(-1), measures, timeZone };
  const { from, to, notes } = await (loaded ? compare : compareReports)(connection, comparison);
  const what = loaded ? `the file with ${against}` : 'transactions with orders';
  for (const line of [`compared: ${what} of ${brand}, ${from} to ${to}`, ...notes]) note(oneLine(line));

  const sums = sumsSql(measures, loaded ? ['file', 'lake'] : ['transactions', 'orders']);
  const counts = 'SELECT count(*), count(*) FILTER (NOT explained) FROM differences';
  const [[all = 0, open = 0] = []] = (await rowsOf(connection, counts)).map((row) => row.map(Number));
  if (all === 0 && (await rowsOf(connection, sums)).length === 0) throw nothingToCompare(from, to);
  process.exitCode = open > 0 ? EXIT.failed : EXIT.complete;
  if (json) {
    const rows = async (sql: string) => Array.fromAsync(resultObjects(await query(connection, sql)));
    const status = open > 0 ? 'differs' : all > 0 ? 'explained' : 'agrees';
    const totals = { sums: await rows(sums), causes: await rows(CAUSES_SQL) };
    const byDay = loaded ? {} : { days: await rows('FROM days') };
    const differences = await rows(DIFFERENCES);
    return printJson({ status, brand, from, to, columns, notes, ...totals, ...byDay, differences });
  }
  const details = [CAUSES_SQL, ...(loaded ? [] : [`FROM days LIMIT ${MAX_ROWS}`]), SOME_DIFFERENCES];
  for (const sql of [sums, ...(all > 0 ? details : [])]) {
    await printPieces(TEXTS.table(await query(connection, sql)));
    print('');
  }
  print(verdict(all, open));
}

/** @throws BrandReportsError `config` if the lake lacks the brand, or has several brands and no flag names one */
function brandOf(all: readonly ReportLedgers[], named: string | undefined, settings: Settings | undefined) {
  const brands = [...new Set(all.map(({ brand }) => brand))];
  const brand = named ?? brands[0] ?? '';
  if (named !== undefined && !brands.includes(named)) throw unknown('brand', named, brands);
  if (named === undefined && brands.length > 1)
    throw configError(
      'several_brands',
      `The lake has several brands: ${brands.join(', ')}. Name one, for example --brand ${brand}.`,
    );
  const days = daysOfLedgers(all.filter((each) => each.brand === brand));
  const zones = days.flatMap(({ entry }) => entry.committed?.timeZone ?? []);
  return { brand, timeZone: settings?.brands[brand]?.timeZone ?? zones.at(-1) ?? 'UTC' };
}

/** Two empty sides are an error: the month may be mistyped, or its days were not read. */
function nothingToCompare(from: string | undefined, to: string | undefined) {
  const message = `There is nothing to compare from ${from} to ${to}: neither side has a record. To see which days were read: ${printedCommand('status')}`;
  return configError('nothing_to_compare', message);
}

function verdict(all: number, open: number): string {
  if (all === 0) return styleText('green', 'Everything agrees.');
  if (open === 0) return styleText('green', `The lake explains each of ${counted(all, 'difference')}.`);
  const more = all > MAX_ROWS ? ' --output FILE.csv writes all of them.' : '';
  return `${styleText('red', `${counted(open, 'difference')} of ${count(all)} not explained.`)}${more}`;
}

const MAX_ROWS = 20;
const DIFFERENCES = 'SELECT * EXCLUDE (place) FROM differences ORDER BY explained, cause, place';
/** The largest of each cause. */
const SOME_DIFFERENCES = DIFFERENCES.replace('ORDER', `WHERE place <= ${MAX_ROWS} ORDER`);
