/*
 * Brings the catalog up to date with the ledgers, of which it is a projection. A stamp records for which program and
 * settings each brand was made, so that usually there is nothing to do, and a run with little time is continued by the
 * next. Brands follow one after the other, so memory does not grow with them. It may run even concurrently with syncs,
 * which publish the pending days of their brands before anything else (I3).
 */
import { hash } from 'node:crypto';
import { forEachConcurrent, mapConcurrent } from '../base/concurrency.ts';
import { monthOf } from '../base/days.ts';
import { configError, rethrowBugs } from '../base/errors.ts';
import { type LakeDocuments, createLakeDocuments } from '../lake/lake-documents.ts';
import { type Close, readCloses } from '../lake/close.ts';
import type { CatalogStamp } from '../lake/catalog-stamp.ts';
import { StoredSettings } from '../lake/brand-settings.ts';
import { type LedgerMonths, listLedgers } from '../lake/read.ts';
import { errorSummary } from '../base/outcome.ts';
import { type BrandReport, type LakeAccess, createBrandReport } from '../context/context.ts';
import { pendingPublications, publishDay } from '../day/publish.ts';
import { type Deadline, type TimeBudget, createTimeBudget } from '../context/time-budget.ts';
import { enabledPolicy } from '../planning/policy.ts';
import type { StoredSchema } from '../lake/schema.ts';
import { type ReportRegistry, allViews } from '../reports/definition.ts';
import type { Settings } from '../settings/settings.ts';
import { publishIceberg } from './iceberg/index.ts';
import { closesTable, writeCloses } from './closes-table.ts';
import { coverageTable, writeCoverage } from './coverage.ts';
import { ensureTable } from './ensure-tables.ts';
import { freshness } from './freshness.ts';
import { isNewer } from '../base/program-version.ts';
import { tableRoles, viewOver } from './view-roles.ts';

const CONCURRENCY = 8;

export interface UpdateOptions extends LakeAccess {
  /** They decide which days are due; partitions of brands that they lack are published too. */
  settings: Settings;
  reports: ReportRegistry;
  program: string;
  /** Which catalog it is: a copy of a lake, or a new stack, has another one, although the lake has a stamp. */
  catalogId: string;
  /** Whether everything is made anew, whatever the stamp shows. */
  again?: boolean;
  deadline?: Deadline;
}

export interface CatalogOutcome {
  /** `incomplete`: the next run continues. */
  status: 'complete' | 'incomplete';
  /** Days whose partition did not point at the committed snapshot and does now. */
  published: number;
  brandsLeft: string[];
}

/** @throws BrandReportsError if a table or view cannot be created */
export async function updateCatalog(options: UpdateOptions): Promise<CatalogOutcome> {
  const { lake, log, settings } = options;
  const stamp = createLakeDocuments({ store: lake.store, ...options }).catalogStamp();
  const found = options.again
    ? await stamp.update(({ recentWrites }) => ({ brands: {}, recentWrites }))
    : await stamp.cached();
  const wanted = wantedStamp(options, found);
  const isCurrent =
    found.program === wanted.program &&
    found.views === wanted.views &&
    Object.entries(found.brands).every(([brand, stamped]) => stamped === wanted.brand(brand));
  if (isCurrent) return { status: 'complete', published: 0, brandsLeft: [] };
  const time = createTimeBudget(options.deadline, options.clock.monotonicMs);
  await ensureAllTables(options);
  const reports = await listLedgers(lake.store, options.reports);
  let published = 0;
  const brandsLeft: string[] = [];
  for (const brand of new Set([...Object.keys(settings.brands), ...reports.map((each) => each.brand)])) {
    const stamped = wanted.brand(brand);
    if (found.brands[brand] === stamped) continue;
    const own = reports.filter((each) => each.brand === brand);
    const update = await updateBrand(options, time, own, await readCloses(lake.store, brand));
    published += update.published;
    if (update.isComplete)
      await stamp.update((current) => ({ ...current, brands: { ...current.brands, [brand]: stamped } }));
    else brandsLeft.push(brand);
  }
  const isComplete = brandsLeft.length === 0 && (await updateIceberg(options, time, reports));
  if (isComplete)
    await stamp.update((current) => ({ ...current, program: wanted.program, views: wanted.views }));
  const outcome = { status: isComplete ? ('complete' as const) : ('incomplete' as const), published };
  log({ event: 'catalog_updated', ...outcome, brandsLeft: brandsLeft.length });
  return { ...outcome, brandsLeft };
}

function wantedStamp({ program, settings, catalogId, lake }: UpdateOptions, found: CatalogStamp) {
  const newest = found.program !== undefined && isNewer(found.program, program) ? found.program : program;
  const place = [newest, catalogId, lake.store.url];
  const hashOf = (content: unknown) =>
    hash('sha256', JSON.stringify([...place, content]), 'hex').slice(0, 16);
  return {
    program: newest,
    views: hashOf(settings.brands),
    brand: (name: string) => hashOf(settings.brands[name] ?? null),
  };
}

async function ensureAllTables(options: UpdateOptions): Promise<void> {
  const { lake, reports } = options;
  const { catalog } = lake;
  if (!catalog)
    throw configError(
      'no_catalog',
      `The lake ${lake.store.url} has no catalog to update. Name a Glue database.`,
    );
  const documents = createLakeDocuments({ store: lake.store, ...options });
  const schemas = new Map<string, StoredSchema>();
  const stored = new StoredSettings(options);
  const roles = tableRoles(Object.values(reports), await stored.all(options.settings));
  for (const report of Object.values(reports)) {
    const schema = documents.schema(report);
    await ensureTable({ report, lake, schema, stored });
    schemas.set(report.table, await schema.cached());
  }
  await catalog.ensureTable(coverageTable);
  await catalog.ensureTable(closesTable);
  const views = [...allViews(reports).map((view) => viewOver(view, schemas, roles)), freshness];
  for (const view of views) await catalog.ensureView(view);
}

async function updateBrand(
  options: UpdateOptions,
  time: TimeBudget,
  reports: readonly LedgerMonths[],
  closes: readonly Close[],
): Promise<{ published: number; isComplete: boolean }> {
  const { skip, isComplete } = createSkipper(options, time);
  // Of this brand alone, so that its ledgers are freed after its turn.
  const documents = createLakeDocuments({ store: options.lake.store, ...options });
  let published = 0;
  const read = await mapConcurrent(reports, CONCURRENCY, async ({ report, brand, months }) => {
    const context = contextOf(options, documents, { report, brand });
    const ledgers = await mapConcurrent(months.toReversed(), CONCURRENCY, async (month) => {
      const ledger = await skip(() => context.ledger(month).cached());
      return ledger ? [ledger] : [];
    });
    return { context, ledgers: ledgers.flat() };
  });
  const pending = await mapConcurrent(read, CONCURRENCY, async ({ context, ledgers }) => {
    const days = await skip(() => pendingPublications(context, ledgers));
    return (days ?? []).map((day) => ({ context, day }));
  });
  const days = pending.flat().sort((a, b) => (a.day < b.day ? 1 : -1));
  await forEachConcurrent(days, CONCURRENCY, async ({ context, day }) => {
    await skip(async () => {
      await publishDay(context, day);
      await context.ledger(monthOf(day)).flush();
      published += 1;
    });
  });
  await forEachConcurrent(read, CONCURRENCY, async ({ context, ledgers }) => {
    const months = ledgers.map(({ month }) => month);
    await skip(async () => {
      const { hasReturnedRecords } = await context.reportState.cached();
      await writeCoverage(context, months, hasReturnedRecords);
      await writeCloses(context, closes);
    });
  });
  return { published, isComplete: isComplete() };
}

function contextOf(
  options: UpdateOptions,
  documents: LakeDocuments,
  { report, brand }: Pick<LedgerMonths, 'report' | 'brand'>,
): BrandReport {
  const policy = enabledPolicy(options.settings, brand, report);
  return createBrandReport(options, documents, { brand, report, policy });
}

async function updateIceberg(
  options: UpdateOptions,
  time: TimeBudget,
  reports: readonly LedgerMonths[],
): Promise<boolean> {
  const { skip, isComplete } = createSkipper(options, time);
  const documents = createLakeDocuments({ store: options.lake.store, ...options });
  const tables = new Map(reports.map((each) => [each.report, each]));
  for (const each of tables.values())
    await skip(() => publishIceberg(contextOf(options, documents, each), 'all'));
  return isComplete();
}

/** `skip` does a piece of work, unless time is up; after a failure that is no bug, the work is left to the next run. */
function createSkipper({ log }: UpdateOptions, time: TimeBudget) {
  let isComplete = true;
  const skip = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    try {
      if (!time.isUp()) return await work();
    } catch (thrown) {
      log({ event: 'catalog_entry_skipped', ...errorSummary(rethrowBugs(thrown)) });
    }
    isComplete = false;
    return undefined;
  };
  return { skip, isComplete: () => isComplete };
}
