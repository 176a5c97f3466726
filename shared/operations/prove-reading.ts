/*
 * What the raw records of a day prove of a snapshot whose ledger is lost. The progress document of an attempt says what
 * was asked, when and how far; that the snapshot is what came of it is proven by building it once more: the same digest
 * has the same rows. Nothing is written for that: the lake is read through a store that drops what is put into it.
 */
import { DAY_MS, endOfDay, monthOf } from '../days.ts';
import { rethrowBugs } from '../errors.ts';
import { CasDocument, refreshUndamaged } from '../lake/documents/cas-document.ts';
import type { Committed, Ledger, VersionContent } from '../lake/documents/ledger.ts';
import type { Progress } from '../lake/documents/progress.ts';
import type { StoredSchema } from '../lake/documents/schema.ts';
import { attemptPrefix, brandRawPrefix, parseDayKey, progressKey } from '../lake/paths.ts';
import type { TableSchema } from '../lake/table/columns.ts';
import { type BuiltSnapshot, build } from '../pipeline/build.ts';
import type { BuildContext, RunContext } from '../pipeline/context.ts';
import type { StagedDay } from '../pipeline/staged-records.ts';
import { closesAtMs, doubtOf, settles, watchedDays } from '../planning/due.ts';
import { beganAt, readingOf } from '../planning/reading.ts';
import type { ObjectStore } from '../ports.ts';

/** A report of a brand with its settings, and its progress documents. */
export type ProofContext = BuildContext & Pick<RunContext, 'progress'>;

/** The content of a snapshot, and the columns that it has. */
export interface FoundSnapshot extends VersionContent {
  columns: TableSchema['columns'];
}

/** What the ledger says of a day, but whether it is published. */
export type ProvenDay = Omit<Committed, 'published'>;

/** An attempt of which anything is left. */
export interface LeftAttempt {
  id: string;
  /** By key of an object that it wrote: when, by the store's time, in milliseconds. */
  writtenMs: ReadonlyMap<string, number>;
}

/** What is left of a day. */
export interface DayTraces {
  /** The newest first. */
  attempts: readonly LeftAttempt[];
  /** How many snapshots of it there are. */
  snapshots: number;
}

/** The attempts of which anything is left, by day, the newest first. */
export async function attemptsByDay({
  brand,
  report,
  lake,
}: Pick<BuildContext, 'brand' | 'report' | 'lake'>): Promise<Map<string, LeftAttempt[]>> {
  const prefix = brandRawPrefix(report.name, brand);
  const objects = (await Array.fromAsync(lake.store.list(prefix))).flatMap(({ key, modifiedAt }) => {
    const of = parseDayKey(prefix, key);
    return of ? [{ ...of, key, atMs: modifiedAt.getTime() }] : [];
  });
  const days = Map.groupBy(
    objects.sort((a, b) => b.atMs - a.atMs),
    ({ day }) => day,
  );
  return new Map(
    [...days].map(([day, ofDay]) => [
      day,
      [...Map.groupBy(ofDay, ({ id }) => id)].map(([id, own]) => ({
        id,
        writtenMs: new Map(own.map(({ key, atMs }) => [key, atMs])),
      })),
    ]),
  );
}

/** How the snapshot was read, where the raw records of one of the attempts prove it. */
export function proveReading(
  ctx: ProofContext,
  day: string,
  traces: DayTraces,
  found: FoundSnapshot,
): Promise<ProvenDay | undefined> {
  return firstBuilt(ctx, dryContext(ctx, day, found), day, traces, ({ unchanged }) => unchanged);
}

/** Makes a day again whose snapshot is lost, from the newest attempt that has read it to an end. */
export async function rebuildLost(
  ctx: ProofContext,
  day: string,
  traces: DayTraces,
): Promise<ProvenDay | undefined> {
  const empty = { ...ctx, ledger: () => ledgerWith(ctx, day, {}) };
  // A reading that found nothing any more is not believed where an older one found records.
  const filled = await firstBuilt(ctx, empty, day, traces, ({ rows }) => rows > 0);
  return filled ?? firstBuilt(ctx, empty, day, traces, () => true);
}

/** The first reading, of the newest attempt, whose records make a snapshot that is accepted. @param lake what is built in */
async function firstBuilt(
  ctx: ProofContext,
  lake: BuildContext,
  day: string,
  { attempts, snapshots }: DayTraces,
  isAccepted: (built: BuiltSnapshot) => boolean,
): Promise<ProvenDay | undefined> {
  const isAlone = attempts.length === 1 && snapshots <= 1;
  for (const attempt of attempts)
    for (const reading of await finishedReadings(ctx, day, attempt)) {
      const built = await buildOrNothing(lake, stagedOf(ctx, day, reading));
      if (!built || !isAccepted(built)) continue;
      // I11: of several readings nobody knows which of them agreed, nor which one the service meant last.
      const isSure = isAlone && reading.isAll && isAfterClose(ctx, day, attempt, reading);
      return provenBy(ctx, day, reading, built, isSure);
    }
  return undefined;
}

/** What an attempt has read to an end. */
interface FinishedReading extends Pick<Progress, 'slices' | 'queryFingerprint'> {
  attempt: string;
  /** Whether the attempt has begun nothing behind it. */
  isAll: boolean;
}

/** The slices of an attempt up to each that has ended, the longest first: each may be what was committed. */
async function finishedReadings(
  ctx: ProofContext,
  day: string,
  { id }: LeftAttempt,
): Promise<FinishedReading[]> {
  const progress = await refreshUndamaged(ctx.progress(day, id));
  if (!progress) return [];
  const { slices, queryFingerprint } = progress;
  return slices
    .map((_slice, index) => slices.slice(0, index + 1))
    .filter((upTo) => upTo.every(({ done }) => done))
    .reverse()
    .map((upTo) => {
      const isAll = upTo.length === slices.length;
      return { attempt: id, slices: upTo, queryFingerprint, isAll };
    });
}

/**
 * I2: whether the reading began when the day was over by the store's time as well: the clock of its run may have been
 * ahead. What it staged was written at the earliest as long behind its beginning as its own clock says, or is taken for it.
 */
function isAfterClose(
  { report, brand, policy }: ProofContext,
  day: string,
  { id, writtenMs }: LeftAttempt,
  { slices }: FinishedReading,
): boolean {
  const last = slices.at(-1);
  if (!last) return false;
  const prefix = attemptPrefix(report.name, brand, day, id);
  const startedMs = Date.parse(beganAt(last));
  const chunks = slices
    .filter(({ startedAt }) => Date.parse(startedAt) >= startedMs)
    .flatMap(({ parts }) => parts.flatMap((part) => part.chunks.map(({ name }) => prefix + name)));
  const written = [...chunks, progressKey(report.name, brand, day, id)].map((key) => writtenMs.get(key) ?? 0);
  const tookMs = Math.max(0, Date.parse(last.stagedAt ?? last.startedAt) - startedMs);
  return Math.min(...written) - tookMs >= closesAtMs(day, policy);
}

/** @returns `undefined` where raw records are missing or damaged, or only a second pass could tell which are the day's */
async function buildOrNothing(ctx: BuildContext, staged: StagedDay): Promise<BuiltSnapshot | undefined> {
  try {
    const built = await build(ctx, staged, { readBack: false });
    return 'conflict' in built ? undefined : built;
  } catch (thrown) {
    const { kind, code } = rethrowBugs(thrown);
    if (code !== 'damaged_chunk' && kind !== 'contract') throw thrown;
    return undefined;
  }
}

function stagedOf(ctx: BuildContext, day: string, { attempt, slices }: FinishedReading): StagedDay {
  const prefix = attemptPrefix(ctx.report.name, ctx.brand, day, attempt);
  return { day, slices: slices.map((slice) => ({ slice, prefix })) };
}

/**
 * What a commit of these slices would say, if nothing had been known of the day before.
 * @param isSure otherwise the next run reads the day again
 */
function provenBy(
  { policy, report }: ProofContext,
  day: string,
  { attempt, slices, queryFingerprint }: FinishedReading,
  { unchanged: _unchanged, hashes: _hashes, ...content }: BuiltSnapshot,
  isSure: boolean,
): ProvenDay {
  const { startedMs, resumed, recordPages, said, ...reading } = readingOf(day, policy, slices);
  const isToTheEnd = report.day.by === 'upstream' || slices.at(-1)?.toMs === endOfDay(day, policy.timeZone);
  const closed = reading.closed && isToTheEnd;
  const passes = { identicalPasses: closed ? 1 : 0, ...(resumed && { resumed }) };
  const { rows } = content;
  const { mayBeLast, ...doubt } = doubtOf(policy, { unchanged: false, recordPages, rows, isSure }, undefined);
  const isLast = closed && settles(day, policy, startedMs, { ...content, ...passes });
  const settled = isLast && mayBeLast && rows > 0 && !said.refusedLookups?.retryAt;
  return {
    ...content,
    state: closed ? 'closed' : 'open',
    settled,
    ...(settled && { watchedDays: watchedDays(day, policy, startedMs) }),
    ...passes,
    ...doubt,
    attempt,
    ...said,
    queryFingerprint,
  };
}

/** The context of a build that reads the lake, and writes nothing. */
function dryContext(ctx: ProofContext, day: string, { columns, ...found }: FoundSnapshot): BuildContext {
  const store = dryStore(ctx.lake.store);
  const schema: StoredSchema = { version: 1, table: ctx.report.table, columns, recentWrites: ['stored'] };
  const dry = { ...ctx, lake: { ...ctx.lake, store } };
  const committed: Committed = {
    ...found,
    published: true,
    state: 'open',
    settled: false,
    identicalPasses: 0,
    confirmed: false,
    attempt: '',
    pages: 0,
    readFrom: new Date(0).toISOString(),
    readTo: new Date(DAY_MS).toISOString(),
    queryFingerprint: '',
  };
  return {
    ...dry,
    settings: { ...ctx.settings, columns: {} },
    log: () => {},
    ledger: () => ledgerWith(dry, day, { committed }),
    schema: documentWith(dry, schema),
  };
}

/** A ledger that says this of the day, and is not in the lake. */
function ledgerWith(
  ctx: Pick<BuildContext, 'brand' | 'report' | 'lake' | 'newId'>,
  day: string,
  entry: Ledger['days'][string],
): CasDocument<Ledger> {
  const { brand, report } = ctx;
  const month = monthOf(day);
  return documentWith<Ledger>(ctx, {
    version: 1,
    report: report.name,
    brand,
    month,
    days: { [day]: entry },
    recentWrites: [],
  });
}

function documentWith<T extends { recentWrites: string[] }>(
  { lake, newId }: Pick<BuildContext, 'lake' | 'newId'>,
  first: T,
): CasDocument<T> {
  const { store } = lake;
  return new CasDocument({ store, key: 'none', parse: () => first, first, newId, pause: async () => {} });
}

function dryStore(store: ObjectStore): ObjectStore {
  return {
    ...store,
    put: async () => ({ etag: 'dry' }),
    create: () => ({ write: async () => {}, finish: async () => {}, abort: async () => {} }),
    delete: async () => {},
  };
}
