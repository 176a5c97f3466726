import { daysOfMonth, monthOf } from '../days.ts';
import { asBrandReportsError } from '../errors.ts';
import { createLakeDocuments } from '../lake/documents/lake-documents.ts';
import type { Committed, DayChanges, Ledger, Superseded, VersionContent } from '../lake/documents/ledger.ts';
import {
  brandPartitions,
  changesPrefix,
  dayPartition,
  parseDayKey,
  partitionPath,
  partitionPrefix,
  snapshotOfKey,
} from '../lake/paths.ts';
import { loadCodedFile } from '../lake/table/load-parquet.ts';
import { fileIn } from '../lake/table/readable-file.ts';
import { readContent } from '../lake/table/read-content.ts';
import { summaryOfRows } from '../history/index.ts';
import { lifecycleOfFound } from '../lifecycle/index.ts';
import { type LakeAccess, createBrandReport } from '../context/context.ts';
import type { Lake, ListedObject } from '../ports.ts';
import type { ReportDefinition, ReportRegistry } from '../reports/definition.ts';
import type { Restored } from './restore-schema.ts';

/** The month of a report and brand whose ledger is restored. */
interface LedgerScope {
  report: ReportDefinition;
  brand: string;
  month: string;
}

/** The input for restoring documents. */
export interface RestoreOptions extends LakeAccess {
  reports: ReportRegistry;
}

/**
 * Restores the ledger from the published snapshots. How a day was read is lost, and so is whether its version contains the
 * whole day: the next run reads the day again. Until then readers keep the snapshot (I2, I3).
 */
export async function restoreLedger(options: RestoreOptions, scope: LedgerScope): Promise<Restored> {
  const { lake, newId, clock } = options;
  const { report, brand, month } = scope;
  const now = new Date(clock.wallMs()).toISOString();
  const found = await snapshotsByDay(lake, month, report.table, brand);
  const ofLifecycle = report.lifecycle && (await snapshotsByDay(lake, month, report.lifecycle.table, brand));
  const documents = createLakeDocuments({ store: lake.store, ...options });
  const ctx = createBrandReport(options, documents, { brand, report, policy: undefined });
  const ofChanges = await objectsByDay(lake, month, changesPrefix(brand, report.name));
  const days: Ledger['days'] = {};
  const notes: string[] = [];
  for (const [day, snapshots] of [...found].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const recorded = await recordedChanges(lake, ofChanges.get(day));
    const { current, others, isAlone } = versionsAmong(snapshots, recorded, now);
    const content = await contentOf(lake, current);
    if ('problem' in content) {
      notes.push(`${day}: ${content.problem}, so it counts as missing`);
      continue;
    }
    if (others.length > 0)
      notes.push(
        `${day}: ${others.length} other versions are kept; when each was current, and whether it is whole, is no longer known`,
      );
    const changes = recorded.found.find(({ changeId }) => changeId === content.snapshot)?.changes;
    if (!changes && recorded.note !== undefined) notes.push(`${day}: ${recorded.note}`);
    const committed = {
      ...unknownReading(day, `repair-${newId()}`),
      ...content,
      published: isAlone,
      ...(changes && { changes }),
    };
    const { byAge = [], pointed } = ofLifecycle?.get(day) ?? {};
    const rows = await contentOf(
      lake,
      byAge.findLast(({ id }) => pointed?.includes(id) ?? true),
    );
    const lifecycle = 'problem' in rows ? undefined : await lifecycleOfFound(ctx, committed, rows);
    days[day] = {
      committed: { ...committed, ...(lifecycle && { lifecycle }) },
      ...(others.length > 0 && { superseded: others }),
      versionsFrom: now,
    };
  }
  const { erased = [] } = await ctx.reportState.cached();
  for (const day of daysOfMonth(month))
    if (erased.some(({ from, to }) => from <= day && day <= to)) days[day] = { erasedAt: now };
  const ledger: Ledger = { version: 1, report: report.name, brand, month, days, recentWrites: [newId()] };
  return {
    document: ledger,
    notes: [
      `${Object.keys(days).length} days were found in ${sourceOf(lake)}`,
      'how the days were read, failures and attempts in progress are no longer known: the next runs read these days again',
      ...notes,
    ],
  };
}

function sourceOf({ catalog }: Lake): string {
  return catalog
    ? 'the catalog'
    : 'the snapshots: for each day the version of its last change, or the newest, because no catalog was named (--database)';
}

interface Snapshot extends ListedObject {
  day: string;
  id: string;
}

/** The snapshots of a day, the oldest first, and the ids that the catalog points at; missing: there is no catalog. */
interface DaySnapshots {
  byAge: readonly Snapshot[];
  pointed?: readonly string[];
}

async function snapshotsByDay(
  lake: Lake,
  month: string,
  table: string,
  brand: string,
): Promise<Map<string, DaySnapshots>> {
  const leading = brandPartitions(brand);
  const stored = await objectsByDay(lake, month, partitionPrefix(table, leading));
  const pointed = await lake.catalog?.snapshotsByPartition(table, leading);
  const pointedOn = (day: string) =>
    pointed && { pointed: pointed.get(partitionPath(dayPartition(brand, day))) ?? [] };
  return new Map([...stored].map(([day, byAge]) => [day, { byAge, ...pointedOn(day) }]));
}

/** The versions of a day. */
interface DayVersions {
  /** The version that readers find; `undefined` if the catalog points at no snapshot that is there. */
  current: Snapshot | undefined;
  /** I3: the other versions, the oldest first. They are kept as long as the settings allow, from now on: the day may have been rolled back. */
  others: Superseded[];
  /** `false`: a crash has left two links in a folder, and neither is current until the publication is repeated. */
  isAlone: boolean;
}

/** Without a catalog, the last change decides which version is current, because a rollback leaves newer snapshots. */
function versionsAmong(
  { byAge, pointed }: DaySnapshots,
  { found }: RecordedChanges,
  now: string,
): DayVersions {
  const changed = byAge.find(({ id }) => id === found[0]?.changeId);
  const current = pointed ? byAge.findLast(({ id }) => pointed.includes(id)) : (changed ?? byAge.at(-1));
  const others = byAge
    .filter((snapshot) => snapshot !== current)
    .map(({ id }) => ({ snapshot: id, at: now }));
  return { current, others, isAlone: !pointed || pointed.length === 1 };
}

/** The objects below a prefix by day of the month, the oldest first. */
async function objectsByDay(
  { store }: Lake,
  month: string,
  prefix: string,
): Promise<Map<string, Snapshot[]>> {
  const stored = (await Array.fromAsync(store.list(prefix))).flatMap((object): Snapshot[] => {
    const of = parseDayKey(prefix, object.key);
    const isOfMonth = of && monthOf(of.day) === month && snapshotOfKey(object.key) === of.id;
    return isOfMonth ? [{ ...object, ...of }] : [];
  });
  const byAge = stored.sort((a, b) => a.modifiedAt.getTime() - b.modifiedAt.getTime());
  return Map.groupBy(byAge, ({ day }) => day);
}

async function contentOf(
  { store }: Lake,
  snapshot: Snapshot | undefined,
): Promise<VersionContent | { problem: string }> {
  if (!snapshot) return { problem: 'no snapshot that readers find is left' };
  try {
    return { snapshot: snapshot.id, ...(await readContent(fileIn(store, snapshot))) };
  } catch (thrown) {
    return { problem: `${snapshot.key} cannot be read (${asBrandReportsError(thrown).message})` };
  }
}

/** The content of the objects of a day's changes, the newest first; `changeId`: the version that the last change of an object led to. */
interface RecordedChanges {
  found: readonly { changes: DayChanges; changeId: string }[];
  /** Set if an object cannot be read. */
  note?: string;
}

async function recordedChanges({ store }: Lake, objects: readonly Snapshot[] = []): Promise<RecordedChanges> {
  const { readParquetRows } = await loadCodedFile();
  const found: { changes: DayChanges; changeId: string }[] = [];
  let note: string | undefined;
  for (const object of objects.toReversed()) {
    const { id: snapshot, bytes, key } = object;
    try {
      const rows = await Array.fromAsync(readParquetRows(fileIn(store, object)));
      const { changeId, ...summary } = summaryOfRows(rows);
      found.push({ changeId, changes: { snapshot, bytes, rows: rows.length, ...summary } });
    } catch (thrown) {
      note ??= `its changes are lost: ${key}: ${asBrandReportsError(thrown).message}`;
    }
  }
  return { found, ...(note !== undefined && { note }) };
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
