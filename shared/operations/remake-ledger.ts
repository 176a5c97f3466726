import { monthOf } from '../days.ts';
import { asBrandReportsError } from '../errors.ts';
import type { Committed, DayChanges, DayEntry, Ledger, VersionContent } from '../lake/documents/ledger.ts';
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
import type { LakeAccess } from '../pipeline/context.ts';
import type { Lake, ListedObject, Partition } from '../ports.ts';
import type { ReportDefinition, ReportRegistry } from '../reports/definition.ts';
import type { Remade } from './remake-schema.ts';

/** The month of a report and brand whose ledger is made again. */
interface LedgerScope {
  report: ReportDefinition;
  brand: string;
  month: string;
}

/** What documents are made again with. */
export interface RemakeOptions extends LakeAccess {
  reports: ReportRegistry;
}

/**
 * The ledger as the published snapshots show it. How a day was read is lost: it counts as open and read up to its
 * beginning, so the next run reads all of it. Until then readers keep the snapshot (I2, I3).
 */
export async function remakeLedger(
  { lake, newId, clock }: RemakeOptions,
  scope: LedgerScope,
): Promise<Remade> {
  const { report, brand, month } = scope;
  const found = await snapshotsByDay(lake, scope);
  const changesByDay = await newestChanges(lake, scope);
  const now = new Date(clock.wallMs()).toISOString();
  const days: Ledger['days'] = {};
  const notes: string[] = [];
  for (const [day, snapshots] of [...found].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const content = await contentOf(lake, snapshots.current);
    if ('problem' in content) {
      notes.push(`${day}: ${content.problem}, so it counts as missing`);
      continue;
    }
    const superseded = versionsBefore(snapshots);
    const changes = await changesOf(lake, changesByDay.get(day));
    if (superseded.length > 0)
      notes.push(
        `${day}: ${superseded.length} earlier versions are kept; when each was current is not known any more`,
      );
    if ('note' in changes) notes.push(`${day}: ${changes.note}`);
    days[day] = {
      committed: {
        ...unknownReading(day, `repair-${newId()}`),
        ...content,
        published: snapshots.isAlone,
        ...('changes' in changes && { changes: changes.changes }),
      },
      ...(superseded.length > 0 && { superseded }),
      versionsFrom: now,
    };
  }
  const ledger: Ledger = { version: 1, report: report.name, brand, month, days, recentWrites: [newId()] };
  return {
    document: ledger,
    notes: [
      `${Object.keys(days).length} days were found in ${sourceOf(lake)}`,
      'how the days were read, failures and attempts in progress are not known any more: the next runs read these days again',
      ...notes,
    ],
  };
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

async function contentOf(
  { store }: Lake,
  snapshot: Snapshot | undefined,
): Promise<VersionContent | { problem: string }> {
  if (!snapshot) return { problem: 'no snapshot of it is left that readers find' };
  try {
    return { snapshot: snapshot.id, ...(await readContent(fileIn(store, snapshot))) };
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
