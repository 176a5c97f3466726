import { BrandReportsError, asBrandReportsError } from './errors.ts';
import type { Ledger } from './lake/ledger.ts';
import { parseMonthIndex } from './lake/month-index.ts';
import { indexKey } from './lake/paths.ts';
import { coverMonths, coverageTable } from './pipeline/coverage.ts';
import { freshness } from './pipeline/freshness.ts';
import {
  type LakeOptions,
  type OpenLedgers,
  openDocument,
  openReport,
  openSchema,
} from './pipeline/open-report.ts';
import { type PreparedView, prepare } from './pipeline/prepare.ts';
import { type BrandReport, type Deadline, outOfTime } from './pipeline/report-run.ts';
import { sideBySide } from './pipeline/side-by-side.ts';
import { owedSwitches, switchDay } from './pipeline/switch.ts';
import type { Catalog } from './ports.ts';
import type { ReportRegistry } from './reports/definition.ts';
import type { Settings } from './settings.ts';
import { listLedgers } from './status/ledgers.ts';
import { policyOf } from './status/policy.ts';
import { isRefusal, whileRefused } from './while-refused.ts';

const AT_ONCE = 8;

export interface SetupOptions extends LakeOptions {
  /** For what is due; ledgers of brands that they do not know are in the catalog all the same. */
  settings: Settings;
  reports: ReportRegistry;
  deadline?: Deadline;
}

export interface SetupOutcome {
  /** `incomplete`: some partitions are left to the runs, which mend their own within a day. */
  status: 'complete' | 'incomplete';
  tables: string[];
  views: string[];
  /** By view that is left out: the columns that it waits for, which runs may bring. */
  waiting: Record<string, readonly string[]>;
  /** Days whose partition was pointed anew. */
  switched: number;
  /** Days, and months of coverage, that there was no time for, or that failed as the log says. */
  left: number;
}

/**
 * Makes the catalog again out of the lake: tables, views and partitions as definitions, schemas and ledgers say.
 * It may be repeated at any time, beside runs as well. What AWS refuses is tried again for a minute.
 * @throws BrandReportsError where tables or views cannot be made, or AWS keeps refusing
 */
export function setUp(options: SetupOptions): Promise<SetupOutcome> {
  return whileRefused(options.clock, async () => {
    const views = await prepareAll(options);
    const { switched, left } = await registerAll(options);
    return {
      status: left === 0 ? 'complete' : 'incomplete',
      tables: [...Object.values(options.reports).map(({ table }) => table), coverageTable.name],
      views: views.filter(({ lacks }) => lacks.length === 0).map(({ name }) => name),
      waiting: Object.fromEntries(
        views.filter(({ lacks }) => lacks.length > 0).map(({ name, lacks }) => [name, lacks]),
      ),
      switched,
      left,
    };
  });
}

async function prepareAll(options: SetupOptions): Promise<PreparedView[]> {
  const catalog = catalogOf(options);
  const { lake, log, reports } = options;
  const views: PreparedView[] = [];
  for (const report of Object.values(reports))
    views.push(...(await prepare({ report, lake, log, schema: openSchema(options, report) })));
  const failed = views.find(({ error }) => error)?.error;
  if (failed) throw failed;
  await catalog.ensureTable(coverageTable);
  await catalog.ensureView(freshness);
  return [...views, { name: freshness.name, lacks: [] }];
}

function catalogOf({ lake }: SetupOptions): Catalog {
  if (lake.catalog) return lake.catalog;
  throw new BrandReportsError(
    'config',
    'no_catalog',
    `${lake.store.url} has no catalog to set up. Name a Glue database.`,
  );
}

/** Points partitions at what all ledgers of the lake say, newest days first, and covers their months. */
async function registerAll(options: SetupOptions): Promise<{ switched: number; left: number }> {
  const { lake, reports, settings } = options;
  const ledgers: OpenLedgers = new Map();
  const found = (await listLedgers(lake.store, reports)).map(({ brand, report, months }) => ({
    of: openReport(options, { brand, report, policy: policyOf(settings, brand, report), ledgers }),
    months: months.toReversed(),
  }));
  const read = new Map<BrandReport, Map<string, Ledger>>(found.map(({ of }) => [of, new Map()]));
  const owed: { of: BrandReport; day: string }[] = [];
  let switched = 0;
  let left = 0;
  const all = found.flatMap(({ of, months }) => months.map((month) => ({ of, month })));
  await sideBySide(all, AT_ONCE, async ({ of, month }) => {
    const done = await isDone(options, async () => {
      read.get(of)?.set(month, await of.ledger(month).known());
    });
    if (!done) left += 1;
  });
  const readable = [...read].map(([of, ledgers]) => ({ of, ledgers }));
  await sideBySide(readable, AT_ONCE, async ({ of, ledgers }) => {
    const done = await isDone(options, async () => {
      for (const day of await owedSwitches(of, ledgers.values())) owed.push({ of, day });
    });
    if (!done) left += ledgers.size;
  });
  owed.sort((a, b) => (a.day < b.day ? 1 : -1));
  await sideBySide(owed, AT_ONCE, async ({ of, day }) => {
    if (await isDone(options, () => switchDay(of, day))) switched += 1;
    else left += 1;
  });
  await sideBySide(readable, AT_ONCE, async ({ of, ledgers }) => {
    const months = [...ledgers.keys()];
    const covered = await isDone(options, async () => coverMonths(of, months, await isProven(options, of)));
    if (!covered) left += months.length;
  });
  return { switched, left };
}

/** False where it is left to the runs: out of time, or failed otherwise than by a refusal, which somebody must mend. */
async function isDone(options: SetupOptions, work: () => Promise<void>): Promise<boolean> {
  if (outOfTime(options)) return false;
  try {
    await work();
    return true;
  } catch (thrown) {
    const { kind, code, message } = asBrandReportsError(thrown);
    if (kind === 'bug' || isRefusal(thrown)) throw thrown;
    options.log({ level: 'error', event: 'setup_left', kind, code, message });
    return false;
  }
}

async function isProven(options: SetupOptions, { brand, report }: BrandReport): Promise<boolean> {
  const key = indexKey(report.name, brand);
  return (await openDocument(options, key, parseMonthIndex(key)).known()).proven;
}
