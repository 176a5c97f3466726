/*
 * `erase` erases days of a brand, in all reports or in some, from everything that the lake has (`erased-objects.ts`).
 * 1. Closes keep what the days added to their totals, and no later statement includes the days.
 * 2. Tombstones: each ledger keeps only the fact that the day was erased, and `coverage` repeats it. From then
 *    on, a run that has read the day cannot commit it, and no run claims it (I5). If a live run reads a day, `erase` refuses it.
 * 3. Everything derived from the ledgers is written anew: partitions, tables made from ledgers, Iceberg, the watcher's record.
 * 4. Only then are objects deleted, so that no document names a missing object, and at last their previous contents.
 * Each step finds the work that is left in the lake: to finish an interrupted erasure, run the same command again.
 */
import { isDeepStrictEqual } from 'node:util';
import { isBeingRead } from '../day/claim.ts';
import { writeCloses } from '../catalog/closes-table.ts';
import { writeCoverage } from '../catalog/coverage.ts';
import { mapConcurrent } from '../base/concurrency.ts';
import { type BrandReport, type LakeAccess, createBrandReport } from '../context/context.ts';
import { addDays, dayOf, daysFrom, daysOfMonth, earlier, monthOf, monthsFrom } from '../base/days.ts';
import { configError, rethrowBugs } from '../base/errors.ts';
import { publishIceberg } from '../catalog/iceberg/index.ts';
import { closedDays, dayId, readCloses } from '../lake/close.ts';
import { type LakeDocuments, createLakeDocuments } from '../lake/lake-documents.ts';
import { type Ledger, claimLost, eraseDays, withoutTombstones } from '../lake/ledger.ts';
import { listLedgers } from '../lake/read.ts';
import { NO_STATE, withoutHints } from '../lake/report-state.ts';
import type { WatchRecord } from '../lake/watch-record.ts';
import { COVERAGE_TABLE, brandPartitions, partitionPrefix } from '../lake/paths.ts';
import { enabledPolicy } from '../planning/policy.ts';
import type { ReportRegistry } from '../reports/definition.ts';
import type { LakeSettings } from '../settings/settings.ts';
import type { ErasedSums } from './close-month.ts';
import {
  type Amounts,
  type ErasedRange,
  type Found,
  KINDS,
  amountsOf,
  isInRange,
  partitionsOf,
  search,
} from './erased-objects.ts';

const CONCURRENCY = 8;

/** The days `YYYY-MM-DD`; without `from` and `to`, all days. */
export interface EraseOptions extends LakeAccess {
  reports: ReportRegistry;
  settings: LakeSettings | undefined;
  brand: string;
  only?: readonly string[] | undefined;
  from?: string | undefined;
  to?: string | undefined;
  erasedSums: ErasedSums;
  plans: boolean;
}

export interface EraseOutcome {
  /** `busy`: a run reads one of the days. `incomplete`: a run has written in the meantime. In both cases run the same command later. */
  status: 'complete' | 'planned' | 'busy' | 'incomplete' | 'undone';
  brand: string;
  reports: string[];
  from: string;
  to: string;
  /**
   * By kind (`KINDS`): what was searched, what was removed, and what is left because it has no data of the days or was
   * written anew without them.
   */
  searched: Amounts;
  removed: Amounts;
  left: Amounts;
  remains: string[];
}

const REMAINS = [
  'logs, until the retention of their log groups ends; messages and events that were sent or wait in queues',
  'exports, downloads, caches of queries and dbt tables that people made; backups and replicas of the bucket',
  'files that a killed process left: in .tmp of a folder, or unfinished uploads in S3, until they expire',
  'names of columns that only erased records had, and since when (schema/); settings that name the brand',
  'the records at the service',
];

const NOTHING: Amounts = Object.fromEntries(
  Object.keys(KINDS).map((kind) => [kind, { objects: 0, bytes: 0 }]),
);

interface Scope extends EraseOptions, ErasedRange {
  from: string;
  to: string;
  documents: LakeDocuments;
  runId: string;
}

/** Erases, or plans an erasure. @throws BrandReportsError `config` for a brand that is neither in the lake nor in the settings */
export async function erase(options: EraseOptions): Promise<EraseOutcome> {
  const scope = await scopeOf(options);
  const { lake, plans } = scope;
  const of = { ...headOf(scope), remains: REMAINS };
  try {
    const judged = await ledgersWithoutRuns(scope);
    // A damaged close may name days of the range, so nothing is erased before it is restored or removed.
    if (!scope.isBrand) await readCloses(lake.store, scope.brand);
    // The Iceberg tables, which are written anew after the tombstones, need the schemas.
    for (const ctx of scope.contexts) await ctx.schema.refresh();
    const before = await search(scope);
    const searched = { ...NOTHING, ...amountsOf(before) };
    if (plans) {
      const [removed, left] = [true, false].map((is) =>
        amountsOf(before.filter(({ isErased }) => isErased === is)),
      );
      return { status: 'planned', ...of, searched, removed: removed ?? {}, left: left ?? {} };
    }
    await eraseFromCloses(scope);
    await writeTombstones(scope, judged);
    await followLedgers(scope);
    const isObject = ({ kind }: Found) => kind !== 'partitions' && kind !== 'previous';
    await lake.store.delete((await erasedNow(scope)).filter(isObject).map(({ name }) => name));
    const purged = (await erasedNow(scope)).flatMap((found) => (found.version ? [found] : []));
    await lake.store.noncurrent?.delete(purged.flatMap(({ version }) => version ?? []));
    const after = await search(scope);
    const left = new Set(after.map(({ name }) => name));
    const gone = before.filter(({ kind, name }) => kind !== 'previous' && !left.has(name));
    return {
      status: after.some(({ isErased }) => isErased) ? 'incomplete' : 'complete',
      ...{ ...of, searched, removed: amountsOf([...gone, ...purged]), left: amountsOf(after) },
    };
  } catch (thrown) {
    if (rethrowBugs(thrown).kind !== 'conflict') throw thrown;
    return { status: 'busy', ...of, searched: {}, removed: {}, left: {} };
  }
}

function headOf({ brand, contexts, from, to }: Scope) {
  return { brand, reports: contexts.map(({ report }) => report.name), from, to };
}

async function erasedNow(scope: Scope): Promise<Found[]> {
  return (await search(scope)).filter(({ isErased }) => isErased);
}

/**
 * Turns the erased days of the range into missing days, so that runs read them by the normal rules. Closes do not get the
 * days back: what a later reading finds has no counterpart in them, so it is in no comparison with them.
 */
export async function undoErasure(options: EraseOptions): Promise<EraseOutcome> {
  const scope = await scopeOf(options);
  const { from, to, contexts } = scope;
  const months = monthsFrom(from, to);
  for (const ctx of contexts) {
    await mapConcurrent(months, CONCURRENCY, async (month) => {
      await ctx.ledger(month).refresh();
      await ctx
        .ledger(month)
        .update((ledger) => withoutTombstones(ledger, (day) => from <= day && day <= to));
    });
    // The hints of the months come last: a concurrent run would otherwise record that nothing is due.
    await ctx.reportState.update((state) => withoutHints(state, months));
    await writeCoverage(ctx, months, (await ctx.reportState.cached()).hasReturnedRecords);
  }
  return { status: 'undone', ...headOf(scope), searched: {}, removed: {}, left: {}, remains: [] };
}

async function scopeOf(options: EraseOptions): Promise<Scope> {
  const { lake, reports, settings, brand, only, clock, newId } = options;
  const documents = createLakeDocuments({ store: lake.store, ...options });
  const wanted = Object.values(reports).filter(({ name }) => only?.includes(name) ?? true);
  const contexts = wanted.map((report) =>
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
  const ofReports = listed.filter((each) => each.brand === brand && wanted.includes(each.report));
  const months = ofReports.flatMap((each) => each.months).sort();
  // For a brand that is no longer in the settings, use the zone in which the day begins first.
  const { timeZone = 'Pacific/Kiritimati' } = settings?.brands[brand] ?? {};
  const today = dayOf(clock.wallMs(), timeZone);
  const starts = contexts.flatMap(({ policy }) => policy?.startDate ?? []);
  // A clock that was ahead may have written later months.
  const [last = today] = months.slice(-1).flatMap((month) => daysOfMonth(month).slice(-1));
  const end = monthOf(last) > monthOf(today) ? last : today;
  for (const [flag, day = end] of Object.entries({ '--from': options.from, '--to': options.to }))
    if (day > end)
      throw configError('day_to_come', `${flag} ${day} is in the future. Allowed: up to ${end}.`);
  const isAll = options.from === undefined && options.to === undefined;
  return {
    ...options,
    from:
      options.from ?? [...starts, ...months.slice(0, 1).map((month) => `${month}-01`), today].reduce(earlier),
    to: options.to ?? end,
    ...{ isAll, isBrand: isAll && only === undefined, documents, contexts, runId: newId() },
  };
}

type Judged = ReadonlyMap<BrandReport, ReadonlyMap<string, Ledger>>;

/** Reads the ledgers of the range and of the day before it. @throws `conflict` if a live run reads one of these days */
async function ledgersWithoutRuns({ contexts, from, to, runId }: Scope): Promise<Judged> {
  const judged = new Map<BrandReport, ReadonlyMap<string, Ledger>>();
  const first = addDays(from, -1);
  for (const ctx of contexts) {
    const ledgers = await mapConcurrent(monthsFrom(first, to), CONCURRENCY, (month) =>
      ctx.ledger(month).refresh(),
    );
    judged.set(ctx, new Map(ledgers.map((ledger) => [ledger.month, ledger])));
    for (const [day, entry] of ledgers.flatMap(({ days }) => Object.entries(days))) {
      const isNear = first <= day && day <= to;
      if (isNear && (await isBeingRead({ ...ctx, runId }, entry))) throw claimLost(day);
    }
  }
  return judged;
}

async function writeTombstones({ contexts, from, to, isAll, clock }: Scope, judged: Judged): Promise<void> {
  const at = new Date(clock.wallMs()).toISOString();
  const byMonth = [...Map.groupBy(daysFrom(from, to), monthOf)];
  for (const ctx of contexts) {
    await ctx.reportState.update((state) => {
      const { lastRun, ...others } = state;
      // The message of a failure may quote a record.
      const kept = isAll ? NO_STATE : { ...others, lastRun: lastRun && { ...lastRun, message: undefined } };
      return withoutHints(kept, monthsFrom(from, to));
    });
    await mapConcurrent(byMonth, CONCURRENCY, async ([month, days]) => {
      const seen = judged.get(ctx)?.get(month);
      if (seen) await ctx.ledger(month).update((ledger) => eraseDays(ledger, days, at, seen));
    });
  }
}

async function followLedgers(scope: Scope): Promise<void> {
  const { lake, contexts, brand, from, to, documents } = scope;
  const months = monthsFrom(from, to);
  for (const ctx of contexts)
    await writeCoverage(ctx, months, (await ctx.reportState.cached()).hasReturnedRecords);
  await mapConcurrent(await partitionsOf(scope), CONCURRENCY, async ({ partition, isErased }) => {
    if (partition && isErased) await lake.catalog?.removePartition(...partition);
  });
  for (const ctx of contexts) {
    // Even if the settings disable Iceberg now, an earlier run may have written it.
    const iceberg = lake.iceberg && { catalog: lake.iceberg, keptMs: Number.POSITIVE_INFINITY };
    if (iceberg) await publishIceberg({ ...ctx, iceberg }, 'all', 'anew');
  }
  await documents.watchRecord().update((record) => withoutBrand(record, brand));
}

/** Closes lose the days with what they added, so they stay comparable. Those of an erased brand are deleted as objects. */
async function eraseFromCloses(scope: Scope): Promise<void> {
  const { lake, brand, contexts, isBrand, documents, clock, erasedSums } = scope;
  const erasedAt = new Date(clock.wallMs()).toISOString();
  const closes = isBrand ? [] : await readCloses(lake.store, brand);
  // The latest first: an interrupted erasure leaves what the remaining closes need.
  for (const [index, close] of [...closes.entries()].toReversed()) {
    const upTo = closes.slice(0, index + 1);
    const days = [...closedDays(upTo).days.values()].flatMap(({ report, day, place }) =>
      place !== undefined && isInRange(scope, { report, day }) ? [{ report, day, place }] : [],
    );
    const totals = days.length === 0 ? new Map() : await erasedSums(upTo, days);
    const erased = days.map(({ report, day }) => ({
      report,
      day,
      erasedAt,
      totals: totals.get(dayId({ report, day })) ?? [],
    }));
    await documents.close(close).update((current) => {
      // Another process may have removed the close: then it is not written again.
      if (current === close || erased.length === 0) return current;
      const others = current.days.filter((each) => !isInRange(scope, each));
      return { ...current, days: others, erased: [...current.erased, ...erased] };
    });
  }
  const left = isBrand ? [] : await readCloses(lake.store, brand);
  for (const ctx of contexts) await writeCloses(ctx, left);
}

/** The watcher's record without the brand, so problems that still last are reported again. */
function withoutBrand(record: WatchRecord, brand: string): WatchRecord {
  const isOther = (id: string) => !id.startsWith(`${brand} `);
  const ofOthers = <T>(by: Record<string, T>) =>
    Object.fromEntries(Object.entries(by).filter(([id]) => isOther(id)));
  const pending = record.pending.filter(({ detail }) => isOther(detail.id));
  const next = { ...record, seen: ofOthers(record.seen), open: ofOthers(record.open), pending };
  return isDeepStrictEqual(next, record) ? record : next;
}
