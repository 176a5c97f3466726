/*
 * Points the catalog at what the ledger says (I3). A commit and its publication are two writes, and a process may die
 * between them, so the ledger remembers which commits are not published yet, and every run publishes those first.
 */
import { monthOf } from '../days.ts';
import { type BrandReportsError, rethrowBugs } from '../errors.ts';
import { type DayChanges, type Ledger, recordPublished } from '../lake/documents/ledger.ts';
import {
  DAY_PARTITION_KEYS,
  brandPartitions,
  changesPartition,
  dayPartition,
  partitionPath,
} from '../lake/paths.ts';
import { errorSummary } from '../outcome.ts';
import type { Catalog, Partition, TableShape } from '../ports.ts';
import { changesTable } from '../history/index.ts';
import type { BrandReport } from '../context/context.ts';

/** The table's shape for the catalog, with every column found so far. */
export async function tableShape({
  report,
  schema,
}: Pick<BrandReport, 'report' | 'schema'>): Promise<TableShape> {
  const { columns } = await schema.cached();
  const { table: name, description } = report;
  return { name, description, partitionKeys: DAY_PARTITION_KEYS, columns };
}

/**
 * Publishes what the ledger says now, the day's changes too, and reads the ledger again, until both agree; the ledger's
 * next write notes it. Without the second read a slow run could point the partition at its snapshot after a newer one was
 * committed and published. A version is published at least once: a run that dies before the ledger's next write leaves the
 * publication to the next run, which repeats it.
 */
export async function publishDay(context: BrandReport, day: string): Promise<void> {
  const { catalog } = context.lake;
  const ledger = context.ledger(monthOf(day));
  let wanted = (await ledger.cached()).days[day]?.committed;
  while (catalog && wanted !== undefined) {
    const { snapshot, changes } = wanted;
    await catalog.setSnapshot(await tableShape(context), dayPartition(context.brand, day), snapshot);
    if (changes) await publishChanges(context, catalog, day, changes);
    await ledger.refresh();
    const wallMs = context.clock.wallMs();
    ledger.updateLater((current) => recordPublished(current, day, snapshot, wallMs));
    const { committed } = (await ledger.cached()).days[day] ?? {};
    const isCurrent = committed?.snapshot === snapshot && committed.changes?.snapshot === changes?.snapshot;
    if (committed?.published && isCurrent) return;
    wanted = committed;
  }
}

/** Whether the table is there is asked only here: most runs change no closed day. */
async function publishChanges(
  { brand, report }: BrandReport,
  catalog: Catalog,
  day: string,
  { snapshot }: DayChanges,
): Promise<void> {
  const partition = changesPartition(brand, report.name, day);
  await catalog.ensureTable(changesTable);
  await catalog.setSnapshot(changesTable, partition, snapshot);
}

/** Publishes these days; one that cannot be published stops no other and stays pending. @returns the first failure */
export async function publishDays(
  context: BrandReport,
  days: readonly string[],
): Promise<BrandReportsError | undefined> {
  let first: BrandReportsError | undefined;
  for (const day of days) {
    try {
      await publishDay(context, day);
    } catch (thrown) {
      const error = rethrowBugs(thrown);
      first ??= error;
      context.log({ event: 'publication_failed', day, ...errorSummary(error) });
    }
  }
  return first;
}

/** The days of these months whose partitions, of records and of changes, do not point, alone, at the committed snapshots. */
export async function pendingPublications(
  context: BrandReport,
  ledgers: Iterable<Ledger>,
): Promise<string[]> {
  const { catalog } = context.lake;
  const committed = [...ledgers].flatMap(({ days }) =>
    Object.entries(days).flatMap(([day, entry]) => (entry.committed ? [{ day, ...entry.committed }] : [])),
  );
  const { brand, report } = context;
  const pointsAlone = await pointersOf(catalog, report.table, brandPartitions(brand), committed);
  const changed = committed.filter(({ changes }) => changes !== undefined);
  const pointsAtChanges = await pointersOf(
    catalog,
    changesTable.name,
    changesPartition(brand, report.name),
    changed,
  );
  const isPending = ({ day, published, snapshot, changes }: (typeof committed)[number]) =>
    !published ||
    !pointsAlone(dayPartition(brand, day), snapshot) ||
    (changes && !pointsAtChanges(changesPartition(brand, report.name, day), changes.snapshot));
  return catalog ? committed.filter(isPending).map(({ day }) => day) : [];
}

/** Whether a partition of these days points at a snapshot and at no other one. */
async function pointersOf(
  catalog: Catalog | undefined,
  table: string,
  leading: Partition,
  of: readonly { day: string }[],
): Promise<(partition: Partition, snapshot: string) => boolean> {
  const days = of.map(({ day }) => day).sort();
  const [from, to] = [days[0], days.at(-1)];
  if (!catalog || from === undefined || to === undefined) return () => false;
  const snapshots = await catalog.snapshotsByPartition(table, leading, { from, to });
  return (partition, snapshot) => {
    const pointed = snapshots.get(partitionPath(partition)) ?? [];
    return pointed.length === 1 && pointed[0] === snapshot;
  };
}

/** Whether a committed day of the month is not known to be published. */
export function hasPendingPublication({ lake }: BrandReport, { days }: Ledger): boolean {
  return (
    lake.catalog !== undefined && Object.values(days).some(({ committed }) => committed?.published === false)
  );
}
