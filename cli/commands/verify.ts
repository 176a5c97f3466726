/** parquetjs-lite shares no code with the writer. A run may publish meanwhile, so a day that differs is compared again. */
import { dirname, join } from 'node:path';
import type { Column } from '../../shared/base/column-types.ts';
import { isInSpan, monthOf } from '../../shared/base/days.ts';
import { BrandReportsError, configError } from '../../shared/base/errors.ts';
import { shellWord } from '../../shared/base/shell-word.ts';
import { type LakeAccess, createBrandReport } from '../../shared/context/context.ts';
import { pendingPublications, publishDays } from '../../shared/day/publish.ts';
import { beforeShape } from '../../shared/history/index.ts';
import { createLakeDocuments } from '../../shared/lake/lake-documents.ts';
import {
  type CommittedDay,
  type ReportLedgers,
  committedDays,
  readLedger,
  readLedgers,
  readSchema,
} from '../../shared/lake/read.ts';
import {
  LOCAL_CATALOG_FOLDER,
  dayPartition,
  parseCloseKey,
  partitionPath,
  schemaKey,
  versionKey,
} from '../../shared/lake/paths.ts';
import { Digest } from '../../shared/table/digest.ts';
import { readWithParquetjs } from '../../shared/table/parquetjs-reader.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import { type DamagedDocument, restoreDocuments } from '../../shared/operations/restore/index.ts';
import { reports } from '../../shared/reports/index.ts';
import { EXIT } from '../exit-codes.ts';
import { rewriteDatabase } from '../open-database.ts';
import { type RunFlags, checkOrder, lakeAccess, reportNamed } from '../run-options.ts';
import { type CliCommand, day } from '../options.ts';
import { counted, exactNumber } from '../../shared/base/exact-number.ts';
import { note, print, printJson, showLine } from '../output.ts';
import { printedCommand, withRunnableCommands } from '../printed-command.ts';
import { oneLine, styleText } from '../terminal-text.ts';
import { table } from '../text-table.ts';

interface Mismatch {
  dt: string;
  snapshot: string;
  message: string;
  advice: string;
}

type VerifyFlags = RunFlags & { restore?: boolean };

interface VerifiedTable {
  brand: string;
  table: string;
  days: number;
  rows: number;
  mismatches: Mismatch[];
}

/** A damaged document, with a command unless it was restored. The days that it describes are not verified. */
type FoundDocument = DamagedDocument & Partial<Pick<Mismatch, 'advice'>>;

export function addVerify(program: CliCommand): void {
  program
    .command('verify')
    .description('find damaged or missing files, and the command that heals each')
    .argument('[report...]', 'reports or their tables, e.g. orders (default: all)')
    .option('--brand <name>', 'only this brand')
    .option('--from <day>', 'only this day and later days', day)
    .option('--to <day>', '… up to and including this day', day)
    .option('--restore', 'first put back damaged documents, and publish days that the catalog lacks')
    .takes('lake', 'database', 'settings', 'credentials')
    .option('--json', 'print the findings as one JSON document')
    .example(['verify orders transactions --from 2026-01-01 --to 2026-01-31', 'verify --restore'])
    .action(async (names: string[], flags: VerifyFlags) => {
      const { restore = false } = flags;
      checkOrder(flags.from, flags.to);
      const wanted = names.map((name) => reportNamed(name).table);
      const { from, to } = flags;
      const span = { from: from && monthOf(from), to: to && monthOf(to) };
      // Without a restore, the catalog is not needed.
      const access = await lakeAccess(restore ? flags : { lake: flags.lake });
      const found = await restoreDocuments({
        ...{ ...access, reports, apply: restore },
        isWanted: ({ report, brand, month }) =>
          (!report || wanted.length === 0 || wanted.includes(report.table)) &&
          (brand === undefined || brand === (flags.brand ?? brand)) &&
          (month === undefined || isInSpan(month, span)),
      });
      const documents = found.map(withAdvice);
      if (documents.some(({ outcome }) => outcome === 'restored'))
        await rewriteDatabase(access.lake, undefined);
      const unusable = new Set(documents.flatMap(({ advice, key }) => (advice === undefined ? [] : [key])));
      const lake = await readLedgers(access.lake.store, reports, span);
      const tables = await verifyTables(access, lake, wanted, flags, unusable);
      if (tables.length + documents.length === 0)
        throw configError(
          'nothing_to_verify',
          `There is nothing to verify in ${access.lake.store.url}. Correct the flags, or run ${printedCommand('sync')}`,
        );
      const failed = unusable.size > 0 || tables.some(({ mismatches }) => mismatches.length > 0);
      const status = failed ? 'failed' : 'ok';
      if (flags.json) printJson({ status, ...(documents.length > 0 && { documents }), tables });
      else print(verifyText(documents, tables));
      process.exitCode = failed ? EXIT.failed : EXIT.complete;
    });
}

function withAdvice(document: DamagedDocument): FoundDocument {
  const { key, outcome, writtenAt } = document;
  if (outcome === 'restored') return document;
  const { month = '', brand = '' } = parseCloseKey(key) ?? {};
  const isLeftDamaged = brand !== '' && writtenAt === undefined && outcome === 'damaged';
  const removing = printedCommand('close', [month, '--brand', brand, '--remove']);
  return { ...document, advice: isLeftDamaged ? removing : printedCommand('verify', ['--restore']) };
}

function dayCommand(
  name: 'sync' | 'rebuild',
  { report, brand, day }: Pick<CommittedDay, 'report' | 'brand' | 'day'>,
): string {
  return printedCommand(name, [report.name, '--brand', brand, '--from', day, '--to', day]);
}

async function verifyTables(
  access: LakeAccess,
  lake: readonly ReportLedgers[],
  wanted: readonly string[],
  flags: VerifyFlags,
  unusable: ReadonlySet<string>,
): Promise<VerifiedTable[]> {
  const { from = '', to = '9', restore = false } = flags;
  const verified: VerifiedTable[] = [];
  const ofReports = Object.values(reports).flatMap((report) => lake.filter((each) => each.report === report));
  for (const own of ofReports) {
    const { brand, report } = own;
    if (wanted.length > 0 && !wanted.includes(report.table)) continue;
    const days = committedDays([own]).filter(({ day }) => day >= from && day <= to);
    if (brand !== (flags.brand ?? brand) || days.length === 0) continue;
    const readable = unusable.has(schemaKey(report.table)) ? [] : days;
    const mismatches = await damagedDays(access.lake.store, readable);
    const whole = readable.filter(({ day }) => mismatches.every(({ dt }) => dt !== day));
    mismatches.push(...(await unpublishedDays(access, whole, restore)));
    const rows = days.reduce((sum, { committed }) => sum + committed.rows, 0);
    verified.push({ brand, table: report.table, days: days.length, rows, mismatches });
  }
  showLine('');
  return verified;
}

async function damagedDays(store: ObjectStore, days: readonly CommittedDay[]): Promise<Mismatch[]> {
  const mismatches: Mismatch[] = [];
  for (const day of days) {
    const { brand, report, committed } = day;
    showLine(`${brand} ${report.table} ${day.day} · ${counted(committed.rows, 'row')}`);
    const mismatch = await verifyDay(store, day);
    if (mismatch) mismatches.push(mismatch);
  }
  return mismatches;
}

/**
 * The published days of a report whose links in `current/`, or partitions in Glue, are not those of the ledgers. Other
 * tools read these alone, and no ledger shows it. A restore publishes them again, as a run does.
 */
async function unpublishedDays(
  access: LakeAccess,
  days: readonly CommittedDay[],
  restore: boolean,
): Promise<Mismatch[]> {
  const [first] = days;
  if (!first) return [];
  const documents = createLakeDocuments({ store: access.lake.store, ...access });
  const ctx = createBrandReport({ ...access, reports }, documents, { ...first, policy: undefined });
  const ledgers = [...new Set(days.map(({ day }) => monthOf(day)))].map(ctx.ledger);
  const pending = async () => {
    const found = await pendingPublications(ctx, await Promise.all(ledgers.map((each) => each.refresh())));
    return days.filter(({ day, committed }) => committed.published && found.includes(day));
  };
  const before = await pending();
  const given = restore ? before.map(({ day }) => day) : [];
  await publishDays(ctx, given);
  await Promise.all(ledgers.map((each) => each.flush()));
  if (given.length > 0)
    note(`published again: ${first.brand} ${first.report.table}, ${counted(given.length, 'day')}`);
  // A run may have published a day between the two readings.
  const left = before.length === 0 ? [] : await pending();
  return left.map(({ report, brand, day, committed }) => ({
    dt: day,
    snapshot: committed.snapshot,
    message: `the catalog does not have the versions of ${report.table} of ${brand} that the ledger names`,
    advice: printedCommand('verify', ['--restore']),
  }));
}

interface DayFile {
  what: string;
  key: string;
  table: string;
  snapshot: string;
  columns: readonly Column[];
  rows: number;
  bytes: number;
  digest?: string;
}

async function filesOf(
  store: ObjectStore,
  { report, brand, day, committed }: CommittedDay,
): Promise<DayFile[]> {
  const { columns } = await readSchema(store, report);
  const { snapshot, history } = committed;
  const key = versionKey(report.table, brand, day, snapshot);
  const file = { ...committed, what: 'the snapshot', key, table: report.table, columns };
  if (!history?.object) return [file];
  const { object } = history;
  const { name: table, columns: ofChanges } = beforeShape(report, columns);
  const before = versionKey(table, brand, day, object.snapshot);
  const what = `what its records were before (${before})`;
  return [file, { ...object, what, key: before, table, columns: ofChanges }];
}

/** Compares the day with the ledger. If a run has replaced the snapshot meanwhile, the new one is compared. */
async function verifyDay(store: ObjectStore, current: CommittedDay): Promise<Mismatch | undefined> {
  const { report, brand, day, committed } = current;
  const { localFolder } = store;
  for (const file of await filesOf(store, current)) {
    const problem = await problemOf(store, file, file.key);
    if (problem === undefined) continue;
    const latest = (await readLedger(store, report, brand, monthOf(day))).days[day]?.committed;
    if (latest && latest.snapshot !== committed.snapshot)
      return verifyDay(store, { ...current, committed: latest });
    // The link keeps the rows of a file that was deleted or replaced. Without it, the day is rebuilt from its raw records or,
    // if they are no longer kept, read again.
    const links = join(LOCAL_CATALOG_FOLDER, file.table, partitionPath(dayPartition(brand, day)));
    const link = join(links, `${file.snapshot}.parquet`);
    const isLinked = localFolder !== undefined && !(await problemOf(store, file, link));
    return {
      dt: day,
      snapshot: committed.snapshot,
      message: `${file.what} ${problem}`,
      advice: isLinked
        ? linking(join(localFolder, link), join(localFolder, file.key))
        : `${dayCommand('rebuild', current)} || ${dayCommand('sync', current)}`,
    };
  }
  return undefined;
}

/** A command that makes `link` the same file as `file`. */
function linking(file: string, link: string): string {
  return `mkdir -p ${shellWord(dirname(link))} && ln -f ${shellWord(file)} ${shellWord(link)}`;
}

async function problemOf(
  store: ObjectStore,
  { columns, rows, bytes, digest }: DayFile,
  key: string,
): Promise<string | undefined> {
  const object = await store.get(key);
  if (!object) return 'is missing';
  const found = new Digest(columns);
  try {
    for await (const row of readWithParquetjs(object.body, columns)) found.add(row);
  } catch (thrown) {
    if (!(thrown instanceof BrandReportsError)) throw thrown;
    return `cannot be read: ${thrown.message}`;
  }
  if (found.rows !== rows)
    return `has ${counted(found.rows, 'row')}, but the ledger has ${exactNumber(rows)}`;
  if (object.body.length !== bytes)
    return `has ${counted(object.body.length, 'byte')}, but the ledger has ${exactNumber(bytes)}`;
  return digest === undefined || found.value() === digest
    ? undefined
    : 'has another digest: the values were changed after they were written';
}

function verifyText(documents: readonly FoundDocument[], tables: readonly VerifiedTable[]): string {
  const cells = tables.map(({ brand, table: name, days, rows, mismatches }) => ({
    ...{ brand, table: name, days, rows },
    mismatches: mismatches.length,
  }));
  const findings = tables.flatMap(({ brand, table: name, mismatches }) =>
    mismatches.map((each) => ({ ...each, what: `${brand} ${name} ${each.dt}` })),
  );
  const left = [...documents.filter(({ advice }) => advice !== undefined), ...findings];
  const days = tables.reduce((sum, each) => sum + each.days, 0);
  const verdict =
    left.length === 0
      ? `${styleText('green', 'ok')}: ${counted(days, 'day')} as in the ledger`
      : `${styleText('red', 'failed')}: ${counted(left.length, 'finding')} in ${counted(days, 'day')}. To heal them, run:`;
  const texts = [
    ...documents.map(documentText),
    ...findings.map(({ what, message }) => `${styleText('red', what)}: ${message}`),
  ];
  const next = documents.some(({ outcome }) => outcome === 'restored')
    ? [`To read the due days: ${printedCommand('sync')}`]
    : [];
  const advised = new Set(left.map(({ advice }) => advice));
  return [table(cells), '', ...texts, verdict, ...advised, ...next].join('\n');
}

function documentText({ key, problem, outcome, remedy }: FoundDocument): string {
  const isRestored = outcome === 'restored';
  return [
    `${styleText(isRestored ? 'green' : 'red', key)}: ${oneLine(withRunnableCommands(problem))}`,
    `    ${isRestored ? 'done' : outcome === 'damaged' ? '--restore would' : outcome}: ${oneLine(withRunnableCommands(remedy))}`,
  ].join('\n');
}
