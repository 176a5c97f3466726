import { DAY_MS, monthOf } from '../base/days.ts';
import { undamaged } from '../lake/cas-document.ts';
import { type DayEntry, type Ledger, forgetVersions } from '../lake/ledger.ts';
import { ageMs } from '../lake/stored-time.ts';
import {
  brandPartitions,
  brandRawPrefix,
  parseDayKey,
  partitionPrefix,
  snapshotOfKey,
} from '../lake/paths.ts';
import type { ListedObject, Partition } from '../ports.ts';
import { dayTables } from '../reports/definition.ts';
import type { RunContext } from '../context/context.ts';

/**
 * Removes old snapshots of a table that is built from ledgers, unless the catalog points at them. Its rows can
 * always be rebuilt from the ledgers. No document records when a snapshot was replaced, so the age of the next newer
 * snapshot counts (I3). A run may be about to publish the newest snapshot; if that snapshot is older than
 * the grace period, the run died before.
 */
export async function vacuumLedgerTable(ctx: RunContext, table: string): Promise<void> {
  const { brand, lake, clock } = ctx;
  if (!lake.catalog) return;
  const leading = brandPartitions(brand);
  const published = await publishedSnapshots(ctx, table, leading);
  const listed = await Array.fromAsync(lake.store.list(partitionPrefix(table, leading)));
  const snapshots = listed.filter(({ key }) => snapshotOfKey(key) !== undefined);
  const oldestFirst = snapshots.toSorted((a, b) => a.modifiedAt.getTime() - b.modifiedAt.getTime());
  const keys = oldestFirst.flatMap((snapshot, index) => {
    const { modifiedAt } = oldestFirst[index + 1] ?? snapshot;
    const isInUse = clock.earlierMs() - modifiedAt.getTime() < SNAPSHOT_GRACE_MS;
    return published.has(snapshotOfKey(snapshot.key) ?? '') || isInUse ? [] : [snapshot.key];
  });
  if (keys.length > 0) await lake.store.delete(keys);
}

/** I3: the longest query that may still read a snapshot after nothing references it. */
export const SNAPSHOT_GRACE_MS = DAY_MS;

/** The longest pause after which a run may still resume what it staged. */
const ATTEMPT_GRACE_MS = 7 * DAY_MS;

/**
 * Deletes snapshots that no ledger and no catalog references, and attempts that no ledger references. Each report's runs
 * delete only their own. A day that is being read is left alone: its snapshot may be written but not committed yet (I4).
 * @returns the months in which it found snapshots, for `forgetOldVersions`
 */
export async function vacuum(ctx: RunContext): Promise<string[]> {
  const { report, brand, lake, clock } = ctx;
  const nowMs = clock.earlierMs();
  const isWithinGrace = (at: string | null) => at === null || ageMs(at, nowMs) < SNAPSHOT_GRACE_MS;
  // The object with a day's changes is replaced together with a version of the day.
  const mayBeRead = ({ superseded = [] }: DayEntry) => superseded.some(({ at }) => isWithinGrace(at));
  const snapshots: { keys: string[]; months: string[] }[] = [];
  for (const table of dayTables(report)) {
    const published = await publishedSnapshots(ctx, table, brandPartitions(brand));
    const isNamed = (id: string, entry: DayEntry) =>
      table === report.table
        ? entry.committed?.snapshot === id || entry.superseded?.some(({ snapshot }) => snapshot === id)
        : entry.committed?.history?.object?.snapshot === id || mayBeRead(entry);
    snapshots.push(
      await unreferenced(
        ctx,
        partitionPrefix(table, brandPartitions(brand)),
        SNAPSHOT_GRACE_MS,
        (id, entry) => published.has(id) || isNamed(id, entry) || entry.claim !== undefined,
      ),
    );
  }
  const attempts = await unreferenced(
    ctx,
    brandRawPrefix(report.name, brand),
    ATTEMPT_GRACE_MS,
    (id, entry) => entry.committed?.attempt === id || entry.claim?.attempt === id,
  );
  const keys = [...snapshots, attempts].flatMap((each) => each.keys);
  if (keys.length > 0) await lake.store.delete(keys);
  return [...new Set(snapshots.flatMap(({ months }) => months))];
}

/**
 * I3: forgets versions that are older than `snapshotRetentionDays`. The vacuum of the next day deletes them, because a
 * query as of then may have begun to read them. So call it after today's vacuum is recorded.
 */
export async function forgetOldVersions(ctx: RunContext, months: readonly string[]): Promise<void> {
  // A snapshot of Iceberg references a version for as long as it is kept: up to a day longer, because of the snapshots of
  // a day the last one alone stays.
  const keptMs = (ctx.brandSettings.snapshotRetentionDays + (ctx.iceberg ? 1 : 0)) * DAY_MS;
  const most = ctx.iceberg && Number.POSITIVE_INFINITY;
  for (const month of months)
    await ctx.ledger(month).update((ledger) => forgetVersions(ledger, ctx.clock.earlierMs(), keptMs, most));
}

async function publishedSnapshots(
  { lake }: RunContext,
  table: string,
  partitions: Partition,
): Promise<ReadonlySet<string>> {
  const byPartition = await lake.catalog?.snapshotsByPartition(table, partitions);
  return new Set([...(byPartition?.values() ?? [])].flat());
}

/**
 * Objects with foreign keys are left alone.
 * @returns also the months whose ledgers were read, except damaged ones
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
    const reading = ledgers.get(month) ?? undamaged(ctx.ledger(month).refresh());
    ledgers.set(month, reading);
    const ledger = await reading;
    if (ledger && !isReferenced(id, ledger.days[day] ?? {})) keys.push(...objects.map(({ key }) => key));
  }
  const read = await Promise.all([...ledgers.values()]);
  return { keys, months: read.flatMap((ledger) => ledger?.month ?? []) };
}
