import { styleText } from 'node:util';
import type { Command } from 'commander';
import { openLake } from '../../shared/adapters/open-lake.ts';
import { monthOf } from '../../shared/days.ts';
import { BrandReportsError, asBrandReportsError } from '../../shared/errors.ts';
import type { Column } from '../../shared/lake/table/columns.ts';
import { Digest } from '../../shared/lake/table/digest.ts';
import {
  type CommittedDay,
  committedDays,
  committedSnapshotKey,
  readLedger,
  readLedgers,
  readSchema,
} from '../../shared/lake/documents/read.ts';
import { readWithParquetjs } from '../../shared/lake/table/parquetjs-reader.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import type { ReportDefinition } from '../../shared/reports/definition.ts';
import { reports } from '../../shared/reports/index.ts';
import { EXIT } from '../exit-codes.ts';
import { checkOrder, unknown } from '../run-options.ts';
import { fromOption, jsonOption, lakeOption, toOption } from '../options.ts';
import { count, counted, print, printJson } from '../output.ts';
import { showLine } from '../progress-line.ts';
import { table, terminalColumns } from '../text-table.ts';

interface VerifyFlags {
  brand?: string;
  lake: string;
  from?: string;
  to?: string;
  json?: boolean;
}

interface Mismatch {
  dt: string;
  snapshot: string;
  message: string;
}

interface VerifiedTable {
  brand: string;
  table: string;
  days: number;
  rows: number;
  mismatches: Mismatch[];
}

export function addVerify(program: Command): void {
  program
    .command('verify')
    .description(
      'read the current snapshots back with an independent reader and compare them with the ledger',
    )
    .argument('[table...]', 'e.g. orders (default: all)')
    .option('--brand <name>', 'only this brand')
    .addOption(fromOption('only the days from this one on'))
    .addOption(toOption('… up to this one'))
    .addOption(lakeOption())
    .addOption(jsonOption('print what was found as one JSON document'))
    .addHelpText(
      'after',
      '\nExample:\n  $ brand-reports verify orders transactions --from 2026-01-01 --to 2026-01-31',
    )
    .action(async (names: string[], flags: VerifyFlags) => {
      checkOrder(flags.from, flags.to);
      const wanted = names.map(tableNamed);
      const { store } = openLake(flags.lake);
      const tables = await verifyTables(store, (day) => isWanted(day, wanted, flags));
      const failed = tables.some(({ mismatches }) => mismatches.length > 0);
      const status = failed ? 'failed' : 'ok';
      if (flags.json) printJson({ status, tables });
      else print(verifyText(tables));
      process.exitCode = failed ? EXIT.failed : EXIT.complete;
    });
}

function tableNamed(name: string): string {
  const tables = Object.values(reports).map(({ table }) => table);
  if (tables.includes(name)) return name;
  throw unknown('table', name, tables, Object.hasOwn(reports, name) ? reports[name]?.table : undefined);
}

function isWanted(
  { brand, report, day }: CommittedDay,
  tables: readonly string[],
  flags: VerifyFlags,
): boolean {
  return (
    (flags.brand === undefined || brand === flags.brand) &&
    (tables.length === 0 || tables.includes(report.table)) &&
    day >= (flags.from ?? '') &&
    day <= (flags.to ?? '9')
  );
}

async function verifyTables(
  store: ObjectStore,
  wanted: (day: CommittedDay) => boolean,
): Promise<VerifiedTable[]> {
  const verified: VerifiedTable[] = [];
  for (const of of await readLedgers(store, reports)) {
    const found: VerifiedTable = {
      brand: of.brand,
      table: of.report.table,
      days: 0,
      rows: 0,
      mismatches: [],
    };
    for (const day of committedDays([of]).filter(wanted)) {
      showLine(`${of.brand} ${of.report.table} ${day.day} · ${counted(day.committed.rows, 'row')}`);
      found.days += 1;
      found.rows += day.committed.rows;
      const mismatch = await verifyDay(store, day);
      if (mismatch) found.mismatches.push(mismatch);
    }
    if (found.days > 0) verified.push(found);
  }
  showLine('');
  return verified;
}

/** What differs, if anything does; a snapshot that was replaced meanwhile is looked up again. */
async function verifyDay(store: ObjectStore, first: CommittedDay): Promise<Mismatch | undefined> {
  let current = first;
  for (;;) {
    const { columns } = await readSchema(store, current.report);
    const message = await compare(store, current, columns);
    if (message === undefined) return undefined;
    const { report, brand, day, committed } = current;
    const now = await publishedNow(store, report, brand, day);
    if (!now || now.snapshot === committed.snapshot)
      return { dt: day, snapshot: committed.snapshot, message };
    current = { ...current, committed: now };
  }
}

async function publishedNow(store: ObjectStore, report: ReportDefinition, brand: string, day: string) {
  return (await readLedger(store, report, brand, monthOf(day))).days[day]?.committed;
}

async function compare(
  store: ObjectStore,
  day: CommittedDay,
  columns: readonly Column[],
): Promise<string | undefined> {
  const { rows, digest: promised } = day.committed;
  const object = await store.get(committedSnapshotKey(day));
  if (!object) return 'the snapshot is missing';
  const digest = new Digest();
  try {
    for await (const row of readWithParquetjs(object.body, columns)) digest.add(row);
  } catch (thrown) {
    if (!(thrown instanceof BrandReportsError)) throw thrown;
    return asBrandReportsError(thrown).message;
  }
  if (digest.rows !== rows) return `${counted(digest.rows, 'row')}, but the ledger says ${count(rows)}`;
  return digest.value() === promised
    ? undefined
    : 'the values are not those that were written: the digest differs';
}

function verifyText(tables: readonly VerifiedTable[]): string {
  const heads = [
    { name: 'brand' },
    { name: 'table' },
    ...['days', 'rows', 'mismatches'].map((name) => ({ name, align: 'right' as const })),
  ];
  const lines = tables.map(({ brand, table: name, days, rows, mismatches }) => [
    brand,
    name,
    ...[days, rows, mismatches.length].map(count),
  ]);
  const bad = tables.flatMap(({ brand, table: name, mismatches }) =>
    mismatches.map(({ dt, message }) => `${styleText('red', `${brand} ${name} ${dt}`)}: ${message}`),
  );
  const days = tables.reduce((sum, each) => sum + each.days, 0);
  const verdict =
    bad.length === 0
      ? `${styleText('green', 'ok')}: ${counted(days, 'day')} as the ledger says`
      : `${styleText('red', 'failed')}: ${counted(bad.length, 'day')} of ${count(days)}. Read them again with sync --from DAY --to DAY.`;
  return [table(heads, lines, terminalColumns()), '', ...bad, verdict].join('\n');
}
