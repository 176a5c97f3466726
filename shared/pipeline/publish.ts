import { monthOf } from '../days.ts';
import { type BrandReportsError, rethrowBugs } from '../errors.ts';
import { type Ledger, recordPublished } from '../lake/documents/ledger.ts';
import { errorSummary } from '../outcome.ts';
import { dayPartition, partitionPath } from '../lake/paths.ts';
import type { TableShape } from '../ports.ts';
import type { BrandReport } from './context.ts';

/** The table as the catalog is to know it, with every column met so far. */
export async function tableShape({
  report,
  schema,
}: Pick<BrandReport, 'report' | 'schema'>): Promise<TableShape> {
  const { columns } = await schema.cached();
  return { name: report.table, partitionKeys: ['brand', 'dt'], columns };
}

/**
 * Points the catalog at what the ledger says now and reads the ledger again, until both agree: a pointer that
 * arrives late is put right by the run that set it.
 */
export async function publishDay(run: BrandReport, day: string): Promise<void> {
  const { catalog } = run.lake;
  const ledger = run.ledger(monthOf(day));
  let wanted = (await ledger.cached()).days[day]?.committed?.snapshot;
  while (catalog && wanted !== undefined) {
    const pointed = wanted;
    await catalog.setSnapshot(await tableShape(run), dayPartition(run.brand, day), pointed);
    await ledger.refresh();
    const { days } = await ledger.update((current) => recordPublished(current, day, pointed));
    const { committed } = days[day] ?? {};
    if (committed?.published && committed.snapshot === pointed) return;
    wanted = committed?.snapshot;
  }
}

/** Switches what is owed; a day that cannot be switched stops no other and stays owed. @returns the first failure */
export async function publishPending(
  run: BrandReport,
  ledgers: Iterable<Ledger>,
): Promise<BrandReportsError | undefined> {
  let first: BrandReportsError | undefined;
  for (const day of await pendingPublications(run, ledgers)) {
    try {
      await publishDay(run, day);
    } catch (thrown) {
      const error = rethrowBugs(thrown);
      first ??= error;
      run.log({ event: 'publication_failed', day, ...errorSummary(error) });
    }
  }
  return first;
}

/** The days of these months whose partition does not point, alone, at what the ledger says: switches that are owed. */
export async function pendingPublications(run: BrandReport, ledgers: Iterable<Ledger>): Promise<string[]> {
  const { catalog } = run.lake;
  if (!catalog) return [];
  const pointers = await catalog.snapshotsByPartition(run.report.table, [['brand', run.brand]]);
  return [...ledgers].flatMap(({ days }) =>
    Object.entries(days).flatMap(([day, { committed }]) => {
      if (!committed) return [];
      const pointed = pointers.get(partitionPath(dayPartition(run.brand, day))) ?? [];
      const agrees = committed.published && pointed.length === 1 && pointed[0] === committed.snapshot;
      return agrees ? [] : [day];
    }),
  );
}
