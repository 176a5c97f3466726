import { monthOf } from '../days.ts';
import { asBrandReportsError } from '../errors.ts';
import { createLakeDocuments } from '../lake/documents/lake-documents.ts';
import type { Committed, DayChanges, DayEntry, Ledger } from '../lake/documents/ledger.ts';
import {
  CHANGES_TABLE,
  brandPartitions,
  changesPartition,
  dayPartition,
  parseDayKey,
  partitionPath,
  partitionPrefix,
  snapshotOfKey,
} from '../lake/paths.ts';
import { loadParquet } from '../lake/table/load-parquet.ts';
import { fileIn } from '../lake/table/readable-file.ts';
import { readContent } from '../lake/table/read-content.ts';
import { changesOfRows, summaryOf } from '../pipeline/change-rows.ts';
import { type LakeAccess, createBrandReport } from '../pipeline/context.ts';
import type { Lake, ListedObject, Partition } from '../ports.ts';
import type { ReportDefinition, ReportRegistry } from '../reports/definition.ts';
import { settingsOf } from '../run.ts';
import type { Settings } from '../settings/settings.ts';
import {
  type DayTraces,
  type FoundSnapshot,
  type LeftAttempt,
  type ProofContext,
  attemptsByDay,
  proveReading,
  rebuildLost,
} from './prove-reading.ts';
import type { Remade } from './remake-schema.ts';

/** The month of a report and brand whose ledger is made again. */
interface LedgerScope {
  report: ReportDefinition;
  brand: string;
  month: string;
}

/** What a ledger is made again with. */
export interface RemakeOptions extends LakeAccess {
  reports: ReportRegistry;
  /** Missing: raw records prove nothing, because which of them are a day's depends on its time zone and the key. */
  settings?: Settings;
}

/**
 * The ledger as the published snapshots and the raw records tell it. How a day was read is taken from the progress of
 * the attempt whose records make the same snapshot. A day of which none does counts as open and read up to its beginning:
 * the next runs read it whole again, and until then readers keep the snapshot (I2, I3). A day whose snapshot is lost is
 * built from its raw records.
 */
export async function remakeLedger(options: RemakeOptions, scope: LedgerScope): Promise<Remade> {
  const { lake, newId, clock } = options;
  const { report, brand, month } = scope;
  const proof = proofContext(options, scope);
  const attempts = proof ? await attemptsByDay(proof) : new Map<string, LeftAttempt[]>();
  const found = await snapshotsByDay(lake, scope);
  const changesByDay = await newestChanges(lake, scope);
  const now = new Date(clock.wallMs()).toISOString();
  const days: Ledger['days'] = {};
  const notes: string[] = [];
  const ofMonth = [...new Set([...found.keys(), ...attempts.keys()])].filter((day) => monthOf(day) === month);
  for (const day of ofMonth.sort()) {
    const lost = found.get(day) ?? { current: undefined, older: [], isAlone: true, count: 0 };
    const traces = { attempts: attempts.get(day) ?? [], snapshots: lost.count };
    const remade = await remakeDay({ lake, proof, traces }, scope, day, lost, newId);
    notes.push(...remade.notes);
    if (!remade.committed) continue;
    const superseded = versionsBefore(lost);
    const changes = await changesOf(lake, changesByDay.get(day));
    if (superseded.length > 0)
      notes.push(
        `${day}: ${superseded.length} earlier versions are kept; when each was current is not known any more`,
      );
    if ('note' in changes) notes.push(`${day}: ${changes.note}`);
    days[day] = {
      committed: { ...remade.committed, ...('changes' in changes && { changes: changes.changes }) },
      ...(superseded.length > 0 && { superseded }),
      versionsFrom: now,
    };
  }
  const ledger: Ledger = { version: 1, report: report.name, brand, month, days, recentWrites: [newId()] };
  const unknown = 'failures, attempts in progress and whether earlier readings agreed are not known any more';
  const isWithout = proof ? [] : [noSettings(options, scope)];
  return {
    document: ledger,
    notes: [
      `${Object.keys(days).length} days were found in ${sourceOf(lake)}`,
      unknown,
      ...isWithout,
      ...notes,
    ],
  };
}

function proofContext(options: RemakeOptions, { report, brand }: LedgerScope): ProofContext | undefined {
  const { settings, lake } = options;
  if (!settings || !Object.hasOwn(settings.brands, brand)) return undefined;
  const documents = createLakeDocuments({ store: lake.store, ...options });
  const ofReport = settingsOf({ settings }, brand, report);
  return {
    ...createBrandReport(options, documents, { brand, report, policy: ofReport.policy }),
    ...ofReport,
    progress: (day, attempt, first) => documents.progress(report.name, brand, day, attempt, first),
  };
}

function noSettings({ settings }: RemakeOptions, { brand }: LedgerScope): string {
  const why = settings
    ? `the settings do not have the brand ${brand}`
    : 'no settings were given (--settings)';
  return `${why}, so that raw records prove nothing: every day of the month is read again`;
}

function sourceOf({ catalog }: Lake): string {
  return catalog
    ? 'the catalog'
    : 'the snapshots, the newest of each day, because no catalog was named (--database)';
}

/** The snapshots of a day. */
interface DaySnapshots {
  /** What readers find; `undefined` where the catalog points at none of those that are there. */
  current: Snapshot | undefined;
  /** Those written before it, the oldest first. */
  older: Snapshot[];
  /** Two links of a folder are left by a crash: neither is current until the publication is repeated. */
  isAlone: boolean;
  /** How many there are of the day, those written behind the current one too. */
  count: number;
}

interface Snapshot extends ListedObject {
  day: string;
  id: string;
}

async function snapshotsByDay(
  lake: Lake,
  { report, brand, month }: LedgerScope,
): Promise<Map<string, DaySnapshots>> {
  const stored = (await listedSnapshots(lake, report.table, brandPartitions(brand))).filter(
    ({ day }) => monthOf(day) === month,
  );
  const pointed = await lake.catalog?.snapshotsByPartition(report.table, brandPartitions(brand));
  const days = new Map<string, DaySnapshots>();
  for (const [day, snapshots] of Map.groupBy(stored, ({ day }) => day)) {
    const current = pointed?.get(partitionPath(dayPartition(brand, day))) ?? [];
    const byAge = snapshots.toSorted((a, b) => a.modifiedAt.getTime() - b.modifiedAt.getTime());
    const newest = (pointed ? byAge.filter(({ id }) => current.includes(id)) : byAge).at(-1);
    days.set(day, {
      current: newest,
      older: byAge.slice(0, newest ? byAge.indexOf(newest) : byAge.length),
      isAlone: !pointed || current.length === 1,
      count: byAge.length,
    });
  }
  return days;
}

async function listedSnapshots(lake: Lake, table: string, leading: Partition): Promise<Snapshot[]> {
  const prefix = partitionPrefix(table, leading);
  return (await Array.fromAsync(lake.store.list(prefix))).flatMap((object) => {
    const { day, id } = parseDayKey(prefix, object.key) ?? {};
    return day !== undefined && id !== undefined && snapshotOfKey(object.key) === id
      ? [{ ...object, day, id }]
      : [];
  });
}

async function remakeDay(
  { lake, proof, traces }: { lake: Lake; proof: ProofContext | undefined; traces: DayTraces },
  { report, brand }: LedgerScope,
  day: string,
  { current, isAlone }: DaySnapshots,
  newId: () => string,
): Promise<{ committed?: Committed; notes: string[] }> {
  const read = await contentOf(lake, current);
  if ('found' in read) {
    const proven = proof && (await proveReading(proof, day, traces, read.found));
    const { columns: _columns, ...content } = read.found;
    const committed = {
      ...(proven ?? { ...unknownReading(day, `repair-${newId()}`), ...content }),
      published: isAlone,
    };
    const unproven = `${day}: no raw records prove how it was read, so it counts as open and is read again`;
    return { committed, notes: proven ? [provenNote(day, proven)] : proof ? [unproven] : [] };
  }
  const rebuilt = proof && (await rebuildLost(proof, day, traces));
  if (!rebuilt) return { notes: [`${day}: ${read.problem}, so it counts as missing`] };
  const published = lake.catalog === undefined;
  return {
    committed: { ...rebuilt, published },
    notes: [
      `${day}: ${read.problem}, so ${brand} ${report.table} is built again; ${provenNote(day, rebuilt)}`,
    ],
  };
}

function provenNote(
  day: string,
  { attempt, state, readFrom, readTo, settled, confirmed }: Omit<Committed, 'published'>,
): string {
  const again = confirmed ? '' : '; the next run reads it again';
  return `${day}: ${settled ? 'settled' : state}, read at ${readFrom} up to ${readTo}, as the raw records of ${attempt} prove${again}`;
}

async function contentOf(
  { store }: Lake,
  snapshot: Snapshot | undefined,
): Promise<{ found: FoundSnapshot } | { problem: string }> {
  if (!snapshot) return { problem: 'no snapshot of it is left that readers find' };
  try {
    const { readParquetColumns } = await loadParquet();
    const file = fileIn(store, snapshot);
    const content = await readContent(file);
    return { found: { snapshot: snapshot.id, ...content, columns: await readParquetColumns(file) } };
  } catch (thrown) {
    return { problem: `${snapshot.key} cannot be read (${asBrandReportsError(thrown).message})` };
  }
}

/** I3: they are kept as long as the settings say; since `versionsFrom`, a question of the past is not answered by them. */
function versionsBefore({ current, older }: DaySnapshots): NonNullable<DayEntry['superseded']> {
  if (!current) return [];
  return older.map(({ id }, index) => ({
    snapshot: id,
    at: (older[index + 1] ?? current).modifiedAt.toISOString(),
  }));
}

/** By day, the snapshot of its changes that readers find; without a catalog the newest one. */
async function newestChanges(lake: Lake, { report, brand }: LedgerScope): Promise<Map<string, Snapshot>> {
  const leading = changesPartition(brand, report.name);
  const pointed = await lake.catalog?.snapshotsByPartition(CHANGES_TABLE, leading);
  const found = (await listedSnapshots(lake, CHANGES_TABLE, leading)).filter(
    ({ day, id }) =>
      !pointed || pointed.get(partitionPath(changesPartition(brand, report.name, day)))?.includes(id),
  );
  const byAge = found.sort((a, b) => a.modifiedAt.getTime() - b.modifiedAt.getTime());
  return new Map(byAge.map((snapshot) => [snapshot.day, snapshot]));
}

async function changesOf(
  lake: Lake,
  snapshot: Snapshot | undefined,
): Promise<{ changes: DayChanges } | { note: string } | object> {
  if (!snapshot) return {};
  try {
    return { changes: await readChanges(lake, snapshot) };
  } catch (thrown) {
    return { note: `what changed of it is lost: ${snapshot.key}: ${asBrandReportsError(thrown).message}` };
  }
}

async function readChanges({ store }: Lake, snapshot: Snapshot): Promise<DayChanges> {
  const { readParquetRows } = await loadParquet();
  const changes = changesOfRows(await Array.fromAsync(readParquetRows(fileIn(store, snapshot))));
  const last = changes.at(-1);
  if (!last) throw new Error('it has no change');
  return { snapshot: snapshot.id, bytes: snapshot.bytes, times: changes.length, last: summaryOf(last) };
}

function unknownReading(
  day: string,
  attempt: string,
): Omit<Committed, 'rows' | 'bytes' | 'digest' | 'snapshot' | 'published'> {
  const beginning = `${day}T00:00:00.000Z`;
  return {
    state: 'open',
    settled: false,
    identicalPasses: 0,
    confirmed: false,
    attempt,
    pages: 0,
    readFrom: beginning,
    readTo: beginning,
    queryFingerprint: '',
  };
}
