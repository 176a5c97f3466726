import { BrandReportsError, rethrowBugs } from '../errors.ts';
import type { Ledger } from '../lake/documents/ledger.ts';
import { listLedgers } from '../lake/documents/read.ts';
import { parseMonthIndex } from '../lake/documents/month-index.ts';
import { indexKey } from '../lake/paths.ts';
import { writeCoverage, coverageTable } from './coverage.ts';
import { freshness } from './freshness.ts';
import {
  type LakeOptions,
  type LedgerCache,
  casDocument,
  createBrandReport,
  schemaDocument,
} from '../pipeline/create-context.ts';
import { missingColumns, ensureTable } from './ensure-tables.ts';
import { enabledPolicy } from '../planning/policy.ts';
import { type BrandReport, type Deadline, outOfTime } from '../pipeline/context.ts';
import { forEachConcurrent } from '../concurrency.ts';
import { pendingPublications, publishDay } from '../pipeline/publish.ts';
import { errorSummary } from '../outcome.ts';
import type { Catalog } from '../ports.ts';
import type { ReportRegistry, View } from '../reports/definition.ts';
import type { Settings } from '../settings/settings.ts';
import { isAccessDenied, retryWhileAccessDenied } from '../adapters/aws/retry-access-denied.ts';

const AT_ONCE = 8;

export interface RebuildOptions extends LakeOptions {
  /** For what is due; ledgers of brands that they do not know are in the catalog all the same. */
  settings: Settings;
  reports: ReportRegistry;
  deadline?: Deadline;
}

export interface RebuildOutcome {
  /** `incomplete`: some partitions are left to the runs, which mend their own within a day. */
  status: 'complete' | 'incomplete';
  tables: string[];
  views: string[];
  /** By view that is left out: the columns that it waits for, which runs may bring. */
  waiting: Record<string, readonly string[]>;
  /** Days whose partition was pointed anew. */
  published: number;
  /** Days, and months of coverage, that there was no time for, or that failed as the log says. */
  remaining: number;
}

/**
 * Makes the catalog again out of the lake: tables, views and partitions as definitions, schemas and ledgers say.
 * It may be repeated at any time, beside runs as well. What AWS refuses is tried again for a minute.
 * @throws BrandReportsError where tables or views cannot be made, or AWS keeps refusing
 */
export function rebuildCatalog(options: RebuildOptions): Promise<RebuildOutcome> {
  return retryWhileAccessDenied(options.clock, async () => {
    const { ready = [], waiting = [] } = Object.groupBy(await prepareAll(options), ({ lacks }) =>
      lacks.length === 0 ? 'ready' : 'waiting',
    );
    const { published, remaining } = await registerAll(options);
    return {
      status: remaining === 0 ? 'complete' : 'incomplete',
      tables: [...Object.values(options.reports).map(({ table }) => table), coverageTable.name],
      views: ready.map(({ view }) => view.name),
      waiting: Object.fromEntries(waiting.map(({ view, lacks }) => [view.name, lacks])),
      published,
      remaining,
    };
  });
}

/** All tables, then the views whose columns are there. @returns the views, with the columns that they lack */
async function prepareAll(options: RebuildOptions): Promise<{ view: View; lacks: string[] }[]> {
  const catalog = catalogOf(options);
  const { lake, reports } = options;
  const views: { view: View; lacks: string[] }[] = [];
  for (const report of Object.values(reports)) {
    const { columns } = await ensureTable({ report, lake, schema: schemaDocument(options, report) });
    views.push(...report.views.map((view) => ({ view, lacks: missingColumns(view, columns) })));
  }
  await catalog.ensureTable(coverageTable);
  views.push({ view: freshness, lacks: [] });
  for (const { view, lacks } of views) if (lacks.length === 0) await catalog.ensureView(view);
  return views;
}

function catalogOf({ lake }: RebuildOptions): Catalog {
  if (lake.catalog) return lake.catalog;
  throw new BrandReportsError(
    'config',
    'no_catalog',
    `${lake.store.url} has no catalog to set up. Name a Glue database.`,
  );
}

/** Points partitions at what all ledgers of the lake say, newest days first, and covers their months. */
async function registerAll(options: RebuildOptions): Promise<{ published: number; remaining: number }> {
  const { lake, reports, settings } = options;
  const ledgers: LedgerCache = new Map();
  const found = (await listLedgers(lake.store, reports)).map(({ brand, report, months }) => ({
    of: createBrandReport(options, {
      brand,
      report,
      policy: enabledPolicy(settings, brand, report),
      ledgers,
    }),
    months: months.toReversed(),
    read: new Map<string, Ledger>(),
  }));
  const owed: { of: BrandReport; day: string }[] = [];
  let published = 0;
  let remaining = 0;
  const orLeft = async (count: number, work: () => Promise<void>) => {
    if (!(await isDone(options, work))) remaining += count;
  };
  const all = found.flatMap(({ of, months, read }) => months.map((month) => ({ of, month, read })));
  await forEachConcurrent(all, AT_ONCE, ({ of, month, read }) =>
    orLeft(1, async () => {
      read.set(month, await of.ledger(month).cached());
    }),
  );
  await forEachConcurrent(found, AT_ONCE, ({ of, read }) =>
    orLeft(read.size, async () => {
      for (const day of await pendingPublications(of, read.values())) owed.push({ of, day });
    }),
  );
  owed.sort((a, b) => (a.day < b.day ? 1 : -1));
  await forEachConcurrent(owed, AT_ONCE, async ({ of, day }) => {
    if (await isDone(options, () => publishDay(of, day))) published += 1;
    else remaining += 1;
  });
  await forEachConcurrent(found, AT_ONCE, ({ of, read }) =>
    orLeft(read.size, async () => writeCoverage(of, [...read.keys()], await isProven(options, of))),
  );
  return { published, remaining };
}

/** False where it is left to the runs: out of time, or failed otherwise than by a refusal, which somebody must mend. */
async function isDone(options: RebuildOptions, work: () => Promise<void>): Promise<boolean> {
  if (outOfTime(options)) return false;
  try {
    await work();
    return true;
  } catch (thrown) {
    if (isAccessDenied(thrown)) throw thrown;
    options.log({ event: 'catalog_entry_skipped', ...errorSummary(rethrowBugs(thrown)) });
    return false;
  }
}

async function isProven(options: RebuildOptions, { brand, report }: BrandReport): Promise<boolean> {
  const key = indexKey(report.name, brand);
  return (await casDocument(options, key, parseMonthIndex(key)).cached()).hasReturnedRecords;
}
