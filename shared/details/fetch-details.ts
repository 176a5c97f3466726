import { hash } from 'node:crypto';
import { DAY_MS, MINUTE_MS, monthOf } from '../days.ts';
import { rethrowBugs } from '../errors.ts';
import type { JsonObject } from '../json.ts';
import type { RefusedLookup, Slice, SlicePart } from '../lake/documents/progress.ts';
import { attemptPrefix } from '../lake/paths.ts';
import { dayQueries, windowToRead } from '../planning/day-queries.ts';
import { isDue, refusedAfter, refusedLookup } from '../planning/lookups.ts';
import { keysOf, ownersAmong, recordListOf } from '../records/record-list.ts';
import type { Lookup, UpstreamRecord } from '../reports/definition.ts';
import { lookUp } from '../service/lookup.ts';
import { hashOf } from '../service/paging/page.ts';
import type { Attempt } from '../attempt/claim.ts';
import { type CommittedDetails, committedDetails } from './committed-details.ts';
import type { RunContext } from '../context/context.ts';
import { fetchFirstPage } from '../attempt/fetch.ts';
import { type LookupAnswer, createRefusals, lookUpBatch } from './look-up-batch.ts';
import type { StagedPage } from '../attempt/stage.ts';
import { pagesOf } from '../attempt/staged-records.ts';
import { upstreamRecords } from '../attempt/upstream-records.ts';

const KEYS_PER_PAGE = 50;

/**
 * The records of a report that looks up another report's records one by one (docs/interface.md, section 4.2). A page
 * is what the service knows about 50 of them, looked up concurrently; its cursor is the rank of the last one. A refused
 * lookup belongs to its page like a record. Memory holds the keys of the day and nothing else of its records (I12).
 *
 * I1: what is committed of a record that is still there stays, whatever the service answers now. Raw records may be gone,
 * and another attempt has none: what no slice has found is staged again from the committed snapshot, behind the lookups.
 */
export async function* lookedUpPages(
  ctx: RunContext,
  attempt: Attempt,
  slice: Slice,
  part: SlicePart,
  lookup: Lookup,
): AsyncGenerator<StagedPage> {
  const known = await whatIsKnown(ctx, attempt, slice, part, lookup);
  const asked = await recordsToAskFor(ctx, attempt.day, slice, known, lookup);
  let cursor = typeof part.cursor === 'string' ? part.cursor : '';
  const page = (found: JsonObject[], next: string | null): StagedPage => {
    const records = recordListOf(found);
    return { records, cursor, next, hash: hashOf(records), seen: cursor };
  };
  const refusals = createRefusals((key) => known.refused.has(key));
  try {
    for (let left = asked.filter(({ rank }) => rank > cursor); left.length > 0; ) {
      const batch = left.slice(0, KEYS_PER_PAGE);
      const records = batch.map(({ record }) => record);
      const { answers, failure } = await lookUpBatch(ctx, lookup, records, refusals);
      // Where the service refuses the action itself, what it refused before is no click's fault.
      if (failure && (failure.kind !== 'transient' || answers.length === 0)) throw failure;
      left = left.slice(answers.length);
      for (const { key, records: found } of answers) if (found.length > 0) known.found.add(key);
      const isEnd = left.length === 0 && (await keysToKeep(known)).size === 0;
      const behind = batch[answers.length - 1]?.rank ?? cursor;
      const found = answers.flatMap((answer) => answer.records);
      yield { ...page(found, isEnd ? null : behind), ...withoutRecord(ctx, answers, known) };
      if (failure) throw failure;
      if (isEnd) return;
      cursor = behind;
    }
  } finally {
    const [first] = refusals.met;
    if (first) {
      const lookups = refusals.met.length;
      ctx.log({ event: 'lookups_refused', day: attempt.day, lookups, message: first.message });
    }
  }
  const kept = await keysToKeep(known);
  if (kept.size > 0)
    for await (const records of known.committed.pages((key) => kept.has(known.ownerOf(key) ?? '')))
      yield page(records, cursor);
  yield page([], null);
}

/** What is known of the records of the upstream day, by their keys. */
interface Known {
  upstream: ReadonlyMap<string, UpstreamRecord>;
  /** The key of the record that an answer names. */
  ownerOf: (answered: string) => string | undefined;
  /** What earlier slices were answered, and which lookups they were refused. */
  answers: ReadonlyMap<string, Answer>;
  refused: ReadonlyMap<string, RefusedLookup>;
  /** Those of which this slice has records. */
  found: Set<string>;
  committed: CommittedDetails;
  /** Whether the attempt is the one that is committed. */
  isCommittedAttempt: boolean;
  /** Whether the day failed the last time. */
  hasFailed: boolean;
}

async function whatIsKnown(
  ctx: RunContext,
  attempt: Attempt,
  slice: Slice,
  part: SlicePart,
  lookup: Lookup,
): Promise<Known> {
  const { day, progress } = attempt;
  const earlier = (await progress.cached()).slices.slice(0, -1);
  const upstream = await upstreamRecords(ctx, day, slice, lookup);
  const ownerOf = ownersAmong(upstream);
  const { committed, failure } = (await ctx.ledger(monthOf(day)).cached()).days[day] ?? {};
  const found = new Set<string>();
  if (part.pages > 0)
    for await (const key of answeredKeys(ctx, attempt, slice, lookup)) found.add(ownerOf(key) ?? key);
  return {
    upstream,
    ownerOf,
    answers: await answersBefore(ctx, attempt, earlier, lookup, ownerOf),
    refused: refusedAfter(earlier),
    found,
    committed: committedDetails(ctx, day, committed, lookup),
    isCommittedAttempt: attempt.id === committed?.attempt,
    hasFailed: failure !== undefined,
  };
}

/** Which of the upstream records are in the committed snapshot, and were found by no slice. */
async function keysToKeep({ upstream, ownerOf, answers, found, committed }: Known): Promise<Set<string>> {
  const isMissing = (key: string) => !found.has(key) && !answers.get(key)?.found;
  if (![...upstream.keys()].some(isMissing)) return new Set();
  const owners = (await committed.keys()).flatMap((key) => ownerOf(key) ?? []);
  return new Set(owners.filter(isMissing));
}

function withoutRecord(
  ctx: RunContext,
  answers: readonly LookupAnswer[],
  known: Known,
): Pick<StagedPage, 'refused' | 'empty'> {
  const nowMs = ctx.clock.now().getTime();
  return {
    refused: answers.flatMap(({ key, refusal }) =>
      refusal ? refusedLookup(key, refusal.code, known.refused.get(key), nowMs) : [],
    ),
    empty: answers.flatMap(({ key, records, refusal }) => (records.length === 0 && !refusal ? [key] : [])),
  };
}

/**
 * The upstream records that the slice asks for: those that no earlier slice was answered, less the refused ones whose wait
 * is not over.
 */
async function recordsToAskFor(
  ctx: RunContext,
  day: string,
  slice: Slice,
  known: Known,
  lookup: Lookup,
): Promise<RankedRecord[]> {
  // The raw records of what is committed are gone: its snapshot says what was found.
  const areRawGone = known.isCommittedAttempt && known.answers.size === 0;
  const keys = areRawGone && !lookup.recordsChange ? await known.committed.keys() : [];
  const foundBefore = new Set(keys.flatMap((key) => known.ownerOf(key) ?? []));
  const asked = [...known.upstream.values()].filter(({ key }) => {
    const refused = known.refused.get(key);
    if (refused) return isDue(refused, Date.parse(slice.startedAt));
    if (slice.onlyRefused || foundBefore.has(key)) return false;
    return isAskedAgain(known.answers.get(key), slice, lookup);
  });
  if ((slice.onlyRefused || known.hasFailed) && asked.length > 0)
    await goAhead(ctx, day, slice, known, lookup);
  return scattered(slice, asked);
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
  ownerOf: (answered: string) => string | undefined,
): Promise<Map<string, Answer>> {
  const answers = new Map<string, Answer>();
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

/** An upstream record and its place in the order in which a slice looks them up. */
interface RankedRecord {
  record: UpstreamRecord;
  rank: string;
}

/**
 * In an order without meaning, or some neighbours that the service refuses would look like a service that refuses
 * everything; another slice has another order.
 */
function scattered({ startedAt }: Slice, records: readonly UpstreamRecord[]): RankedRecord[] {
  const ranked = records.map((record) => ({
    record,
    rank: hash('md5', `${startedAt} ${record.key}`, 'hex'),
  }));
  return ranked.sort((a, b) => (a.rank < b.rank ? -1 : 1));
}

/**
 * Two refusals end a run that the service has answered nothing yet, because they may mean the credentials. So a record
 * that was found before is looked up ahead of those that were refused, and of a day that failed. The service may have
 * forgotten it since: then it is asked for the upstream report of that day, which it must answer where the credentials
 * are right.
 */
async function goAhead(
  ctx: RunContext,
  day: string,
  slice: Slice,
  { upstream, answers }: Known,
  lookup: Lookup,
): Promise<void> {
  if (ctx.service.hasAnswered) return;
  const found = [...upstream.values()].filter(({ key }) => answers.get(key)?.found);
  const [first] = scattered(slice, found);
  if (first) await answerAlone(() => lookUp(ctx.service, ctx.report.action, lookup, first.record));
  if (!ctx.service.hasAnswered) await answerAlone(() => firstUpstreamPage(ctx, day));
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
  if (query) await fetchFirstPage({ ...ctx, report: upstream.report, settings }, query.fields);
}

/** The keys that the records of a slice name, as the service wrote them. */
async function* answeredKeys(
  ctx: RunContext,
  { day, id }: Attempt,
  slice: Slice,
  { answerField }: Lookup,
): AsyncGenerator<string> {
  const prefix = attemptPrefix(ctx.report.name, ctx.brand, day, id);
  for await (const list of pagesOf(ctx, prefix, slice, 'include'))
    for (const key of keysOf(list, answerField)) if (key !== undefined) yield key;
}
