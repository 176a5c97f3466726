/** parquetjs-lite shares no code with the writer. A run may publish meanwhile, so a day that differs is compared again. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Column } from '../../shared/base/column-types.ts';
import { isDay, isInSpan, monthOf } from '../../shared/base/days.ts';
import { BrandReportsError, configError } from '../../shared/base/errors.ts';
import { beforeShape } from '../../shared/history/index.ts';
import { readOrDamage } from '../../shared/lake/cas-document.ts';
import type { Committed } from '../../shared/lake/ledger.ts';
import {
  type CommittedDay,
  type ReportLedgers,
  committedDays,
  readLedger,
  readLedgers,
  readSchema,
} from '../../shared/lake/read.ts';
import { dayPartition, ledgerKey, parseCloseKey, schemaKey, versionKey } from '../../shared/lake/paths.ts';
import { Digest } from '../../shared/table/digest.ts';
import { readWithParquetjs } from '../../shared/table/parquetjs-reader.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import { type DamagedDocument, restoreDocuments } from '../../shared/operations/restore/index.ts';
import { type ReportDefinition, dayTables } from '../../shared/reports/definition.ts';
import { reports } from '../../shared/reports/index.ts';
import { EXIT } from '../exit-codes.ts';
import { type LinkDamage, linkAt, linkDamages, linking } from '../local-links.ts';
import { rewriteDatabase } from '../open-database.ts';
import { type RunFlags, checkOrder, lakeAccess, reportNamed } from '../run-options.ts';
import { type CliCommand, day } from '../options.ts';
import { counted, exactNumber } from '../../shared/base/exact-number.ts';
import { print, printJson, showLine } from '../output.ts';
import { printedCommand, withRunnableCommands } from '../printed-command.ts';
import { oneLine, styleText } from '../terminal-text.ts';
import { table } from '../text-table.ts';

type Mismatch = Omit<LinkDamage, 'brand'>;

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
    .option('--restore', 'first put back the newest usable version of each damaged document')
    .takes('lake', 'database', 'settings', 'credentials')
    .option('--json', 'print the findings as one JSON document')
    .example(['verify orders transactions --from 2026-01-01 --to 2026-01-31', 'verify --restore'])
    .action(async (names: string[], { restore = false, ...flags }: RunFlags & { restore?: boolean }) => {
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
      const tables = await verifyTables(access.lake.store, lake, wanted, flags, unusable);
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
  name: 'sync' | 'rebuild' | 'erase',
  { report, brand, day }: Pick<CommittedDay, 'report' | 'brand' | 'day'>,
): string {
  return printedCommand(name, [report.name, '--brand', brand, '--from', day, '--to', day]);
}

async function verifyTables(
  store: ObjectStore,
  lake: readonly ReportLedgers[],
  wanted: readonly string[],
  flags: RunFlags,
  unusable: ReadonlySet<string>,
): Promise<VerifiedTable[]> {
  const { from = '', to = '9' } = flags;
  const isWanted = (day: string) => day >= from && day <= to;
  const isOfBrand = ({ brand }: { brand: string }) => brand === (flags.brand ?? brand);
  const verified: VerifiedTable[] = [];
  for (const report of Object.values(reports)) {
    if (wanted.length > 0 && !wanted.includes(report.table)) continue;
    const ledgers = lake.filter((each) => each.report === report && isOfBrand(each));
    const ofBrands: VerifiedTable[] = [];
    for (const own of ledgers) ofBrands.push(await verifyBrand(store, own, isWanted, unusable));
    const isInScope = (damage: LinkDamage) =>
      isWanted(damage.dt) &&
      isOfBrand(damage) &&
      !unusable.has(ledgerKey(report.name, damage.brand, monthOf(damage.dt)));
    for (const { brand, ...mismatch } of await damagedLinks(store, report, ledgers, isInScope)) {
      const own = ofBrands.find((each) => each.brand === brand);
      const mismatches = own?.mismatches ?? [];
      // Healing a damaged snapshot also replaces its link.
      if (!mismatches.some(({ dt, snapshot }) => dt === mismatch.dt && snapshot === mismatch.snapshot))
        mismatches.push(mismatch);
      // A link in the place of a folder is removed before files are linked into the folder.
      if (!own) ofBrands.unshift({ brand, table: report.table, days: 0, rows: 0, mismatches });
    }
    verified.push(...ofBrands.filter(({ days, mismatches }) => days + mismatches.length > 0));
  }
  showLine('');
  return verified;
}

async function verifyBrand(
  store: ObjectStore,
  ledgers: ReportLedgers,
  isWanted: (day: string) => boolean,
  unusable: ReadonlySet<string>,
): Promise<VerifiedTable> {
  const { brand, report } = ledgers;
  const days = committedDays([ledgers]).filter(({ day }) => isWanted(day));
  const mismatches: Mismatch[] = [];
  for (const day of unusable.has(schemaKey(report.table)) ? [] : days) {
    showLine(`${brand} ${report.table} ${day.day} · ${counted(day.committed.rows, 'row')}`);
    const mismatch = await verifyDay(store, day);
    if (mismatch) mismatches.push(mismatch);
  }
  const rows = days.reduce((sum, { committed }) => sum + committed.rows, 0);
  return { brand, table: report.table, days: days.length, rows, mismatches };
}

async function damagedLinks(
  store: ObjectStore,
  report: ReportDefinition,
  ledgers: readonly ReportLedgers[],
  isInScope: (damage: LinkDamage) => boolean,
): Promise<LinkDamage[]> {
  const { localFolder } = store;
  if (localFolder === undefined) return [];
  const days = committedDays(ledgers);
  const objectsOf = (committed: Committed | undefined) => [
    committed?.snapshot,
    committed?.history?.object?.snapshot,
  ];
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
    const latest = (await entryNow(store, report, brand, day))?.committed;
    if (latest && latest.snapshot !== committed.snapshot)
      return verifyDay(store, { ...current, committed: latest });
    // The link keeps the rows of a file that was deleted or replaced. Without it, the day is rebuilt from its raw records or,
    // if they are no longer kept, read again.
    const link = linkAt(file.table, dayPartition(brand, day), file.snapshot);
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

async function entryNow(store: ObjectStore, report: ReportDefinition, brand: string, day: string) {
  return (await readLedger(store, report, brand, monthOf(day))).days[day];
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
