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
import type { BrandReport } from './context.ts';

/** The table's shape for the catalog, with every column found so far. */
export async function tableShape({
  report,
  schema,
}: Pick<BrandReport, 'report' | 'schema'>): Promise<TableShape> {
  const { columns } = await schema.cached();
  return { name: report.table, partitionKeys: DAY_PARTITION_KEYS, columns };
}

/**
 * Publishes what the ledger says now, and reads the ledger again, until both agree; the ledger's next write notes it.
 * Without the second read a slow run could point the partition at its snapshot after a newer one was committed and
 * published.
 */
export async function publishDay(context: BrandReport, day: string): Promise<void> {
  const { catalog } = context.lake;
  const ledger = context.ledger(monthOf(day));
  let wanted = (await ledger.cached()).days[day]?.committed?.snapshot;
  while (catalog && wanted !== undefined) {
    const snapshot = wanted;
    await catalog.setSnapshot(await tableShape(context), dayPartition(context.brand, day), snapshot);
    await ledger.refresh();
    const serviceMs = context.clock.serviceMs();
    // A run that dies before the next write leaves it to the next one, which publishes the same once more.
    ledger.updateLater((current) => recordPublished(current, day, snapshot, serviceMs));
    const { committed } = (await ledger.cached()).days[day] ?? {};
    if (committed?.published && committed.snapshot === snapshot) return;
    wanted = committed?.snapshot;
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

/** The days of these months whose partition does not point, alone, at the committed snapshot. */
export async function pendingPublications(
  context: BrandReport,
  ledgers: Iterable<Ledger>,
): Promise<string[]> {
  const { catalog } = context.lake;
  const committed = [...ledgers].flatMap(({ days }) =>
    Object.entries(days).flatMap(([day, entry]) => (entry.committed ? [{ day, ...entry.committed }] : [])),
  );
  const days = committed.map(({ day }) => day).sort();
  const [from, to] = [days[0], days.at(-1)];
  if (!catalog || from === undefined || to === undefined) return [];
  const { brand, report } = context;
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
