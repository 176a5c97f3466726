import { hash } from 'node:crypto';
import { DAY_MS, MINUTE_MS, monthOf } from '../days.ts';
import { BrandReportsError, asBrandReportsError, rethrowBugs } from '../errors.ts';
import type { SlicePart, Slice } from '../lake/documents/progress.ts';
import { attemptPrefix, dayPartition, snapshotKey } from '../lake/paths.ts';
import { loadParquet } from '../lake/table/load-parquet.ts';
import { fileIn } from '../lake/table/readable-file.ts';
import { dayQueries, windowToRead } from '../planning/day-queries.ts';
import { isDue, refusedAfter, refusedLookup } from '../planning/refused-lookups.ts';
import { keysOf } from '../records/record-keys.ts';
import { type RecordList, recordListOf } from '../records/record-list.ts';
import type { Lookup, ReportDefinition } from '../reports/definition.ts';
import { type UpstreamRecord, lookUp, ownersAmong } from '../service/lookup.ts';
import { hashOf } from '../service/paging/page.ts';
import { firstPage } from '../service/paging/pages.ts';
import type { Attempt } from './claim.ts';
import type { BuildContext, RunContext } from './context.ts';
import { createRefusals, lookUpBatch } from './look-up-batch.ts';
import { pageRequest } from './page-request.ts';
import { type StagedPage, readChunk } from './stage.ts';

const KEYS_PER_PAGE = 50;

/**
 * The records of a report that looks up another report's records one by one (docs/interface.md, section 4.2). A page
 * is what the service knows about 50 of them, looked up concurrently; its cursor counts those that are done. A refused
 * lookup belongs to its page like a record. Memory holds the keys of the day and nothing else of its records (I12).
 */
export async function* lookedUpPages(
  ctx: RunContext,
  attempt: Attempt,
  slice: Slice,
  part: SlicePart,
  lookup: Lookup,
): AsyncGenerator<StagedPage> {
  const earlier = (await attempt.progress.cached()).slices.slice(0, -1);
  const refusedBefore = refusedAfter(earlier);
  const asked = await recordsToAskFor(ctx, attempt, slice, earlier, lookup);
  const { committed, failure: failedBefore } =
    (await ctx.ledger(monthOf(attempt.day)).cached()).days[attempt.day] ?? {};
  if ((slice.onlyRefused || failedBefore) && asked.length > 0)
    await goAhead(ctx, attempt, slice, earlier, lookup);
  const refusals = createRefusals((key) => refusedBefore.has(key));
  let answered = part.pages > 0;
  try {
    for (let done = Number(part.cursor ?? 0); ; ) {
      const batch = asked.slice(done, done + KEYS_PER_PAGE);
      const { answers, failure } = await lookUpBatch(ctx, lookup, batch, refusals);
      // Where the service refuses the action itself, what it refused before is no click's fault.
      if (failure && (failure.kind !== 'transient' || answers.length === 0)) throw failure;
      const cursor = done;
      done += answers.length;
      const next = done < asked.length ? done : null;
      answered ||= answers.some(({ refusal }) => !refusal);
      const [refusal] = refusals.met;
      // I1: details that the service has forgotten are not ours to remove.
      if (next === null && !answered && earlier.length === 0 && refusal && committed && committed.rows > 0)
        throw refusal;
      const records = recordListOf(answers.flatMap((answer) => answer.records));
      const nowMs = ctx.clock.now().getTime();
      const refused = answers.flatMap(({ key, refusal }) =>
        refusal ? refusedLookup(key, refusal.code, refusedBefore.get(key), nowMs) : [],
      );
      const empty = answers.flatMap(({ key, records: found, refusal }) =>
        found.length === 0 && !refusal ? [key] : [],
      );
      yield { records, refused, empty, cursor, next, hash: hashOf(records), seen: String(cursor) };
      if (failure) throw failure;
      if (next === null) return;
    }
  } finally {
    const [first] = refusals.met;
    if (first) {
      const lookups = refusals.met.length;
      ctx.log({ event: 'lookups_refused', day: attempt.day, lookups, message: first.message });
    }
  }
}

/**
 * The upstream records that the slice asks for: those that no earlier slice was answered, less the refused ones whose wait
 * is not over. They are in an order without meaning, or some neighbours that the service refuses would look
 * like a service that refuses everything; another slice has another order.
 */
async function recordsToAskFor(
  ctx: RunContext,
  attempt: Attempt,
  slice: Slice,
  earlier: readonly Slice[],
  lookup: Lookup,
): Promise<UpstreamRecord[]> {
  const startedMs = Date.parse(slice.startedAt);
  const refusedBefore = refusedAfter(earlier);
  const upstream = await upstreamRecords(ctx, attempt.day, slice, lookup);
  const answers = slice.onlyRefused
    ? undefined
    : await answersBefore(ctx, attempt, earlier, lookup, upstream);
  const isAsked = (key: string) => {
    const refused = refusedBefore.get(key);
    if (refused) return isDue(refused, startedMs);
    return answers !== undefined && isAskedAgain(answers.get(key), slice, lookup);
  };
  return scattered(
    slice,
    [...upstream.values()].filter(({ key }) => isAsked(key)),
  );
}

/** How a record was answered before. `atMs`: when it was found the only time; infinite where it was answered again since. */
type Answer = { found: true; atMs: number } | { found: false; upstreamClosed: boolean };

/** A day later by the hourly schedule, whose runs do not begin at the same second. */
const CHANGED_AFTER_MS = DAY_MS - 30 * MINUTE_MS;

function isAskedAgain(answer: Answer | undefined, { startedAt, upstream }: Slice, lookup: Lookup): boolean {
  if (!answer) return true;
  // Nothing was found: what is known of a click may come later than the click, but not later than the day is closed.
  if (!answer.found) return upstream?.closed === true && !answer.upstreamClosed;
  return lookup.recordsChange && Date.parse(startedAt) - answer.atMs >= CHANGED_AFTER_MS;
}

/** What earlier slices were answered, by the key of the upstream record. */
async function answersBefore(
  ctx: RunContext,
  attempt: Attempt,
  earlier: readonly Slice[],
  lookup: Lookup,
  upstream: ReadonlyMap<string, UpstreamRecord>,
): Promise<Map<string, Answer>> {
  const answers = new Map<string, Answer>();
  const ownerOf = ownersAmong(upstream);
  for (const slice of earlier) {
    const atMs = Date.parse(slice.startedAt);
    for (const key of slice.parts.flatMap((part) => part.empty ?? [])) {
      const found = answers.get(key)?.found;
      const upstreamClosed = slice.upstream?.closed === true;
      answers.set(key, found ? { found, atMs: Infinity } : { found: false, upstreamClosed });
    }
    for await (const answered of answeredKeys(ctx, attempt, slice, lookup)) {
      const key = ownerOf(answered);
      const before = key === undefined ? undefined : answers.get(key);
      const isFirst = !before?.found || before.atMs === atMs;
      if (key !== undefined) answers.set(key, { found: true, atMs: isFirst ? atMs : Infinity });
    }
  }
  return answers;
}

function scattered({ startedAt }: Slice, records: readonly UpstreamRecord[]): UpstreamRecord[] {
  const ranked = records.map((record) => ({
    record,
    rank: hash('md5', `${startedAt} ${record.key}`, 'hex'),
  }));
  return ranked.sort((a, b) => (a.rank < b.rank ? -1 : 1)).map(({ record }) => record);
}

/**
 * Two refusals end a run that the service has answered nothing yet, because they may mean the credentials. So a record
 * that was found before is looked up ahead of those that were refused, and of a day that failed. The service may have
 * forgotten it since: then it is asked for the upstream report of that day, which it must answer where the credentials
 * are right.
 */
async function goAhead(
  ctx: RunContext,
  attempt: Attempt,
  slice: Slice,
  earlier: readonly Slice[],
  lookup: Lookup,
): Promise<void> {
  if (ctx.service.hasAnswered) return;
  const upstream = await upstreamRecords(ctx, attempt.day, slice, lookup);
  const answers = await answersBefore(ctx, attempt, earlier, lookup, upstream);
  const [known] = scattered(
    slice,
    [...upstream.values()].filter(({ key }) => answers.get(key)?.found),
  );
  if (known) await answerAlone(() => lookUp(ctx.service, ctx.report.action, lookup, known));
  if (!ctx.service.hasAnswered) await answerAlone(() => firstUpstreamPage(ctx, attempt.day));
}

/** Asks for the sake of the answer: a refusal says nothing about the day. */
async function answerAlone(ask: () => Promise<unknown>): Promise<void> {
  try {
    await ask();
  } catch (thrown) {
    const { kind, code } = rethrowBugs(thrown);
    if (kind !== 'contract' || code === 'redirect') throw thrown;
  }
}

async function firstUpstreamPage(ctx: RunContext, day: string): Promise<void> {
  const { brandSettings, upstream } = ctx;
  const settings = upstream && brandSettings.reports[upstream.report.name];
  if (!upstream || !settings) return;
  const window = windowToRead(brandSettings, day, ctx.clock.now().getTime(), undefined);
  const [query] = dayQueries(upstream.report, brandSettings, settings, day, window);
  if (query) await firstPage(pageRequest({ ...ctx, report: upstream.report, settings }, query.fields));
}

/** The records of the upstream snapshot that the slice was planned from, by key. @throws where that snapshot is gone */
async function upstreamRecords(
  ctx: BuildContext,
  day: string,
  { upstream }: Slice,
  lookup: Lookup,
): Promise<Map<string, UpstreamRecord>> {
  const { store } = ctx.lake;
  if (!upstream || !ctx.upstream) return new Map();
  const key = snapshotKey(ctx.upstream.report.table, dayPartition(ctx.brand, day), upstream.snapshot);
  const file = fileIn(store, { key, bytes: upstream.bytes });
  const optional = lookup.optional.map(({ column }) => column);
  const records = new Map<string, UpstreamRecord>();
  const { readParquetRows } = await loadParquet();
  try {
    for await (const row of readParquetRows(file, [lookup.key.column, ...optional])) {
      const value = row[lookup.key.column];
      if (typeof value !== 'string' || value === '') continue;
      const present = optional.flatMap((column) => {
        const text = row[column];
        return typeof text === 'string' ? [[column, text] as const] : [];
      });
      records.set(value, { key: value, optional: Object.fromEntries(present) });
    }
  } catch (thrown) {
    throw damagedSnapshot(thrown, key, ctx.upstream.report, day);
  }
  return records;
}

/** What the Parquet reader throws at damaged bytes is no failure of this program. */
function damagedSnapshot(thrown: unknown, key: string, { name }: ReportDefinition, day: string): unknown {
  const { kind, code, message } = asBrandReportsError(thrown);
  if (kind !== 'bug' && code !== 'object_missing') return thrown;
  return new BrandReportsError(
    'contract',
    'damaged_snapshot',
    `${key} cannot be read: ${message}. Make it again: brand-reports sync ${name} --from ${day} --to ${day}`,
    { cause: thrown },
  );
}

/** The keys that the records of a slice name, as the service wrote them. */
async function* answeredKeys(
  ctx: RunContext,
  { day, id }: Attempt,
  { parts }: Slice,
  { answerField }: Lookup,
): AsyncGenerator<string> {
  const prefix = attemptPrefix(ctx.report.name, ctx.brand, day, id);
  for (const chunk of parts.flatMap((part) => part.chunks))
    for (const list of await readChunk(ctx.lake.store, prefix, chunk))
      for (const key of keysOf(list, answerField)) if (key !== undefined) yield key;
}

/**
 * Which records are the day's where several slices looked some up: those of a record that the upstream day still has, as
 * the newest slice that found it has them. To be called with the newest slice first.
 */
export async function newestAnswers(
  ctx: BuildContext,
  day: string,
  slices: readonly Slice[],
): Promise<{ ofSlice: () => (list: RecordList) => (index: number) => boolean }> {
  const { paging } = ctx.report;
  const newest = slices.at(-1);
  if (paging.style !== 'lookup' || !newest || slices.length < 2) return { ofSlice: () => () => () => true };
  const ownerOf = ownersAmong(await upstreamRecords(ctx, day, newest, paging.lookup));
  /** By key, the number of the slice that has it. */
  const sliceOf = new Map<string, number>();
  let number = 0;
  return {
    ofSlice() {
      number += 1;
      const own = number;
      return (list) => {
        const keys = keysOf(list, paging.lookup.answerField);
        return (index) => {
          const owner = ownerOf(keys[index] ?? '');
          if (owner === undefined) return false;
          if (!sliceOf.has(owner)) sliceOf.set(owner, own);
          return sliceOf.get(owner) === own;
        };
      };
    },
  };
}
