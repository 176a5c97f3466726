import { hash } from 'node:crypto';
import { monthOf } from '../days.ts';
import { BrandReportsError, asBrandReportsError, rethrowBugs } from '../errors.ts';
import type { SlicePart, Slice } from '../lake/documents/progress.ts';
import { attemptPrefix, dayPartition, snapshotKey } from '../lake/paths.ts';
import { loadParquet } from '../lake/table/load-parquet.ts';
import { dayQueries, windowToRead } from '../planning/day-queries.ts';
import { isDue, refusedAfter, refusedLookup } from '../planning/refused-lookups.ts';
import { keysOf } from '../records/record-keys.ts';
import { recordListOf } from '../records/record-list.ts';
import type { Lookup, ReportDefinition } from '../reports/definition.ts';
import { type UpstreamRecord, lookUp } from '../service/lookup.ts';
import { hashOf } from '../service/paging/page.ts';
import { firstPage } from '../service/paging/pages.ts';
import type { Attempt } from './claim.ts';
import type { RunContext } from './context.ts';
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
      yield { records, refused, cursor, next, hash: hashOf(records), seen: String(cursor) };
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
 * The upstream records that the slice asks for: those of which no earlier slice found a record, less the refused ones
 * whose wait is not over. They are in an order without meaning, or some neighbours that the service refuses would look
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
  const found = slice.onlyRefused ? undefined : await keysFound(ctx, attempt, earlier, lookup);
  const isAsked = (key: string) => {
    const refused = refusedBefore.get(key);
    return refused ? isDue(refused, startedMs) : found?.has(key) === false;
  };
  const upstream = await upstreamRecords(ctx, attempt.day, slice, lookup);
  return scattered(
    slice,
    upstream.filter(({ key }) => isAsked(key)),
  );
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
  const found = await keysFound(ctx, attempt, earlier, lookup);
  const upstream = await upstreamRecords(ctx, attempt.day, slice, lookup);
  const [known] = scattered(
    slice,
    upstream.filter(({ key }) => found.has(key)),
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

/** The records of the upstream snapshot that the slice was planned from, each key once. @throws where that snapshot is gone */
async function upstreamRecords(
  ctx: RunContext,
  day: string,
  { upstream }: Slice,
  lookup: Lookup,
): Promise<UpstreamRecord[]> {
  const { store } = ctx.lake;
  if (!upstream || !ctx.upstream) return [];
  const key = snapshotKey(ctx.upstream.report.table, dayPartition(ctx.brand, day), upstream.snapshot);
  const file = { bytes: upstream.bytes, range: (start: number, end: number) => store.range(key, start, end) };
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
  return [...records.values()];
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

/** The keys of which earlier slices of the day found a record. */
async function keysFound(
  ctx: RunContext,
  { day, id }: Attempt,
  earlier: readonly Slice[],
  { answerField }: Lookup,
): Promise<Set<string>> {
  const prefix = attemptPrefix(ctx.report.name, ctx.brand, day, id);
  const chunks = earlier.flatMap(({ parts }) => parts.flatMap((part) => part.chunks));
  const found = new Set<string>();
  for (const chunk of chunks) {
    for (const list of await readChunk(ctx.lake.store, prefix, chunk))
      for (const key of keysOf(list, answerField)) if (key !== undefined) found.add(key);
  }
  return found;
}
