/*
 * Points the catalog at the versions in the ledger (I3). A commit and its publication are two writes, and a process may
 * die between them. So the ledger records which commits are not published yet, and every run publishes these first.
 */
import { DAY_PARTITION_KEYS } from '../base/column-types.ts';
import { monthOf } from '../base/days.ts';
import { type BrandReportsError, rethrowBugs } from '../base/errors.ts';
import { type Committed, type Ledger, hasSameObjects, recordPublished } from '../lake/ledger.ts';
import { snapshotsByTable } from '../lake/read.ts';
import { beforeTable, brandPartitions, dayPartition, partitionPath } from '../lake/paths.ts';
import { errorSummary } from '../base/outcome.ts';
import { beforeShape } from '../history/index.ts';
import type { TableShape } from '../ports.ts';
import { dayTables } from '../reports/definition.ts';
import type { BrandReport } from '../context/context.ts';

export async function tableShape({
  report,
  schema,
}: Pick<BrandReport, 'report' | 'schema'>): Promise<TableShape> {
  const { columns } = await schema.cached();
  const { table: name, description } = report;
  return { name, description, partitionKeys: DAY_PARTITION_KEYS, columns };
}

export async function dayShapes(
  context: Pick<BrandReport, 'report' | 'schema'>,
): Promise<[own: TableShape, before: TableShape]> {
  const own = await tableShape(context);
  return [own, beforeShape(context.report, own.columns)];
}

export async function ensureDayTables(
  context: Pick<BrandReport, 'report' | 'schema' | 'lake'>,
): Promise<void> {
  for (const shape of await dayShapes(context)) await context.lake.catalog?.ensureTable(shape);
}

async function pointAt(context: BrandReport, day: string, committed: Committed): Promise<void> {
  const { report, brand, lake } = context;
  const shapes = await dayShapes(context);
  const partition = dayPartition(brand, day);
  const { history, published } = committed;
  // What records were before comes first, so that no query misses a record in both tables (I3).
  for (const [table, snapshot] of snapshotsByTable(report, committed)) {
    const shape = shapes.find(({ name }) => name === table);
    if (shape) await lake.catalog?.setSnapshot(shape, partition, snapshot);
  }
  // A partition may be there if changes are no longer known, or if a published day is published again.
  if (!history?.object && (published || history?.anewPlace !== undefined))
    await lake.catalog?.removePartition(beforeTable(report.table), partition);
}

/**
 * Publishes the version in the ledger, then reads the ledger again, until both agree. Without the second read, a slow
 * run could point the partition at its own snapshot after a newer snapshot was committed and published. The next write
 * of the ledger records the publication. If the run dies before that write, the next run publishes the version again.
 */
export async function publishDay(context: BrandReport, day: string): Promise<void> {
  const ledger = context.ledger(monthOf(day));
  let target = (await ledger.cached()).days[day]?.committed;
  while (context.lake.catalog && target !== undefined) {
    const objects = target;
    await pointAt(context, day, objects);
    await ledger.refresh();
    const wallMs = context.clock.wallMs();
    ledger.updateLater((current) => recordPublished(current, day, objects, wallMs));
    const { committed } = (await ledger.cached()).days[day] ?? {};
    if (committed?.published && hasSameObjects(committed, objects)) return;
    target = committed;
  }
}

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
  const pointed = new Map<string, ReadonlyMap<string, readonly string[]>>();
  for (const table of dayTables(report))
    pointed.set(table, await catalog.snapshotsByPartition(table, brandPartitions(brand), { from, to }));
  const isPending = ({ day, published, ...objects }: (typeof committed)[number]) => {
    const wanted = new Map(snapshotsByTable(report, objects));
    const isWrong = (table: string) => {
      const found = pointed.get(table)?.get(partitionPath(dayPartition(brand, day))) ?? [];
      return found.join() !== (wanted.get(table) ?? '');
    };
    return !published || dayTables(report).some(isWrong);
  };
  return committed.filter(isPending).map(({ day }) => day);
}

export function hasPendingPublication({ lake }: BrandReport, { days }: Ledger): boolean {
  return (
    lake.catalog !== undefined && Object.values(days).some(({ committed }) => committed?.published === false)
  );
}
