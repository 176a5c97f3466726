import { monthOf } from '../days.ts';
import type { Ledger, VersionContent } from '../lake/documents/ledger.ts';
import {
  beforeTable,
  brandPartitions,
  dayPartition,
  parseDayKey,
  partitionPath,
  partitionPrefix,
  snapshotOfKey,
} from '../lake/paths.ts';
import { readParquetRows } from '../lake/table/coded-columns.ts';
import { damageOf, fileIn } from '../lake/table/readable-file.ts';
import { readContent } from '../lake/table/read-content.ts';
import type { LakeAccess } from '../context/context.ts';
import type { ListedObject, ObjectStore } from '../ports.ts';
import type { ReportDefinition, ReportRegistry } from '../reports/definition.ts';

/**
 * Makes the ledger of a month from its snapshots. How a day was read is lost, and so is whether its version contains the whole
 * day: the next runs read it again. Until then readers keep the snapshot (I2, I3). A day without a readable snapshot is left
 * out. The other versions of a day are kept. Its history begins anew with that snapshot.
 */
export async function ledgerFromSnapshots(
  options: LakeAccess & { reports: ReportRegistry },
  { report, brand, month }: { report: ReportDefinition; brand: string; month: string },
): Promise<Ledger> {
  const { lake, newId, clock } = options;
  const { store } = lake;
  const now = new Date(clock.wallMs()).toISOString();
  const prefixOf = (table: string) => partitionPrefix(table, brandPartitions(brand));
  const pointed = await lake.catalog?.snapshotsByPartition(report.table, brandPartitions(brand));
  const changesByDay = await objectsByDay(store, month, prefixOf(beforeTable(report.table)));
  const days: Ledger['days'] = {};
  for (const [day, snapshots] of await objectsByDay(store, month, prefixOf(report.table))) {
    const ids = pointed?.get(partitionPath(dayPartition(brand, day))) ?? [];
    const named = snapshots.filter(({ id }) => ids.includes(id));
    const version = await firstReadable(store, report, [...named, ...snapshots]);
    if (!version) continue;
    const changes = changesByDay.get(day) ?? [];
    const committed = {
      ...{ state: 'unconfirmed' as const, attempt: `restore-${newId()}`, pages: 0, queryFingerprint: '' },
      ...{ readFrom: `${day}T00:00:00.000Z`, readTo: `${day}T00:00:00.000Z` },
      ...version,
      // A crash may have left two links in a folder: neither is current until the publication is repeated. It also
      // removes the changes before this version.
      published: !pointed || (ids.length === 1 && ids[0] === version.snapshot && changes.length === 0),
    };
    const place = await placeAfter(store, changes);
    const history = { by: now, place, lastBy: now, anewPlace: place, anewBy: now };
    // I3: the other versions are kept as long as the settings allow, from now on, because the day may have been rolled back.
    const others = snapshots.filter(({ id }) => id !== version.snapshot).toReversed();
    days[day] = {
      committed: { ...committed, history },
      ...(others.length > 0 && { superseded: others.map(({ id }) => ({ snapshot: id, at: now })) }),
    };
  }
  return { version: 1, report: report.name, brand, month, days, recentWrites: [newId()] };
}

interface ObjectOfDay extends ListedObject {
  day: string;
  id: string;
}

/** The newest of a day come first. */
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

/** Places go on counting, because closes name earlier places of the day. */
async function placeAfter(store: ObjectStore, objects: readonly ObjectOfDay[]): Promise<number> {
  let next = 0;
  for (const object of objects)
    try {
      for await (const { _place } of readParquetRows(fileIn(store, object), ['_place']))
        next = Math.max(next, Number(_place) + 1);
    } catch (thrown) {
      damageOf(thrown);
    }
  return next;
}

async function firstReadable(
  store: ObjectStore,
  report: ReportDefinition,
  objects: readonly ObjectOfDay[],
): Promise<VersionContent | undefined> {
  for (const object of objects)
    try {
      return {
        snapshot: object.id,
        ...(await readContent(fileIn(store, object), { measure: report.measure })),
      };
    } catch (thrown) {
      damageOf(thrown);
    }
  return undefined;
}
