/**
 * Finds what is damaged in a lake; each finding has a command that heals it. Current files are read with parquetjs-lite,
 * which shares no code with the writer. A run may publish meanwhile, so a day that differs is compared again. Older
 * versions have no digests, and reading them all would take many times as long: only their ends are read.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Column } from '../../shared/column-types.ts';
import { type MonthSpan, isDay, isInSpan, monthOf } from '../../shared/days.ts';
import { BrandReportsError, asBrandReportsError, configError } from '../../shared/errors.ts';
import { changesTable, isOfContent, summaryOfRows } from '../../shared/history/index.ts';
import { type Close, namedDays, readCloses } from '../../shared/lake/documents/close.ts';
import { readOrDamage } from '../../shared/lake/documents/cas-document.ts';
import { type LakeDocuments, createLakeDocuments } from '../../shared/lake/documents/lake-documents.ts';
import { type Committed, loseVersion } from '../../shared/lake/documents/ledger.ts';
import {
  type CommittedDay,
  type ReportLedgers,
  committedChangesKey,
  committedDays,
  committedSnapshotKey,
  readLedger,
  readLedgers,
  readSchema,
  snapshotsByTable,
} from '../../shared/lake/documents/read.ts';
import {
  closedPartition,
  closedTable,
  dayPartition,
  ledgerKey,
  parseCloseKey,
  schemaKey,
  versionKey,
} from '../../shared/lake/paths.ts';
import type { Row } from '../../shared/lake/table/columns.ts';
import { Digest } from '../../shared/lake/table/digest.ts';
import { readWithParquetjs } from '../../shared/lake/table/parquetjs-reader.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import { lifecycleShape } from '../../shared/lifecycle/index.ts';
import { type DamagedDocument, lostVersions, restoreDocuments } from '../../shared/restore/index.ts';
import { type ReportDefinition, dayTables } from '../../shared/reports/definition.ts';
import { reports } from '../../shared/reports/index.ts';
import { EXIT } from '../exit-codes.ts';
import { type LinkDamage, linkAt, linkDamages, linking } from '../local-links.ts';
import { rewriteDatabase } from '../open-database.ts';
import { type RunFlags, checkOrder, lakeAccess, reportNamed } from '../run-options.ts';
import { type CliCommand, day } from '../options.ts';
import { count, counted, note, print, printJson } from '../output.ts';
import { printedCommand, withRunnableCommands } from '../printed-command.ts';
import { showLine } from '../progress-line.ts';
import { oneLine, styleText } from '../terminal-text.ts';
import { table } from '../text-table.ts';

type Mismatch = Omit<LinkDamage, 'brand'>;

interface VerifiedTable {
  brand: string;
  table: string;
  days: number;
  rows: number;
  versions: number;
  mismatches: Mismatch[];
}

/** A damaged document, with a command unless it was restored. The days that it describes are not verified. */
type FoundDocument = DamagedDocument & Partial<Pick<Mismatch, 'advice'>>;

interface Restored {
  unusable: ReadonlySet<string>;
  ledgers: Pick<LakeDocuments, 'ledger'> | undefined;
}

export function addVerify(program: CliCommand): void {
  program
    .command('verify')
    .description('find damaged or missing files, and the command that heals each')
    .argument('[report...]', 'reports or their tables, e.g. orders (default: all)')
    .option('--brand <name>', 'only this brand')
    .option('--from <day>', 'only this day and later days', day)
    .option('--to <day>', '… up to and including this day', day)
    .option(
      '--restore',
      'first put back the newest usable version of each damaged document; its bytes are copied',
    )
    .takes('lake', 'database', 'settings', 'credentials')
    .option('--json', 'print the findings as one JSON document')
    .example(
      ['verify orders transactions --from 2026-01-01 --to 2026-01-31', 'verify --restore'],
      'It needs only the lake. The other flags appear in the commands that it prints.',
    )
    .action(async (names: string[], { restore = false, ...flags }: RunFlags & { restore?: boolean }) => {
      checkOrder(flags.from, flags.to);
      const wanted = names.map((name) => reportNamed(name).table);
      // Without a restore, the catalog is not needed.
      const access = await lakeAccess(restore ? flags : { lake: flags.lake });
      const found = await restoreDocuments({
        ...{ ...access, reports, apply: restore },
        isWanted: ({ report, brand, month }) =>
          (!report || wanted.length === 0 || wanted.includes(report.table)) &&
          (brand === undefined || brand === (flags.brand ?? brand)) &&
          (month === undefined || isInSpan(month, spanOf(flags))),
      });
      const documents = found.map(withAdvice);
      if (documents.some(({ outcome }) => outcome === 'restored'))
        await rewriteDatabase(access.lake, undefined);
      const unusable = new Set(documents.flatMap(({ advice, key }) => (advice === undefined ? [] : [key])));
      const ledgers = restore ? createLakeDocuments({ ...access, store: access.lake.store }) : undefined;
      const tables = await verifyTables(access.lake.store, wanted, flags, { unusable, ledgers });
      if (tables.length + documents.length === 0) throw nothingToVerify(access.lake.store);
      const failed = unusable.size > 0 || tables.some(({ mismatches }) => mismatches.length > 0);
      const status = failed ? 'failed' : 'ok';
      if (flags.json) printJson({ status, ...(documents.length > 0 && { documents }), tables });
      else print(verifyText(documents, tables));
      process.exitCode = failed ? EXIT.failed : EXIT.complete;
    });
}

const restoring = () => printedCommand('verify', ['--restore']);

function withAdvice(document: DamagedDocument): FoundDocument {
  const { key, outcome, writtenAt } = document;
  if (outcome === 'restored') return document;
  const { month = '', brand = '' } = parseCloseKey(key) ?? {};
  const isLeftDamaged = brand !== '' && writtenAt === undefined && outcome === 'damaged';
  return { ...document, advice: isLeftDamaged ? removing(month, brand) : restoring() };
}

function removing(month: string, brand: string): string {
  return printedCommand('close', [month, '--brand', brand, '--remove']);
}

function dayCommand(
  name: 'sync' | 'rebuild' | 'erase',
  { report, brand, day }: Pick<CommittedDay, 'report' | 'brand' | 'day'>,
): string {
  return printedCommand(name, [report.name, '--brand', brand, '--from', day, '--to', day]);
}

/** Rebuilds the day from its raw records or, if they are no longer kept, reads it from the service. */
function healing(day: CommittedDay): string {
  return `${dayCommand('rebuild', day)} || ${dayCommand('sync', day)}`;
}

function nothingToVerify({ url }: ObjectStore) {
  return configError(
    'nothing_to_verify',
    `There is nothing to verify: ${url} has no committed day that matches the flags. Correct --lake or the other flags. To fill a new lake: ${printedCommand('sync')}`,
  );
}

function spanOf({ from, to }: RunFlags): MonthSpan {
  return { ...(from !== undefined && { from: monthOf(from) }), ...(to !== undefined && { to: monthOf(to) }) };
}

async function verifyTables(
  store: ObjectStore,
  wanted: readonly string[],
  flags: RunFlags,
  restored: Restored,
): Promise<VerifiedTable[]> {
  const { from = '', to = '9' } = flags;
  const isWanted = (day: string) => day >= from && day <= to;
  const isOfBrand = ({ brand }: { brand: string }) => brand === (flags.brand ?? brand);
  const lake = (await readLedgers(store, reports, spanOf(flags))).filter(isOfBrand);
  const verified: VerifiedTable[] = [];
  for (const report of Object.values(reports)) {
    if (wanted.length > 0 && !wanted.includes(report.table)) continue;
    const ledgers = lake.filter((each) => each.report === report);
    const ofBrands: VerifiedTable[] = [];
    for (const own of ledgers) ofBrands.push(await verifyBrand(store, own, isWanted, restored));
    const isInScope = (damage: LinkDamage) =>
      isWanted(damage.dt) &&
      isOfBrand(damage) &&
      !restored.unusable.has(ledgerKey(report.name, damage.brand, monthOf(damage.dt)));
    for (const { brand, ...mismatch } of await damagedLinks(store, report, ledgers, isInScope)) {
      const own = ofBrands.find((each) => each.brand === brand);
      const mismatches = own?.mismatches ?? [];
      // Healing a damaged snapshot also replaces its link.
      if (!mismatches.some(({ dt, snapshot }) => dt === mismatch.dt && snapshot === mismatch.snapshot))
        mismatches.push(mismatch);
      // A link in the place of a folder is removed before files are linked into the folder.
      if (!own) ofBrands.unshift({ brand, table: report.table, days: 0, rows: 0, versions: 0, mismatches });
    }
    verified.push(...ofBrands.filter(({ days, mismatches }) => days + mismatches.length > 0));
  }
  // A schema that was put back may lack columns: the commands for the current versions add them.
  const damaged = new Set(verified.flatMap((each) => (each.mismatches.length > 0 ? [each.table] : [])));
  const isReadable = async (report: ReportDefinition, { tables }: Close) => {
    if (restored.unusable.has(schemaKey(report.table))) return false;
    const { columns = 0 } = tables[report.table] ?? {};
    return !damaged.has(report.table) || (await readSchema(store, report)).columns.length >= columns;
  };
  for (const brand of new Set(lake.map((each) => each.brand))) {
    const ofReports = lake.filter((each) => wanted.length === 0 || wanted.includes(each.report.table));
    const own = ofReports.filter((each) => each.brand === brand);
    verified.push(...(await verifyCloses(store, brand, own, { isWanted, isReadable })));
  }
  showLine('');
  return verified;
}

/** Verifies the objects that closes name, except current versions, which were compared with their ledger. */
async function verifyCloses(
  store: ObjectStore,
  brand: string,
  ledgers: readonly ReportLedgers[],
  {
    isWanted,
    isReadable,
  }: {
    isWanted: (day: string) => boolean;
    isReadable: (report: ReportDefinition, close: Close) => Promise<boolean>;
  },
): Promise<VerifiedTable[]> {
  const closes = await readCloses(store, brand, () => {});
  const found = { brand, table: 'closes', days: 0, rows: 0, versions: 0, mismatches: [] as Mismatch[] };
  const compared = new Set(
    committedDays(ledgers).flatMap(({ report, committed }) =>
      snapshotsByTable(report, committed).map(([table, id]) => `${table} ${id}`),
    ),
  );
  for (const { close, named } of closes.flatMap((close) =>
    namedDays(close).map((named) => ({ close, named })),
  )) {
    const { month } = close;
    const { day, lifecycle } = named;
    const report = ledgers.find((each) => each.report.name === named.report)?.report;
    if (!report || !(await isReadable(report, close))) continue;
    for (const [table, snapshot] of isWanted(day) ? snapshotsByTable(report, named) : []) {
      if (compared.has(`${table} ${snapshot}`)) continue;
      compared.add(`${table} ${snapshot}`);
      found.versions += 1;
      showLine(`${brand} close ${month} · ${table} ${day}`);
      const shape = table === report.table ? undefined : lifecycleShape(report);
      const { columns } = shape ?? (await readSchema(store, report));
      const written = (shape && lifecycle) ?? named;
      const key = versionKey(table, brand, day, snapshot);
      const problem = await compare(store, written, columns, key);
      if (problem === undefined) continue;
      const link = linkAt(closedTable(table), closedPartition(month, brand, day), snapshot);
      const advice = (await relinking(store, written, columns, link, key)) ?? removing(month, brand);
      const message = `${table} as closed in ${month}: ${problem}`;
      found.mismatches.push({ dt: day, snapshot, message, advice });
    }
  }
  return closes.length === 0 ? [] : [found];
}

async function verifyBrand(
  store: ObjectStore,
  ledgers: ReportLedgers,
  isWanted: (day: string) => boolean,
  { unusable, ledgers: documents }: Restored,
): Promise<VerifiedTable> {
  const { brand, report } = ledgers;
  const days = committedDays([ledgers]).filter(({ day }) => isWanted(day));
  const mismatches: Mismatch[] = [];
  const repeated = new Set<string>();
  for (const day of unusable.has(schemaKey(report.table)) ? [] : days) {
    showLine(`${brand} ${report.table} ${day.day} · ${counted(day.committed.rows, 'row')}`);
    const mismatch = await verifyDay(store, day, repeated);
    if (mismatch) mismatches.push(mismatch);
  }
  showLine(`${brand} ${report.table} · older versions`);
  const versions = await lostVersions(store, ledgers, ({ day }) => isWanted(day));
  for (const { day, snapshot, problem } of versions.lost.filter((each) => !repeated.has(each.snapshot))) {
    const message = `its older version ${snapshot} ${problem}`;
    if (!documents) mismatches.push({ dt: day.day, snapshot, message, advice: restoring() });
    // Then queries of its time report missing rows instead of rows of another version.
    await documents
      ?.ledger(report, brand, monthOf(day.day))
      .update((ledger) => loseVersion(ledger, day.day, snapshot));
    if (documents) note(`${brand} ${report.table} ${day.day}: ${message}; its ledger records that now`);
  }
  const rows = days.reduce((sum, { committed }) => sum + committed.rows, 0);
  return { brand, table: report.table, days: days.length, rows, versions: versions.count, mismatches };
}

function objectsOf(committed: Committed | undefined) {
  return [committed?.snapshot, committed?.lifecycle?.snapshot];
}

/** Damage to the links of a local lake, which other tools read. */
async function damagedLinks(
  store: ObjectStore,
  report: ReportDefinition,
  ledgers: readonly ReportLedgers[],
  isInScope: (damage: LinkDamage) => boolean,
): Promise<LinkDamage[]> {
  const { localFolder } = store;
  if (localFolder === undefined) return [];
  const days = committedDays(ledgers);
  const found: LinkDamage[] = [];
  const damages = dayTables(report).flatMap((of) =>
    linkDamages(localFolder, of, days)
      .filter(isInScope)
      .map((damage) => [of, damage] as const),
  );
  for (const [of, damage] of damages) {
    const { brand, dt: day, snapshot } = damage;
    const isOfDay = (other: { brand: string; day: string }) => other.brand === brand && other.day === day;
    const isOurs = brand !== '' && isDay(day);
    const now = isOurs ? await readOrDamage(entryNow(store, report, brand, day)) : { value: undefined };
    // A run has published the day meanwhile, or its ledger is damaged.
    if ('damage' in now) continue;
    const { committed, erasedAt } = now.value ?? {};
    if (!isDeepStrictEqual(objectsOf(committed), objectsOf(days.find(isOfDay)?.committed))) continue;
    const object = join(localFolder, versionKey(of, brand, day, snapshot));
    // The ledger is lost: without the link the vacuum would delete the version.
    const isLost = isOurs && !committed && existsSync(object);
    // No run reads a day whose erasure has died.
    const command = erasedAt !== undefined ? 'erase' : isLost ? 'sync' : undefined;
    found.push(command ? { ...damage, advice: dayCommand(command, { report, brand, day }) } : damage);
  }
  return found;
}

/**
 * @param repeated receives the ids of older versions that a version with equal content replaced: they lose no row
 * @returns how the day differs from the ledger. If a run has replaced the snapshot meanwhile, the new one is compared
 */
async function verifyDay(
  store: ObjectStore,
  first: CommittedDay,
  repeated: Set<string>,
): Promise<Mismatch | undefined> {
  for (let current = first; ; ) {
    const { report, brand, day, committed } = current;
    const { columns } = await readSchema(store, report);
    const key = committedSnapshotKey(current);
    const ofRows = await compare(store, committed, columns, key);
    const message =
      ofRows ?? (await compareChanges(store, current, repeated)) ?? (await compareLifecycle(store, current));
    if (message === undefined) return undefined;
    const latest = (await entryNow(store, report, brand, day))?.committed;
    if (latest && latest.snapshot !== committed.snapshot) {
      current = { ...current, committed: latest };
      continue;
    }
    const link = linkAt(report.table, dayPartition(brand, day), committed.snapshot);
    const linked = ofRows && (await relinking(store, committed, columns, link, key));
    return { dt: day, snapshot: committed.snapshot, message, advice: linked ?? healing(current) };
  }
}

async function entryNow(store: ObjectStore, report: ReportDefinition, brand: string, day: string) {
  return (await readLedger(store, report, brand, monthOf(day))).days[day];
}

async function compare(
  store: ObjectStore,
  { rows, digest: written }: Pick<Committed, 'rows' | 'digest'>,
  columns: readonly Column[],
  key: string,
  onRow?: (row: Row) => void,
): Promise<string | undefined> {
  const object = await store.get(key);
  if (!object) return 'the snapshot is missing';
  const digest = new Digest();
  try {
    for await (const row of readWithParquetjs(object.body, columns)) {
      digest.add(row);
      onRow?.(row);
    }
  } catch (thrown) {
    if (!(thrown instanceof BrandReportsError)) throw thrown;
    return thrown.message;
  }
  if (digest.rows !== rows) return `${counted(digest.rows, 'row')}, but the ledger has ${count(rows)}`;
  return digest.value() === written
    ? undefined
    : 'the digest differs: the values were changed after they were written';
}

/** A command that restores a file from its link, which keeps the rows of a file that was deleted or replaced. */
async function relinking(
  store: ObjectStore,
  written: Pick<Committed, 'rows' | 'digest'>,
  columns: readonly Column[],
  link: string,
  key: string,
): Promise<string | undefined> {
  const { localFolder } = store;
  if (localFolder === undefined || (await compare(store, written, columns, link))) return undefined;
  return linking(join(localFolder, link), join(localFolder, key));
}

async function compareLifecycle(
  store: ObjectStore,
  { report, brand, day, committed }: CommittedDay,
): Promise<string | undefined> {
  const { lifecycle } = committed;
  const shape = lifecycleShape(report);
  if (!lifecycle || !shape) return undefined;
  const key = versionKey(shape.name, brand, day, lifecycle.snapshot);
  let records = 0;
  const problem = await compare(store, lifecycle, shape.columns, key, (row) => {
    records += Number(row.records);
  });
  const counts = `${counted(records, 'record')}, but the day has ${counted(committed.rows, 'row')}`;
  const wrong = problem ?? (records === committed.rows ? undefined : counts);
  return wrong && `its rows in ${shape.name} (${key}): ${wrong}`;
}

/** Compares the changes with the ledger: their number, and that each lists its records. One change is in memory at a time. */
async function compareChanges(
  store: ObjectStore,
  day: CommittedDay,
  repeated: Set<string>,
): Promise<string | undefined> {
  const { changes, snapshot } = day.committed;
  const key = committedChangesKey(day);
  if (!changes || key === undefined) return undefined;
  const object = await store.get(key);
  if (!object) return `the changes of the day are missing (${key})`;
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
      : `its changes differ from the ledger: ${counted(summary.times, 'change')} instead of ${count(times)}, or another last change`;
  } catch (thrown) {
    return `its changes cannot be read (${key}: ${asBrandReportsError(thrown).message})`;
  }
}

/** The rows of each change, which follow each other in the file. */
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

function listsWhatItCounts(facts: readonly Row[]): boolean {
  const [{ listed, added, removed, altered } = {}] = facts;
  const copiesOf = (name: string) =>
    facts.reduce((sum, { what, copies }) => sum + (what === name ? Number(copies) : 0), 0);
  const keys = new Set(facts.flatMap(({ what, key }) => (what === 'altered' ? [key] : [])));
  const found = [copiesOf('added'), copiesOf('removed'), keys.size];
  return listed === false || isDeepStrictEqual(found, [added, removed, altered].map(Number));
}

function verifyText(documents: readonly FoundDocument[], tables: readonly VerifiedTable[]): string {
  const cells = tables.map(({ brand, table: name, days, rows, versions, mismatches }) => ({
    ...{ brand, table: name, days, rows },
    ...{ 'older versions': versions, mismatches: mismatches.length },
  }));
  const findings = tables.flatMap(({ brand, table: name, mismatches }) =>
    mismatches.map(({ dt, message, advice }) => ({
      text: `${styleText('red', `${brand} ${name} ${dt}`)}: ${message}`,
      advice,
    })),
  );
  const left = documents.filter(({ advice }) => advice !== undefined);
  const advised = [...new Set([...left, ...findings].map(({ advice }) => advice))];
  const days = tables.reduce((sum, each) => sum + each.days, 0);
  const texts = [...documents.map(documentText), ...findings.map(({ text }) => text)];
  const verdict =
    advised.length === 0
      ? `${styleText('green', 'ok')}: ${counted(days, 'day')} as in the ledger`
      : `${styleText('red', 'failed')}: ${counted(left.length + findings.length, 'finding')} in ${counted(days, 'day')}. To heal them, run:`;
  const next = documents.length > left.length ? [`To read the due days: ${printedCommand('sync')}`] : [];
  return [table(cells), '', ...texts, verdict, ...advised, ...next].join('\n');
}

function documentText({ key, problem, outcome, remedy, copy }: FoundDocument): string {
  const isRestored = outcome === 'restored';
  return [
    `${styleText(isRestored ? 'green' : 'red', key)}: ${oneLine(withRunnableCommands(problem))}`,
    `    ${isRestored ? 'done' : outcome === 'damaged' ? '--restore would' : outcome}: ${oneLine(withRunnableCommands(remedy))}`,
    ...(copy === undefined ? [] : [`    copy of its bytes: ${oneLine(copy)}`]),
  ].join('\n');
}
