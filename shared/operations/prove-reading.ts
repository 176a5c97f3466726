/*
 * What the raw records of a day prove of a snapshot whose ledger is lost. The progress document of an attempt says what
 * was asked, when and how far; that the snapshot is what came of it is proven by building it once more: the same digest
 * has the same rows. Nothing is written for that: the lake is read through a store that drops what is put into it.
 */
import { DAY_MS, endOfDay, monthOf } from '../days.ts';
import { rethrowBugs } from '../errors.ts';
import { CasDocument, refreshUndamaged } from '../lake/documents/cas-document.ts';
import type { Committed, Ledger, VersionContent } from '../lake/documents/ledger.ts';
import type { Progress, Slice } from '../lake/documents/progress.ts';
import type { StoredSchema } from '../lake/documents/schema.ts';
import { attemptPrefix, brandRawPrefix, parseDayKey } from '../lake/paths.ts';
import type { TableSchema } from '../lake/table/columns.ts';
import { type BuiltSnapshot, build } from '../pipeline/build.ts';
import type { BuildContext, RunContext } from '../pipeline/context.ts';
import type { StagedDay } from '../pipeline/staged-records.ts';
import { closesAtMs, doubtOf, settles, watchedDays } from '../planning/due.ts';
import { refusedSummary } from '../planning/refused-lookups.ts';
import type { ObjectStore } from '../ports.ts';

/** A report of a brand with its settings, and its progress documents. */
export type ProofContext = BuildContext & Pick<RunContext, 'progress'>;

/** The content of a snapshot, and the columns that it has. */
export interface FoundSnapshot extends VersionContent {
  columns: TableSchema['columns'];
}

/** What the ledger says of a day, but whether it is published. */
export type ProvenDay = Omit<Committed, 'published'>;

/** The attempts of which anything is left, by day, the newest first. */
export async function attemptsByDay({
  brand,
  report,
  lake,
}: Pick<BuildContext, 'brand' | 'report' | 'lake'>): Promise<Map<string, string[]>> {
  const prefix = brandRawPrefix(report.name, brand);
  const newest = new Map<string, { day: string; id: string; atMs: number }>();
  for await (const { key, modifiedAt } of lake.store.list(prefix)) {
    const of = parseDayKey(prefix, key);
    if (!of) continue;
    const name = `${of.day}/${of.id}`;
    newest.set(name, { ...of, atMs: Math.max(newest.get(name)?.atMs ?? 0, modifiedAt.getTime()) });
  }
  const sorted = [...newest.values()].sort((a, b) => b.atMs - a.atMs);
  return new Map(
    [...Map.groupBy(sorted, ({ day }) => day)].map(([day, attempts]) => [day, attempts.map(({ id }) => id)]),
  );
}

/** How the snapshot was read, where the raw records of one of the attempts prove it. */
export async function proveReading(
  ctx: ProofContext,
  day: string,
  attempts: readonly string[],
  found: FoundSnapshot,
): Promise<ProvenDay | undefined> {
  const dry = dryContext(ctx, day, found);
  for (const attempt of attempts)
    for (const { slices, queryFingerprint } of await finishedReadings(ctx, day, attempt)) {
      const built = await buildOrNothing(dry, stagedOf(ctx, day, attempt, slices));
      if (!built?.unchanged) continue;
      const { unchanged: _unchanged, hashes: _hashes, ...content } = built;
      return { ...content, ...readingOf(ctx, day, attempt, slices, content), queryFingerprint };
    }
  return undefined;
}

/** Makes a day again whose snapshot is lost, from the newest attempt that has read it to an end. */
export async function rebuildLost(
  ctx: ProofContext,
  day: string,
  attempts: readonly string[],
): Promise<ProvenDay | undefined> {
  const empty = { ...ctx, ledger: () => ledgerWith(ctx, day, {}) };
  for (const attempt of attempts)
    for (const { slices, queryFingerprint } of await finishedReadings(ctx, day, attempt)) {
      const built = await buildOrNothing(empty, stagedOf(ctx, day, attempt, slices));
      if (!built) continue;
      const { unchanged: _unchanged, hashes: _hashes, ...content } = built;
      return { ...content, ...readingOf(ctx, day, attempt, slices, content), queryFingerprint };
    }
  return undefined;
}

/** The slices of an attempt up to each that has ended, the longest first: each may be what was committed. */
async function finishedReadings(
  ctx: ProofContext,
  day: string,
  attempt: string,
): Promise<Pick<Progress, 'slices' | 'queryFingerprint'>[]> {
  const progress = await refreshUndamaged(ctx.progress(day, attempt));
  if (!progress) return [];
  const { slices, queryFingerprint } = progress;
  return slices
    .map((_slice, index) => slices.slice(0, index + 1))
    .filter((upTo) => upTo.every(({ done }) => done))
    .reverse()
    .map((upTo) => ({ slices: upTo, queryFingerprint }));
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

function stagedOf(ctx: BuildContext, day: string, attempt: string, slices: readonly Slice[]): StagedDay {
  const prefix = attemptPrefix(ctx.report.name, ctx.brand, day, attempt);
  return { day, slices: slices.map((slice) => ({ slice, prefix })) };
}

/** What a commit of these slices would say, if nothing had been known of the day before. */
function readingOf(
  { policy, report }: ProofContext,
  day: string,
  attempt: string,
  slices: readonly Slice[],
  content: Omit<BuiltSnapshot, 'unchanged' | 'hashes'>,
): Omit<ProvenDay, 'snapshot' | 'rows' | 'bytes' | 'digest' | 'queryFingerprint'> {
  const last = slices.at(-1);
  if (!last) throw new Error('a reading has a slice');
  const { rows } = content;
  const { startedAt } = (last.upstream?.closed && slices[0]) || last;
  const startedMs = Date.parse(startedAt);
  const isToTheEnd = report.day.by === 'upstream' || last.toMs === endOfDay(day, policy.timeZone);
  const isOver = last.whole && isToTheEnd && startedMs >= closesAtMs(day, policy);
  const closed = isOver && (last.upstream?.closed ?? true);
  const passes = { identicalPasses: closed ? 1 : 0, ...(last.resumed && { resumed: true }) };
  const parts = slices.flatMap((slice) => slice.parts);
  const recordPages = last.parts
    .filter(({ role }) => role === 'include')
    .reduce((sum, part) => sum + part.recordPages, 0);
  const reading = { unchanged: false, recordPages, rows, isTimeSure: true };
  const { mayBeLast, ...doubt } = doubtOf(policy, reading, undefined);
  const refusedLookups = refusedSummary(slices);
  const isLast = closed && settles(day, policy, startedMs, { ...content, ...passes });
  const settled = isLast && mayBeLast && rows > 0 && !refusedLookups?.retryAt;
  return {
    state: closed ? 'closed' : 'open',
    settled,
    ...(settled && { watchedDays: watchedDays(day, policy, startedMs) }),
    ...passes,
    ...doubt,
    attempt,
    pages: parts.reduce((sum, { pages }) => sum + pages, 0),
    readFrom: startedAt,
    readTo: new Date(last.toMs).toISOString(),
    ...(last.upstream && { upstreamDigest: last.upstream.digest }),
    ...(refusedLookups && { refusedLookups }),
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
