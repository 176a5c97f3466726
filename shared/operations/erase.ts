/*
 * `erase` erases days of a brand, or the records of one customer or publisher in them (`erase-records.ts`).
 * 1. Tombstones: each report state gets the range, and each ledger keeps only the fact that the day was erased. From then
 *    on, a run that has read the day cannot commit it, and no run claims it (I5). If a live run reads a day, `erase` refuses it.
 * 2. Everything derived from the ledgers is written anew: partitions, tables made from ledgers, Iceberg, the watcher's record.
 * 3. Only then are objects deleted, so that no ledger names a missing object; in S3 also their noncurrent versions.
 * Each step finds the work that is left in the lake: to finish an interrupted erasure, run the same command again.
 */
import { isDeepStrictEqual } from 'node:util';
import { isBeingRead } from '../attempt/claim.ts';
import { writeChanges } from '../catalog/changes.ts';
import { publishCloses } from '../catalog/closed-tables.ts';
import { writeCoverage } from '../catalog/coverage.ts';
import { mapConcurrent } from '../concurrency.ts';
import { type BrandReport, type LakeAccess, createBrandReport } from '../context/context.ts';
import { addDays, dayOf, daysFrom, daysOfMonth, earlier, monthOf, monthsFrom } from '../days.ts';
import { configError, rethrowBugs } from '../errors.ts';
import { publishIceberg } from '../iceberg/index.ts';
import { type ClosedDay, namedDays, readCloses } from '../lake/documents/close.ts';
import { type LakeDocuments, createLakeDocuments } from '../lake/documents/lake-documents.ts';
import { type Ledger, claimLost, eraseDays, withoutTombstones } from '../lake/documents/ledger.ts';
import { listLedgers } from '../lake/documents/read.ts';
import { type ReportState, parseReportState, withErased } from '../lake/documents/report-state.ts';
import type { WatchRecord } from '../lake/documents/watch-record.ts';
import { COVERAGE_TABLE, brandPartitions, dayPartition, partitionPrefix } from '../lake/paths.ts';
import { enabledPolicy } from '../planning/policy.ts';
import { type ReportRegistry, dayTables } from '../reports/definition.ts';
import type { Settings } from '../settings/settings.ts';
import {
  type DayWithRecords,
  type RecordsOf,
  daysWithRecords,
  isReread,
  rewriteDay,
} from './erase-records.ts';
import {
  type ErasedObject,
  type ErasedRange,
  amountsOf,
  erasedObjects,
  purge,
  withoutNeeded,
} from './erased-objects.ts';

const CONCURRENCY = 8;

/** The input of an erasure. Days are `YYYY-MM-DD`. */
export interface EraseOptions extends LakeAccess {
  reports: ReportRegistry;
  settings: Settings | undefined;
  brand: string;
  /** Both missing: all data that the lake has of the brand. */
  from?: string | undefined;
  to?: string | undefined;
  /** Erase only these records; the days stay. */
  records?: RecordsOf | undefined;
  /** Return what would be removed, and change nothing. */
  plans: boolean;
}

/** The document of `erase --json`. */
export interface EraseOutcome {
  /** `busy`: a run reads one of the days. `incomplete`: a run has written in the meantime. In both cases run the same command later. */
  status: 'complete' | 'planned' | 'busy' | 'incomplete' | 'undone';
  brand: string;
  from: string;
  to: string;
  /** If records are erased: the days that had some. Days that are re-read bring back the records that the service still has. */
  days?: { report: string; day: string; isReread: boolean }[];
  /** By kind; `noncurrent`: versions that the bucket kept of objects that were deleted or replaced. */
  removed: ReturnType<typeof amountsOf>;
  /** Data that no erasure removes. */
  remains: string[];
}

const REMAINS = [
  'logs, until the retention of their log groups ends; messages and events that were sent',
  'exports, downloads, caches of queries and dbt tables that people made; backups and replicas of the bucket',
  'names of columns that only erased records had (schema/)',
  'the records at the service',
];

interface Scope extends EraseOptions, ErasedRange {
  from: string;
  to: string;
  documents: LakeDocuments;
  runId: string;
}

/** Erases, or plans an erasure. @throws BrandReportsError `config` for a brand that is neither in the lake nor in the settings */
export async function erase(options: EraseOptions): Promise<EraseOutcome> {
  const scope = await scopeOf(options);
  const { brand, from, to, lake, records, plans } = scope;
  const of = { brand, from, to, remains: REMAINS };
  try {
    const judged = await ledgersWithoutRuns(scope);
    const before = await erasedObjects(scope);
    const found = records && (await daysWithRecords(scope.contexts, before, records));
    const erasedAmong = async (objects: readonly ErasedObject[]) => {
      const needless = await withoutNeeded(scope, objects);
      if (!found) return needless;
      const isOf = await Promise.all(needless.map((object) => isOfRecords(object, found, plans)));
      return needless.filter((_object, index) => isOf[index]);
    };
    const days = (found ?? []).filter(({ hasVersions }) => hasVersions);
    const shown = days.map(async ({ ctx, day }) => ({
      report: ctx.report.name,
      day,
      isReread: await isReread(ctx, day),
    }));
    const named = found && days.map((each) => ({ report: each.ctx.report.name, day: each.day }));
    await refuseClosed(scope, named);
    const erased = { ...of, ...(found && { days: await Promise.all(shown) }) };
    if (plans) return { status: 'planned', ...erased, removed: amountsOf(await erasedAmong(before)) };
    if (!records) await writeTombstones(scope, judged);
    for (const each of days) if (records) await rewriteDay(scope, each, records);
    await followLedgers(scope, found);
    // A month may have been closed in the meantime. No ledger names its days any more, so such a close is removed or stays whole.
    await refuseClosed(scope, named);
    await lake.store.delete((await erasedAmong(await erasedObjects(scope))).map(({ key }) => key));
    const noncurrent = await purge(scope);
    const after = await erasedObjects(scope);
    const left = new Set(after.map(({ key }) => key));
    return {
      status: (await erasedAmong(after)).length > 0 ? 'incomplete' : 'complete',
      ...erased,
      removed: {
        ...amountsOf(before.filter(({ key }) => !left.has(key))),
        ...(noncurrent.objects > 0 && { noncurrent }),
      },
    };
  } catch (thrown) {
    if (rethrowBugs(thrown).kind !== 'conflict') throw thrown;
    return { status: 'busy', ...of, removed: {} };
  }
}

/** Turns the erased days of the range into missing days, so that runs read them by the normal rules. */
export async function undoErasure(options: EraseOptions): Promise<EraseOutcome> {
  const scope = await scopeOf(options);
  const { brand, from, to, contexts } = scope;
  const months = monthsFrom(from, to);
  for (const ctx of contexts) {
    await mapConcurrent(months, CONCURRENCY, async (month) => {
      await ctx.ledger(month).refresh();
      await ctx
        .ledger(month)
        .update((ledger) => withoutTombstones(ledger, (day) => from <= day && day <= to));
    });
    // The hints of the months come last: a concurrent run would otherwise record that nothing is due.
    await ctx.reportState.update((state) =>
      state.erased ? withErased(state, withoutRange(state.erased, from, to), months) : state,
    );
    await writeCoverage(ctx, months, (await ctx.reportState.cached()).hasReturnedRecords);
  }
  return { status: 'undone', brand, from, to, removed: {}, remains: [] };
}

async function scopeOf(options: EraseOptions): Promise<Scope> {
  const { lake, reports, settings, brand, clock, newId } = options;
  const documents = createLakeDocuments({ store: lake.store, ...options });
  const contexts = Object.values(reports).map((report) =>
    createBrandReport(options, documents, { brand, report, policy: enabledPolicy(settings, brand, report) }),
  );
  const listed = await listLedgers(lake.store, reports);
  const known = [...new Set([...listed.map((each) => each.brand), ...Object.keys(settings?.brands ?? {})])];
  if (!known.includes(brand))
    throw configError(
      'unknown_brand',
      `Neither ${lake.store.url} nor the settings have the brand "${brand}". Allowed: ${known.join(', ') || 'none'}.`,
    );
  const covered = lake.catalog
    ? []
    : await Array.fromAsync(lake.store.list(partitionPrefix(COVERAGE_TABLE, brandPartitions(brand))));
  if (covered.length > 0)
    throw configError(
      'no_catalog',
      `A Glue database points at the objects of ${lake.store.url}. Name it with --database: otherwise its partitions would stay.`,
    );
  const months = listed.flatMap((each) => (each.brand === brand ? each.months : [])).sort();
  // For a brand that is no longer in the settings, use the zone in which the day begins first.
  const { timeZone = 'Pacific/Kiritimati' } = settings?.brands[brand] ?? {};
  const today = dayOf(clock.wallMs(), timeZone);
  const starts = contexts.flatMap(({ policy }) => policy?.startDate ?? []);
  const isAll = options.from === undefined && options.to === undefined && !options.records;
  // A clock that was ahead may have written later months.
  const [last] = isAll ? months.slice(-1).flatMap((month) => daysOfMonth(month).slice(-1)) : [];
  return {
    ...options,
    from:
      options.from ?? [...starts, ...months.slice(0, 1).map((month) => `${month}-01`), today].reduce(earlier),
    to: options.to ?? (last !== undefined && monthOf(last) > monthOf(today) ? last : today),
    ...{ isAll, documents, contexts, runId: newId() },
  };
}

/**
 * @param found check only these days; missing: all days of the range
 * @throws BrandReportsError `config` if a close names one of the days
 */
async function refuseClosed(
  { lake, brand, from, to, isAll }: Scope,
  found: readonly Pick<ClosedDay, 'report' | 'day'>[] | undefined,
): Promise<void> {
  const isErased = ({ report, day }: ClosedDay) =>
    found ? found.some((each) => each.report === report && each.day === day) : from <= day && day <= to;
  const closes = await readCloses(lake.store, brand);
  const months = closes.filter((close) => isAll || namedDays(close).some(isErased)).map(({ month }) => month);
  if (months.length === 0) return;
  const commands = months.map((month) => `"brand-reports close ${month} --brand ${brand} --remove"`);
  throw configError(
    'closed_days',
    `The closes ${months.join(', ')} of ${brand} name days that would be erased, so nothing is deleted. If they need not stay as they were, remove the closes first: ${commands.join(', ')}`,
  );
}

/** The ledgers by month, as read when no live run worked on the days. */
type Judged = ReadonlyMap<BrandReport, ReadonlyMap<string, Ledger>>;

/** Reads the ledgers of the range and of the day before it. @throws `conflict` if a live run reads one of these days */
async function ledgersWithoutRuns({ contexts, from, to, documents, runId }: Scope): Promise<Judged> {
  const judged = new Map<BrandReport, ReadonlyMap<string, Ledger>>();
  const first = addDays(from, -1);
  for (const ctx of contexts) {
    const ledgers = await mapConcurrent(monthsFrom(first, to), CONCURRENCY, (month) =>
      ctx.ledger(month).refresh(),
    );
    judged.set(ctx, new Map(ledgers.map((ledger) => [ledger.month, ledger])));
    for (const [day, entry] of ledgers.flatMap(({ days }) => Object.entries(days))) {
      const progressOf = (attempt: string) => documents.progress(ctx.report.name, ctx.brand, day, attempt);
      const isNear = first <= day && day <= to;
      if (isNear && (await isBeingRead({ ...ctx, leases: true, runId }, entry, progressOf)))
        throw claimLost(day);
    }
  }
  return judged;
}

async function writeTombstones({ contexts, from, to, isAll, clock }: Scope, judged: Judged): Promise<void> {
  const at = new Date(clock.wallMs()).toISOString();
  const byMonth = [...Map.groupBy(daysFrom(from, to), monthOf)];
  for (const ctx of contexts) {
    await ctx.reportState.update((state) => {
      const ranges = [...withoutRange(state.erased ?? [], from, to), { from, to }];
      return withErased(isAll ? parseReportState('')(undefined) : state, ranges, monthsFrom(from, to));
    });
    await mapConcurrent(byMonth, CONCURRENCY, async ([month, days]) => {
      const seen = judged.get(ctx)?.get(month);
      if (seen) await ctx.ledger(month).update((ledger) => eraseDays(ledger, days, at, seen));
    });
  }
}

/** The parts of the ranges outside `from` to `to`. */
function withoutRange(ranges: NonNullable<ReportState['erased']>, from: string, to: string) {
  const [before, after] = [addDays(from, -1), addDays(to, 1)];
  return ranges
    .flatMap((range) => [
      { ...range, to: earlier(range.to, before) },
      { ...range, from: range.from < after ? after : range.from },
    ])
    .filter((range) => range.from <= range.to);
}

/** @param found the days that have a new version; missing: the days of the range, which have no version any more */
async function followLedgers(scope: Scope, found: readonly DayWithRecords[] | undefined): Promise<void> {
  const { lake, contexts, brand, from, to, isAll, documents } = scope;
  const days = found ? [...new Set(found.map(({ day }) => day))] : daysFrom(from, to);
  const months = [...new Set(days.map(monthOf))];
  for (const ctx of contexts) {
    const within = isAll ? undefined : { from, to };
    for (const table of found ? [] : dayTables(ctx.report)) {
      const published = await lake.catalog?.snapshotsByPartition(table, brandPartitions(brand), within);
      for (const path of published?.keys() ?? [])
        await lake.catalog?.removePartition(
          table,
          dayPartition(brand, path.slice(path.lastIndexOf('=') + 1)),
        );
    }
    // A close that was removed without the name of the database has left partitions.
    if (isAll) await publishCloses(ctx, []);
    await writeCoverage(ctx, months, (await ctx.reportState.cached()).hasReturnedRecords);
    await writeChanges(ctx, months);
    // Even if the settings disable Iceberg now, an earlier run may have written it.
    const iceberg = lake.iceberg && { catalog: lake.iceberg, keptMs: Number.POSITIVE_INFINITY };
    if (iceberg) await publishIceberg({ ...ctx, iceberg }, 'all', 'anew');
    await ctx.roles.update((roles) => {
      const { [brand]: known, ...brands } = roles.brands;
      return isAll && known ? { ...roles, brands } : roles;
    });
  }
  await documents.watchRecord().update((record) => withoutBrand(record, brand));
}

/** The watcher's record without the brand, so problems that still last are reported again. */
function withoutBrand(record: WatchRecord, brand: string): WatchRecord {
  const isOther = (id: string) => !id.startsWith(`${brand} `);
  const ofOthers = <T>(by: Record<string, T>) =>
    Object.fromEntries(Object.entries(by).filter(([id]) => isOther(id)));
  const { seen, told, events } = record;
  const next: WatchRecord = { ...record, seen: ofOthers(seen), told: ofOthers(told) };
  if (events) {
    const pending = events.pending.filter(({ detail }) => isOther(detail.id));
    next.events = { ...events, open: ofOthers(events.open), pending };
  }
  return isDeepStrictEqual(next, record) ? record : next;
}

/** Whether an object of a day has erased records: the day's raw records, and all versions and lifecycle objects except the current ones. */
async function isOfRecords(
  { kind, of }: ErasedObject,
  found: readonly DayWithRecords[],
  plans: boolean,
): Promise<boolean> {
  if (!of || kind === 'damaged') return true;
  const { ctx, day, id } = of;
  const own = found.find((each) => each.ctx === ctx && each.day === day);
  if (!own || kind === 'raw') return own !== undefined;
  const { committed } = (await ctx.ledger(monthOf(day)).cached()).days[day] ?? {};
  const { snapshot } = (kind === 'lifecycle' ? committed?.lifecycle : committed) ?? {};
  return own.hasVersions && (plans || snapshot !== id);
}
