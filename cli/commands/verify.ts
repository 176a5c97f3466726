/**
 * Checks that the lake has what its ledgers state: every current snapshot, and the changes of its day, are read back with
 * parquetjs-lite, a reader that shares no code with the writer, and compared with the row count and the digest of the
 * ledger. A run may publish meanwhile: a day that differs is looked up in the ledger again, and counts as a mismatch only
 * if its snapshot is still the current one. Of older versions, whose digests nobody keeps, it checks that each is there
 * and ends like a Parquet file: to read all of them would take many times as long.
 */
import { isDeepStrictEqual, styleText } from 'node:util';
import type { Command } from 'commander';
import type { Column } from '../../shared/column-types.ts';
import { openLake } from '../../shared/adapters/open-lake.ts';
import { mapConcurrent } from '../../shared/concurrency.ts';
import { type MonthSpan, monthOf } from '../../shared/days.ts';
import { BrandReportsError, asBrandReportsError } from '../../shared/errors.ts';
import { brandPartitions, partitionPrefix } from '../../shared/lake/paths.ts';
import type { Row } from '../../shared/lake/table/columns.ts';
import { Digest } from '../../shared/lake/table/digest.ts';
import {
  type CommittedDay,
  type DamagedDocument,
  type DayOfLedger,
  type ReportLedgers,
  committedChangesKey,
  committedDays,
  committedSnapshotKey,
  daysOfLedgers,
  readLedger,
  readLedgers,
  readSchema,
  snapshotKeyOf,
} from '../../shared/lake/documents/read.ts';
import { readWithParquetjs } from '../../shared/lake/table/parquetjs-reader.ts';
import { changesTable, isOfContent, summaryOfRows } from '../../shared/history/index.ts';
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
  /** Older versions of these days that are kept. */
  versions: number;
  mismatches: Mismatch[];
  /** Ledgers that cannot be read, so that nothing is known of their months. */
  damaged?: DamagedDocument[];
}

export function addVerify(program: Command): void {
  program
    .command('verify')
    .description(
      're-read the current snapshots with an independent Parquet reader and compare them with the ledger',
    )
    .argument('[table...]', 'e.g. orders (default: all)')
    .option('--brand <name>', 'only this brand')
    .addOption(fromOption('only this day and the ones after it'))
    .addOption(toOption('… up to and including this day'))
    .addOption(lakeOption())
    .addOption(jsonOption('print the findings as one JSON document'))
    .addHelpText(
      'after',
      '\nExample:\n  $ brand-reports verify orders transactions --from 2026-01-01 --to 2026-01-31',
    )
    .action(async (names: string[], flags: VerifyFlags) => {
      checkOrder(flags.from, flags.to);
      const wanted = names.map(tableNamed);
      const { store } = await openLake(flags.lake);
      const tables = await verifyTables(store, wanted, flags);
      const failed = tables.some(({ mismatches, damaged = [] }) => mismatches.length + damaged.length > 0);
      const status = failed ? 'failed' : 'ok';
      if (flags.json) printJson({ status, tables });
      else print(verifyText(tables, store.url));
      process.exitCode = failed ? EXIT.failed : EXIT.complete;
    });
}

function tableNamed(name: string): string {
  const tables = Object.values(reports).map(({ table }) => table);
  if (tables.includes(name)) return name;
  throw unknown('table', name, tables, Object.hasOwn(reports, name) ? reports[name]?.table : undefined);
}

/** The months that the days lie in. */
function spanOf({ from, to }: VerifyFlags): MonthSpan {
  return { ...(from !== undefined && { from: monthOf(from) }), ...(to !== undefined && { to: monthOf(to) }) };
}

async function verifyTables(
  store: ObjectStore,
  wanted: readonly string[],
  flags: VerifyFlags,
): Promise<VerifiedTable[]> {
  const { from = '', to = '9' } = flags;
  const verified: VerifiedTable[] = [];
  for (const reportLedgers of await readLedgers(store, reports, spanOf(flags))) {
    const { brand, report } = reportLedgers;
    if (flags.brand !== undefined && brand !== flags.brand) continue;
    if (wanted.length > 0 && !wanted.includes(report.table)) continue;
    const isWanted = ({ day }: { day: string }) => day >= from && day <= to;
    const days = committedDays([reportLedgers]).filter(isWanted);
    const versions = olderVersions(daysOfLedgers([reportLedgers]).filter(isWanted));
    const damaged = reportLedgers.damaged.filter(({ month }) => month !== undefined);
    const mismatches: Mismatch[] = [];
    const repeated = new Set<string>();
    for (const day of days) {
      showLine(`${brand} ${report.table} ${day.day} · ${counted(day.committed.rows, 'row')}`);
      const mismatch = await verifyDay(store, day, repeated);
      if (mismatch) mismatches.push(mismatch);
    }
    showLine(`${brand} ${report.table} · ${counted(versions.length, 'older version')}`);
    const unique = versions.filter(({ snapshot }) => !repeated.has(snapshot));
    mismatches.push(...(await damagedVersions(store, reportLedgers, unique)));
    const rows = days.reduce((sum, { committed }) => sum + committed.rows, 0);
    if (days.length + damaged.length > 0)
      verified.push({
        brand,
        table: report.table,
        days: days.length,
        rows,
        versions: versions.length,
        mismatches,
        ...(damaged.length > 0 && { damaged }),
      });
  }
  showLine('');
  return verified;
}

interface OlderVersion {
  day: DayOfLedger;
  snapshot: string;
}

function olderVersions(days: readonly DayOfLedger[]): OlderVersion[] {
  return days.flatMap((day) => {
    const { superseded = [], committed } = day.entry;
    const ids = new Set(superseded.map(({ snapshot }) => snapshot));
    return [...ids].filter((id) => id !== committed?.snapshot).map((snapshot) => ({ day, snapshot }));
  });
}

const PARALLEL_READS = 8;
const PARQUET_END = 'PAR1';

/** Vacuum deletes a version a day after its ledger has forgotten it: what is named here is there. */
async function damagedVersions(
  store: ObjectStore,
  { brand, report }: ReportLedgers,
  versions: readonly OlderVersion[],
): Promise<Mismatch[]> {
  if (versions.length === 0) return [];
  const sizes = new Map<string, number>();
  for await (const { key, bytes } of store.list(partitionPrefix(report.table, brandPartitions(brand))))
    sizes.set(key, bytes);
  const found = await mapConcurrent(versions, PARALLEL_READS, async ({ day, snapshot }) => {
    const key = snapshotKeyOf(day, snapshot);
    const bytes = sizes.get(key);
    const end =
      bytes !== undefined && (await store.range(key, Math.max(0, bytes - PARQUET_END.length), bytes));
    if (end && Buffer.from(end).toString('latin1') === PARQUET_END) return [];
    const what = end ? 'is cut off' : 'is missing';
    return [{ dt: day.day, snapshot, message: `its older version ${snapshot} ${what}` }];
  });
  return found.flat();
}

/**
 * @param repeated gets the ids of older versions that one of equal content has replaced: no row is lost with them
 * @returns how the day differs from the ledger; a snapshot that was replaced meanwhile is compared again
 */
async function verifyDay(
  store: ObjectStore,
  first: CommittedDay,
  repeated: Set<string>,
): Promise<Mismatch | undefined> {
  let current = first;
  for (;;) {
    const { columns } = await readSchema(store, current.report);
    const ofRows = await compare(store, current, columns);
    const message = ofRows ?? (await compareChanges(store, current, repeated));
    if (message === undefined) return undefined;
    const { report, brand, day, committed } = current;
    const latest = await committedNow(store, report, brand, day);
    if (!latest || latest.snapshot === committed.snapshot)
      return { dt: day, snapshot: committed.snapshot, message };
    current = { ...current, committed: latest };
  }
}

async function committedNow(store: ObjectStore, report: ReportDefinition, brand: string, day: string) {
  return (await readLedger(store, report, brand, monthOf(day))).days[day]?.committed;
}

async function compare(
  store: ObjectStore,
  day: CommittedDay,
  columns: readonly Column[],
): Promise<string | undefined> {
  const { rows, digest: committedDigest } = day.committed;
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
  return digest.value() === committedDigest
    ? undefined
    : 'the digest differs: the values are not the ones that were written';
}

/** There are as many changes as the ledger says, and each lists what it counts; one of them is in memory at a time. */
async function compareChanges(
  store: ObjectStore,
  day: CommittedDay,
  repeated: Set<string>,
): Promise<string | undefined> {
  const { changes, snapshot } = day.committed;
  const key = committedChangesKey(day);
  if (!changes || key === undefined) return undefined;
  const object = await store.get(key);
  if (!object) return `the changes of the day are missing (${key}); ${RESTORED_DAILY}`;
  const summaries: Row[] = [];
  try {
    for await (const facts of changesOneByOne(readWithParquetjs(object.body, changesTable.columns))) {
      const [summary] = facts;
      if (summary?.what !== 'day' || !listsWhatItCounts(facts))
        return `the change to ${String(summary?.change_id)} does not list the records that it counts`;
      summaries.push(summary);
      if (!isOfContent(summary)) repeated.add(String(summary.previous_id));
    }
    const { changeId, ...summary } = summaryOfRows(summaries);
    const { at, times, last } = changes;
    return isDeepStrictEqual(summary, { at, times, ...(last && { last }) }) && changeId === snapshot
      ? undefined
      : `its changes are not those of the ledger: ${counted(summary.times, 'change')} instead of ${count(times)}, or another last one`;
  } catch (thrown) {
    return `its changes cannot be read (${key}: ${asBrandReportsError(thrown).message}); if you delete the object, ${RESTORED_DAILY}`;
  }
}

const RESTORED_DAILY = 'the next daily run writes it again if the table "changes" still has them';

/** The rows of each change, which lie together. */
async function* changesOneByOne(rows: AsyncIterable<Row>): AsyncGenerator<Row[], void, undefined> {
  let facts: Row[] = [];
  for await (const row of rows) {
    if (row.what === 'day' && facts.length > 0) {
      yield facts;
      facts = [];
    }
    facts.push(row);
  }
  if (facts.length > 0) yield facts;
}

/** @param facts the rows of one change */
function listsWhatItCounts(facts: readonly Row[]): boolean {
  const [{ listed, added, removed, altered } = {}] = facts;
  const copiesOf = (name: string) =>
    facts.reduce((sum, { what, copies }) => sum + (what === name ? Number(copies) : 0), 0);
  const keys = new Set(facts.flatMap(({ what, key }) => (what === 'altered' ? [key] : [])));
  const found = [copiesOf('added'), copiesOf('removed'), keys.size];
  return listed === false || isDeepStrictEqual(found, [added, removed, altered].map(Number));
}

function verifyText(tables: readonly VerifiedTable[], lake: string): string {
  if (tables.length === 0)
    return `There is nothing to verify: ${lake} has no committed day that fits. Fill it with sync, or check --lake and the other flags.`;
  const columns = [
    { name: 'brand' },
    { name: 'table' },
    ...['days', 'rows', 'older versions', 'mismatches'].map((name) => ({ name, align: 'right' as const })),
  ];
  const cells = tables.map(({ brand, table: name, days, rows, versions, mismatches }) => [
    brand,
    name,
    ...[days, rows, versions, mismatches.length].map(count),
  ]);
  const mismatches = tables.flatMap(({ brand, table: name, mismatches }) =>
    mismatches.map(({ dt, message }) => `${styleText('red', `${brand} ${name} ${dt}`)}: ${message}`),
  );
  const damaged = tables.flatMap(({ brand, table: name, damaged = [] }) =>
    damaged.map(({ month = '', message }) => `${styleText('red', `${brand} ${name} ${month}`)}: ${message}`),
  );
  const days = tables.reduce((sum, each) => sum + each.days, 0);
  const failed = [
    ...(mismatches.length > 0
      ? [
          `${counted(mismatches.length, 'snapshot')} of ${counted(days, 'day')}. Fetch days whose current one differs again with: brand-reports sync REPORT --from DAY --to DAY`,
        ]
      : []),
    ...(damaged.length > 0 ? [`${counted(damaged.length, 'ledger')} cannot be read`] : []),
  ];
  const verdict =
    failed.length === 0
      ? `${styleText('green', 'ok')}: ${counted(days, 'day')} as the ledger says`
      : `${styleText('red', 'failed')}: ${failed.join('; ')}`;
  return [table(columns, cells, terminalColumns()), '', ...mismatches, ...damaged, verdict].join('\n');
}
