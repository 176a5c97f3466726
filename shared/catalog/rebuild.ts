/*
 * Rebuilds the catalog from the lake. The ledgers are the truth; the catalog is a projection of them that may be lost,
 * edited by hand or older than the lake. It may run at any time, even concurrently with syncs. Partitions that fail, or
 * for which no time is left, wait for the next sync, which publishes pending days before anything else (I3).
 */
import { forEachConcurrent, mapConcurrent } from '../concurrency.ts';
import { monthOf } from '../days.ts';
import { configError, rethrowBugs } from '../errors.ts';
import { type LakeDocuments, createLakeDocuments } from '../lake/documents/lake-documents.ts';
import { readCloses } from '../lake/documents/close.ts';
import { StoredSettings } from '../lake/documents/brand-settings.ts';
import { listLedgers } from '../lake/documents/read.ts';
import { LEDGER_TABLES } from '../lake/paths.ts';
import { errorSummary } from '../outcome.ts';
import { type BrandReport, type LakeAccess, createBrandReport } from '../context/context.ts';
import { pendingPublications, publishDay } from '../pipeline/publish.ts';
import { type Deadline, createTimeBudget } from '../context/time-budget.ts';
import { enabledPolicy } from '../planning/policy.ts';
import type { Catalog, TableShape } from '../ports.ts';
import { type ReportRegistry, type View, dayTables } from '../reports/definition.ts';
import type { Settings } from '../settings/settings.ts';
import { changesTable, changeViews } from '../history/index.ts';
import { publishIceberg } from '../iceberg/index.ts';
import { writeChanges } from './changes.ts';
import { coverageTable, writeCoverage } from './coverage.ts';
import { publishCloses } from './closed-tables.ts';
import { ensureClosedTables, ensureTable } from './ensure-tables.ts';
import { freshness } from './freshness.ts';
import { tableRoles, viewOver } from './view-roles.ts';

const CONCURRENCY = 8;

/** The options of a rebuild; times are wall clock in milliseconds. */
export interface RebuildOptions extends LakeAccess {
  /** They decide which days are due; partitions of brands that they lack are published too. */
  settings?: Settings | undefined;
  reports: ReportRegistry;
  deadline?: Deadline;
  /** Failures that end the rebuild. Every other failure is logged, and its entry is left to the next sync. */
  isFatal: (thrown: unknown) => boolean;
}

/** What a rebuild did, and what it left to the syncs. */
export interface RebuildOutcome {
  /** `incomplete`: some partitions are left to the syncs, which publish them within a day. */
  status: 'complete' | 'incomplete';
  tables: string[];
  views: string[];
  /** Days whose partition did not point at the committed snapshot and does now. */
  published: number;
  /**
   * Days, months of the tables built from ledgers, closes and Iceberg tables that failed or for which no time was left.
   */
  remaining: number;
}

/** @throws BrandReportsError if a table or view cannot be created, or a failure is fatal */
export async function rebuildCatalog(options: RebuildOptions): Promise<RebuildOutcome> {
  const documents = createLakeDocuments({ store: options.lake.store, ...options });
  const views = await ensureAllTables(options, documents);
  const { published, remaining } = await publishAll(options, documents);
  return {
    status: remaining === 0 ? 'complete' : 'incomplete',
    tables: [...Object.values(options.reports).flatMap(dayTables), ...LEDGER_TABLES],
    views: views.map(({ name }) => name),
    published,
    remaining,
  };
}

/** Ensures all tables, then the views over them. */
async function ensureAllTables(options: RebuildOptions, documents: LakeDocuments): Promise<View[]> {
  const catalog = catalogOf(options);
  const { lake, reports } = options;
  const tables = new Map<string, TableShape['columns']>();
  const stored = new StoredSettings(options);
  const roles = tableRoles(Object.values(reports), await stored.all(options.settings));
  for (const report of Object.values(reports)) {
    const of = { report, lake, schema: documents.schema(report), stored };
    const { columns } = await ensureTable(of);
    await ensureClosedTables(of);
    tables.set(report.table, columns);
  }
  await catalog.ensureTable(coverageTable);
  await catalog.ensureTable(changesTable);
  const ofReports = Object.values(reports).flatMap((report) => report.views);
  const views = [
    ...ofReports.map((view) => viewOver(view, tables, roles)),
    ...[freshness, ...changeViews(reports)],
  ];
  for (const view of views) await catalog.ensureView(view);
  return views;
}

function catalogOf({ lake }: RebuildOptions): Catalog {
  if (lake.catalog) return lake.catalog;
  throw configError(
    'no_catalog',
    `The lake ${lake.store.url} has no catalog to rebuild. Name a Glue database.`,
  );
}

/**
 * Publishes the pending days of every ledger in the lake, newest days first, and writes the tables built from the
 * ledgers of all months.
 */
async function publishAll(
  options: RebuildOptions,
  documents: LakeDocuments,
): Promise<{ published: number; remaining: number }> {
  const { skip, remaining } = createSkipper(options);
  const months = await mapConcurrent(
    await monthsInLake(options, documents),
    CONCURRENCY,
    async ({ context, month }) => {
      const ledger = await skip(1, () => context.ledger(month).cached());
      return ledger ? [{ context, ledger }] : [];
    },
  );
  const reports = [...Map.groupBy(months.flat(), ({ context }) => context)].map(([context, own]) => ({
    context,
    ledgers: own.map(({ ledger }) => ledger),
  }));

  const pending = await mapConcurrent(reports, CONCURRENCY, async ({ context, ledgers }) => {
    const days = await skip(ledgers.length, () => pendingPublications(context, ledgers));
    return (days ?? []).map((day) => ({ context, day }));
  });
  const days = pending.flat().sort((a, b) => (a.day < b.day ? 1 : -1));
  let published = 0;
  await forEachConcurrent(days, CONCURRENCY, ({ context, day }) =>
    skip(1, async () => {
      await publishDay(context, day);
      await context.ledger(monthOf(day)).flush();
      published += 1;
    }),
  );
  await forEachConcurrent(reports, CONCURRENCY, ({ context, ledgers }) =>
    skip(ledgers.length, () =>
      coverMonths(
        context,
        ledgers.map(({ month }) => month),
      ),
    ),
  );

  const closes = await skip(1, () => readCloses(options.lake.store));
  await forEachConcurrent(closes ? reports : [], CONCURRENCY, ({ context }) =>
    skip(1, () => publishCloses(context, closes ?? [])),
  );

  const tables = new Map(reports.map(({ context }) => [context.report, context]));
  await forEachConcurrent([...tables.values()], CONCURRENCY, (context) =>
    skip(1, () => publishIceberg(context, 'all')),
  );
  return { published, remaining: remaining() };
}

/** Every month that has a ledger in the lake, newest first, whatever the settings are now. */
async function monthsInLake(
  options: RebuildOptions,
  documents: LakeDocuments,
): Promise<{ context: BrandReport; month: string }[]> {
  const { lake, reports, settings } = options;
  return (await listLedgers(lake.store, reports)).flatMap(({ brand, report, months }) => {
    const policy = enabledPolicy(settings, brand, report);
    const context = createBrandReport(options, documents, { brand, report, policy });
    return months.toReversed().map((month) => ({ context, month }));
  });
}

async function coverMonths(context: BrandReport, months: readonly string[]): Promise<void> {
  const { hasReturnedRecords } = await context.reportState.cached();
  await writeCoverage(context, months, hasReturnedRecords);
  await writeChanges(context, months);
}

/**
 * `skip` does a piece of work, unless time is up. It leaves the work to the next sync after a failure that is not fatal,
 * and adds its units to `remaining`.
 */
function createSkipper({ deadline, clock, log, isFatal }: RebuildOptions) {
  const time = createTimeBudget(deadline, clock.monotonicMs);
  let left = 0;
  const skip = async <T>(units: number, work: () => Promise<T>): Promise<T | undefined> => {
    try {
      if (!time.isUp()) return await work();
    } catch (thrown) {
      if (isFatal(thrown)) throw thrown;
      log({ event: 'catalog_entry_skipped', ...errorSummary(rethrowBugs(thrown)) });
    }
    left += units;
    return undefined;
  };
  return { skip, remaining: () => left };
}
