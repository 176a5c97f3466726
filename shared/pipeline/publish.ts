/*
 * Points the catalog at what the ledger says (I3). A commit and its publication are two writes, and a process may die
 * between them, so the ledger remembers which commits are not published yet, and every run publishes those first.
 */
import { monthOf } from '../days.ts';
import { type BrandReportsError, rethrowBugs } from '../errors.ts';
import { type Ledger, recordPublished } from '../lake/documents/ledger.ts';
import { DAY_PARTITION_KEYS, brandPartitions, dayPartition, partitionPath } from '../lake/paths.ts';
import { errorSummary } from '../outcome.ts';
import type { TableShape } from '../ports.ts';
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
 * Publishes what the ledger says now, and reads the ledger again, until both agree; the ledger's
 * next write notes it. Without the second read a slow run could point the partition at its snapshot after a newer one was
 * committed and published. A version is published at least once: a run that dies before the ledger's next write leaves the
 * publication to the next run, which repeats it.
 */
export async function publishDay(context: BrandReport, day: string): Promise<void> {
  const { catalog } = context.lake;
  const ledger = context.ledger(monthOf(day));
  let wanted = (await ledger.cached()).days[day]?.committed;
  while (catalog && wanted !== undefined) {
    const { snapshot } = wanted;
    await catalog.setSnapshot(await tableShape(context), dayPartition(context.brand, day), snapshot);
    await ledger.refresh();
    const wallMs = context.clock.wallMs();
    ledger.updateLater((current) => recordPublished(current, day, snapshot, wallMs));
    const { committed } = (await ledger.cached()).days[day] ?? {};
    if (committed?.published && committed.snapshot === snapshot) return;
    wanted = committed;
  }
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

/** The days of these months whose partitions do not point, alone, at the committed snapshots. */
export async function pendingPublications(
  { brand, report, lake: { catalog } }: BrandReport,
  ledgers: Iterable<Ledger>,
): Promise<string[]> {
  const committed = [...ledgers].flatMap(({ days }) =>
    Object.entries(days).flatMap(([day, entry]) => (entry.committed ? [{ day, ...entry.committed }] : [])),
  );
  const days = committed.map(({ day }) => day).sort();
  const [from, to] = [days[0], days.at(-1)];
  if (!catalog || from === undefined || to === undefined) return [];
  const snapshots = await catalog.snapshotsByPartition(report.table, brandPartitions(brand), { from, to });
  const isPending = ({ day, published, snapshot }: (typeof committed)[number]) => {
    const pointed = snapshots.get(partitionPath(dayPartition(brand, day))) ?? [];
    return !published || pointed.length !== 1 || pointed[0] !== snapshot;
  };
  return committed.filter(isPending).map(({ day }) => day);
}

/** Whether a committed day of the month is not known to be published. */
export function hasPendingPublication({ lake }: BrandReport, { days }: Ledger): boolean {
  return (
    lake.catalog !== undefined && Object.values(days).some(({ committed }) => committed?.published === false)
  );
}
