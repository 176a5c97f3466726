import { monthOf } from '../days.ts';
import { asBrandReportsError } from '../errors.ts';
import type { Committed, DayChanges, Ledger, Superseded, VersionContent } from '../lake/documents/ledger.ts';
import {
  CHANGES_TABLE,
  brandPartitions,
  changesPartition,
  parseDayKey,
  partitionPath,
  partitionPrefix,
  snapshotOfKey,
} from '../lake/paths.ts';
import { loadParquet } from '../lake/table/load-parquet.ts';
import { fileIn } from '../lake/table/readable-file.ts';
import { readContent } from '../lake/table/read-content.ts';
import { changesInRows } from '../history/index.ts';
import type { LakeAccess } from '../context/context.ts';
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
  const found = await snapshotsByDay(lake, month, report.table, brandPartitions(brand));
  const ofChanges = await snapshotsByDay(lake, month, CHANGES_TABLE, changesPartition(brand, report.name));
  const now = new Date(clock.wallMs()).toISOString();
  const days: Ledger['days'] = {};
  const notes: string[] = [];
  for (const [day, { current, older, isAlone }] of [...found].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const content = await contentOf(lake, current);
    if ('problem' in content) {
      notes.push(`${day}: ${content.problem}, so it counts as missing`);
      continue;
    }
    if (older.length > 0)
      notes.push(
        `${day}: ${older.length} earlier versions are kept; when each was current is not known any more`,
      );
    const { changes, note } = await changesOf(lake, ofChanges.get(day)?.current);
    if (note !== undefined) notes.push(`${day}: ${note}`);
    days[day] = {
      committed: {
        ...unknownReading(day, `repair-${newId()}`),
        ...content,
        published: isAlone,
        ...(changes && { changes }),
      },
      ...(older.length > 0 && { superseded: older }),
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
  /** I3: those written before it, the oldest first, are kept as long as the settings say. */
  older: Superseded[];
  /** Two links of a folder are left by a crash: neither is current until the publication is repeated. */
  isAlone: boolean;
}

interface Snapshot extends ListedObject {
  day: string;
  id: string;
}

/** By day of the month, the snapshots of a table. Without a catalog the newest one is current. */
async function snapshotsByDay(
  { store, catalog }: Lake,
  month: string,
  table: string,
  leading: Partition,
): Promise<Map<string, DaySnapshots>> {
  const prefix = partitionPrefix(table, leading);
  const stored = (await Array.fromAsync(store.list(prefix))).flatMap((object): Snapshot[] => {
    const of = parseDayKey(prefix, object.key);
    const isOfMonth = of && monthOf(of.day) === month && snapshotOfKey(object.key) === of.id;
    return isOfMonth ? [{ ...object, ...of }] : [];
  });
  const pointed = await catalog?.snapshotsByPartition(table, leading);
  const days = new Map<string, DaySnapshots>();
  for (const [day, snapshots] of Map.groupBy(stored, ({ day }) => day)) {
    const ids = pointed?.get(partitionPath([...leading, ['dt', day]])) ?? [];
    const byAge = snapshots.toSorted((a, b) => a.modifiedAt.getTime() - b.modifiedAt.getTime());
    const current = (pointed ? byAge.filter(({ id }) => ids.includes(id)) : byAge).at(-1);
    const upToIt = current ? byAge.slice(0, byAge.indexOf(current) + 1) : [];
    const older = upToIt.slice(1).map((next, index) => ({
      snapshot: upToIt[index]?.id ?? '',
      at: next.modifiedAt.toISOString(),
    }));
    days.set(day, { current, older, isAlone: !pointed || ids.length === 1 });
  }
  return days;
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

/** What the ledger has to have of a day's changes; `note` where they cannot be read. */
async function changesOf(
  { store }: Lake,
  object: Snapshot | undefined,
): Promise<{ changes?: DayChanges; note?: string }> {
  if (!object) return {};
  const { id: snapshot, bytes } = object;
  try {
    const { readParquetRows } = await loadParquet();
    const rows = await Array.fromAsync(readParquetRows(fileIn(store, object)));
    return { changes: { snapshot, bytes, ...changesInRows(rows) } };
  } catch (thrown) {
    return { note: `what changed of it is lost: ${object.key}: ${asBrandReportsError(thrown).message}` };
  }
}

function unknownReading(
  day: string,
  attempt: string,
): Omit<Committed, 'rows' | 'bytes' | 'digest' | 'snapshot' | 'published'> {
  const beginning = `${day}T00:00:00.000Z`;
  return {
    state: 'unconfirmed',
    attempt,
    pages: 0,
    readFrom: beginning,
    readTo: beginning,
    queryFingerprint: '',
  };
}
