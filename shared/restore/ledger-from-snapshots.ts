import { monthOf } from '../days.ts';
import { createLakeDocuments } from '../lake/documents/lake-documents.ts';
import type { DayChanges, Ledger, VersionContent } from '../lake/documents/ledger.ts';
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
import { damageOf, fileIn } from '../lake/table/readable-file.ts';
import { readContent } from '../lake/table/read-content.ts';
import { summaryOfRows } from '../history/index.ts';
import { lifecycleOfFound } from '../lifecycle/index.ts';
import { type LakeAccess, createBrandReport } from '../context/context.ts';
import type { ListedObject, ObjectStore } from '../ports.ts';
import type { ReportDefinition, ReportRegistry } from '../reports/definition.ts';

/**
 * Makes the ledger of a month from its snapshots. How a day was read is lost, and so is whether its version contains the whole
 * day: the next runs read it again. Until then readers keep the snapshot (I2, I3). A day without a readable snapshot is left
 * out. Other versions, changes and states of a day are kept, because the service does not send them again.
 */
export async function ledgerFromSnapshots(
  options: LakeAccess & { reports: ReportRegistry },
  { report, brand, month }: { report: ReportDefinition; brand: string; month: string },
): Promise<Ledger> {
  const { lake, newId, clock } = options;
  const { store } = lake;
  const now = new Date(clock.wallMs()).toISOString();
  const ctx = createBrandReport(options, createLakeDocuments({ store, ...options }), {
    ...{ brand, report, policy: undefined },
  });
  const prefixOf = (table: string) => partitionPrefix(table, brandPartitions(brand));
  const pointed = await lake.catalog?.snapshotsByPartition(report.table, brandPartitions(brand));
  const changesByDay = await objectsByDay(store, month, changesPrefix(brand, report.name));
  const statesByDay =
    report.lifecycle && (await objectsByDay(store, month, prefixOf(report.lifecycle.table)));
  const days: Ledger['days'] = {};
  for (const [day, snapshots] of await objectsByDay(store, month, prefixOf(report.table))) {
    const ids = pointed?.get(partitionPath(dayPartition(brand, day))) ?? [];
    const changed = await firstReadable(changesByDay.get(day), (object) => changesIn(store, object));
    // Without a catalog, the last change shows which version is current, because a rollback leaves newer snapshots.
    const current =
      snapshots.find(({ id }) => ids.includes(id)) ?? snapshots.find(({ id }) => id === changed?.changeId);
    const version = await firstReadable([...(current ? [current] : []), ...snapshots], (object) =>
      contentOf(store, object),
    );
    if (!version) continue;
    const committed = {
      ...{ state: 'unconfirmed' as const, attempt: `restore-${newId()}`, pages: 0, queryFingerprint: '' },
      ...{ readFrom: `${day}T00:00:00.000Z`, readTo: `${day}T00:00:00.000Z` },
      ...version,
      // A crash may have left two links in a folder: neither is current until the publication is repeated.
      published: !pointed || (ids.length === 1 && ids[0] === version.snapshot),
      ...(changed?.changeId === version.snapshot && { changes: changed.changes }),
    };
    const states = await firstReadable(statesByDay?.get(day), (object) => contentOf(store, object));
    const lifecycle = states && (await lifecycleOfFound(ctx, committed, states));
    // I3: the other versions are kept as long as the settings allow, from now on, because the day may have been rolled back.
    const others = snapshots.filter(({ id }) => id !== version.snapshot).toReversed();
    days[day] = {
      committed: { ...committed, ...(lifecycle && { lifecycle }) },
      ...(others.length > 0 && { superseded: others.map(({ id }) => ({ snapshot: id, at: now })) }),
      versionsFrom: now,
    };
  }
  return { version: 1, report: report.name, brand, month, days, recentWrites: [newId()] };
}

interface ObjectOfDay extends ListedObject {
  day: string;
  id: string;
}

/** The objects of the month below a prefix by day, the newest first. */
async function objectsByDay(
  store: ObjectStore,
  month: string,
  prefix: string,
): Promise<Map<string, ObjectOfDay[]>> {
  const stored = (await Array.fromAsync(store.list(prefix))).flatMap((object): ObjectOfDay[] => {
    const of = parseDayKey(prefix, object.key);
    const isOfMonth = of && monthOf(of.day) === month && snapshotOfKey(object.key) === of.id;
    return isOfMonth ? [{ ...object, ...of }] : [];
  });
  const newestFirst = stored.sort((a, b) => b.modifiedAt.getTime() - a.modifiedAt.getTime());
  return Map.groupBy(newestFirst, ({ day }) => day);
}

/** @throws BrandReportsError if the store fails: the object may be intact */
async function firstReadable<T>(
  objects: readonly ObjectOfDay[] = [],
  read: (object: ObjectOfDay) => Promise<T>,
): Promise<T | undefined> {
  for (const object of objects)
    try {
      return await read(object);
    } catch (thrown) {
      damageOf(thrown);
    }
  return undefined;
}

async function contentOf(store: ObjectStore, object: ObjectOfDay): Promise<VersionContent> {
  return { snapshot: object.id, ...(await readContent(fileIn(store, object))) };
}

/** The changes of a day; `changeId`: the version that the last change led to. */
async function changesIn(
  store: ObjectStore,
  object: ObjectOfDay,
): Promise<{ changes: DayChanges; changeId: string }> {
  const { readParquetRows } = await loadCodedFile();
  const { id: snapshot, bytes } = object;
  const rows = await Array.fromAsync(readParquetRows(fileIn(store, object)));
  const { changeId, ...summary } = summaryOfRows(rows);
  return { changeId, changes: { snapshot, bytes, rows: rows.length, ...summary } };
}
