import { DAY_MS, monthOf } from '../days.ts';
import { refreshUndamaged } from '../lake/documents/cas-document.ts';
import { type DayEntry, type Ledger, forgetVersions } from '../lake/documents/ledger.ts';
import {
  CHANGES_TABLE,
  brandPartitions,
  brandRawPrefix,
  changesPartition,
  parseDayKey,
  partitionPrefix,
} from '../lake/paths.ts';
import type { ListedObject, Partition } from '../ports.ts';
import type { RunContext } from '../context/context.ts';

/** I3: the longest query that may still read a snapshot that is named no more. */
export const SNAPSHOT_GRACE_MS = DAY_MS;

/** The longest pause after which a run may still resume what it staged. */
const ATTEMPT_GRACE_MS = 7 * DAY_MS;

/**
 * Garbage collection: removes snapshots, of changes too, older than a day that neither ledger nor catalog references, and
 * attempts that no ledger references after a week. Only here, and only by the report's own runs, is anything of the lake
 * deleted. A day that is being read is left alone: its snapshot may be written but not committed yet (I4).
 * @returns the months of which it found snapshots, for `forgetOldVersions`
 */
export async function vacuum(ctx: RunContext): Promise<string[]> {
  const { report, brand, lake, clock } = ctx;
  const published = await publishedSnapshots(ctx, report.table, brandPartitions(brand));
  const snapshots = await unreferenced(
    ctx,
    partitionPrefix(report.table, brandPartitions(brand)),
    SNAPSHOT_GRACE_MS,
    (id, { committed, superseded, claim }) =>
      published.has(id) ||
      committed?.snapshot === id ||
      superseded?.some(({ snapshot }) => snapshot === id) ||
      claim !== undefined,
  );
  const nowMs = clock.earlierMs();
  const isWithinGrace = (at: string | null) =>
    at === null || Math.abs(nowMs - Date.parse(at)) < SNAPSHOT_GRACE_MS;
  const changesOfReport = changesPartition(brand, report.name);
  const publishedChanges = await publishedSnapshots(ctx, CHANGES_TABLE, changesOfReport);
  const changes = await unreferenced(
    ctx,
    partitionPrefix(CHANGES_TABLE, changesOfReport),
    SNAPSHOT_GRACE_MS,
    (id, entry) => {
      // A snapshot of changes is replaced together with one of the day.
      const mayBeRead = entry.superseded?.some(({ at }) => isWithinGrace(at));
      const isCurrent = publishedChanges.has(id) || entry.committed?.changes?.snapshot === id;
      return isCurrent || mayBeRead || entry.claim !== undefined;
    },
  );
  const attempts = await unreferenced(
    ctx,
    brandRawPrefix(report.name, brand),
    ATTEMPT_GRACE_MS,
    (id, entry) => entry.committed?.attempt === id || entry.claim?.attempt === id,
  );
  const keys = [...snapshots.keys, ...changes.keys, ...attempts.keys];
  if (keys.length > 0) await lake.store.delete(keys);
  return snapshots.months;
}

/**
 * I3: what is forgotten now is deleted by the vacuum of the next day: a query as of then may have begun to read it. So it
 * is to be called once the vacuum of today is recorded.
 */
export async function forgetOldVersions(ctx: RunContext, months: readonly string[]): Promise<void> {
  const keptMs = ctx.brandSettings.snapshotRetentionDays * DAY_MS;
  const nowMs = ctx.clock.earlierMs();
  for (const month of months)
    await ctx.ledger(month).update((ledger) => forgetVersions(ledger, nowMs, keptMs));
}

/** The ids that the catalog points at. */
async function publishedSnapshots(
  { lake }: RunContext,
  table: string,
  partitions: Partition,
): Promise<ReadonlySet<string>> {
  const byPartition = await lake.catalog?.snapshotsByPartition(table, partitions);
  return new Set([...(byPartition?.values() ?? [])].flat());
}

/**
 * The keys of a brand's snapshots or attempts whose objects are all old enough and not referenced by the day's entry.
 * Objects whose keys are not ours are left alone.
 * @returns also the months whose ledgers were read for that, without those that are damaged
 */
async function unreferenced(
  ctx: RunContext,
  brandPrefix: string,
  graceMs: number,
  isReferenced: (id: string, entry: DayEntry) => boolean | undefined,
): Promise<{ keys: string[]; months: string[] }> {
  const folders = new Map<string, { day: string; id: string; objects: ListedObject[] }>();
  for await (const object of ctx.lake.store.list(brandPrefix)) {
    const parsed = parseDayKey(brandPrefix, object.key);
    if (!parsed) continue;
    const name = `${parsed.day}/${parsed.id}`;
    const folder = folders.get(name) ?? { ...parsed, objects: [] };
    folder.objects.push(object);
    folders.set(name, folder);
  }
  const keys: string[] = [];
  const ledgers = new Map<string, Promise<Ledger | undefined>>();
  for (const { day, id, objects } of folders.values()) {
    const newestMs = Math.max(...objects.map(({ modifiedAt }) => modifiedAt.getTime()));
    if (ctx.clock.earlierMs() - newestMs < graceMs) continue;
    const month = monthOf(day);
    const reading = ledgers.get(month) ?? refreshUndamaged(ctx.ledger(month));
    ledgers.set(month, reading);
    const ledger = await reading;
    if (ledger && !isReferenced(id, ledger.days[day] ?? {})) keys.push(...objects.map(({ key }) => key));
  }
  const read = await Promise.all([...ledgers.values()]);
  return { keys, months: read.flatMap((ledger) => ledger?.month ?? []) };
}
