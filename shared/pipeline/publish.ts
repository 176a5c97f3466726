import { monthOf } from '../days.ts';
import { type BrandReportsError, expected } from '../errors.ts';
import { type Ledger, switchedDay } from '../lake/documents/ledger.ts';
import { dayPartition, partitionPath } from '../lake/paths.ts';
import type { TableShape } from '../ports.ts';
import type { BrandReport } from './context.ts';

/** The table as the catalog is to know it, with every column met so far. */
export async function tableShape({
  report,
  schema,
}: Pick<BrandReport, 'report' | 'schema'>): Promise<TableShape> {
  const { columns } = await schema.known();
  return { name: report.table, partitionKeys: ['brand', 'dt'], columns };
}

/**
 * Points the catalog at what the ledger says now and reads the ledger again, until both agree: a pointer that
 * arrives late is put right by the run that set it.
 */
export async function switchDay(run: BrandReport, day: string): Promise<void> {
  const { catalog } = run.lake;
  const ledger = run.ledger(monthOf(day));
  let wanted = (await ledger.known()).days[day]?.published?.snapshot;
  while (catalog && wanted !== undefined) {
    const pointed = wanted;
    await catalog.point(await tableShape(run), dayPartition(run.brand, day), pointed);
    await ledger.fresh();
    const { days } = await ledger.update((current) => switchedDay(current, day, pointed));
    const { published } = days[day] ?? {};
    if (published?.switched && published.snapshot === pointed) return;
    wanted = published?.snapshot;
  }
}

/** Switches what is owed; a day that cannot be switched stops no other and stays owed. @returns the first failure */
export async function switchOwed(
  run: BrandReport,
  ledgers: Iterable<Ledger>,
): Promise<BrandReportsError | undefined> {
  let first: BrandReportsError | undefined;
  for (const day of await owedSwitches(run, ledgers)) {
    try {
      await switchDay(run, day);
    } catch (thrown) {
      const error = expected(thrown);
      first ??= error;
      const { kind, code, message } = error;
      const { brand, report } = run;
      run.log({
        level: 'error',
        event: 'switch_failed',
        brand,
        report: report.name,
        day,
        kind,
        code,
        message,
      });
    }
  }
  return first;
}

/** The days of these months whose partition does not point, alone, at what the ledger says: switches that are owed. */
export async function owedSwitches(run: BrandReport, ledgers: Iterable<Ledger>): Promise<string[]> {
  const { catalog } = run.lake;
  if (!catalog) return [];
  const pointers = await catalog.pointedAt(run.report.table, [['brand', run.brand]]);
  return [...ledgers].flatMap(({ days }) =>
    Object.entries(days).flatMap(([day, { published }]) => {
      if (!published) return [];
      const pointed = pointers.get(partitionPath(dayPartition(run.brand, day))) ?? [];
      const agrees = published.switched && pointed.length === 1 && pointed[0] === published.snapshot;
      return agrees ? [] : [day];
    }),
  );
}
