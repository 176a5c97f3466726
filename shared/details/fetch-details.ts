import { hash } from 'node:crypto';
import { DAY_MS, MINUTE_MS } from '../days.ts';
import { rethrowBugs } from '../errors.ts';
import type { JsonObject } from '../json.ts';
import type { Slice, SlicePart } from '../lake/documents/progress.ts';
import { dayQueries, windowToRead } from '../planning/day-queries.ts';
import { type MissingLookup, isDue, missingAfter, refusedLookup } from '../planning/lookups.ts';
import { keysOf, ownersAmong, recordListOf } from '../records/record-list.ts';
import type { Lookup, UpstreamRecord } from '../reports/definition.ts';
import { lookUp } from '../service/lookup.ts';
import { hashOf } from '../service/paging/page.ts';
import type { Attempt } from '../attempt/claim.ts';
import { type CommittedDetails, committedDetails } from './committed-details.ts';
import type { RunContext } from '../context/context.ts';
import { fetchFirstPage } from '../attempt/fetch.ts';
import { type LookupAnswer, type Refusals, createRefusals, lookUpBatch } from './look-up-batch.ts';
import type { StagedPage } from '../attempt/stage.ts';
import { pagesOf } from '../attempt/staged-records.ts';
import { upstreamRecords } from '../attempt/upstream-records.ts';

const KEYS_PER_PAGE = 50;

/**
 * The records of a report that looks up another report's records one by one (docs/explanation/interface.md, section 4.2). A page
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
  const asked = await recordsToLookUp(ctx, attempt.day, slice, known, lookup);
  let cursor = typeof part.cursor === 'string' ? part.cursor : '';
  const page = (found: JsonObject[], next: string | null): StagedPage => {
    const records = recordListOf(found);
    return { records, cursor, next, hash: hashOf(records), seen: cursor };
  };
  const refusals = createRefusals(
    (key) => known.missing.get(key)?.code !== undefined,
    () => ctx.service.hasAnsweredTo(ctx.report.action),
    known.hasFailed,
  );
  try {
    for (let left = asked.filter(({ rank }) => rank > cursor); left.length > 0; ) {
      const batch = left.slice(0, KEYS_PER_PAGE);
      const records = batch.map(({ record }) => record);
      const { answers, failure } = await lookUpBatch(ctx, lookup, records, refusals);
      // Where the service refuses the action itself, what it refused before is no click's fault.
      if (failure && (failure.kind !== 'transient' || answers.length === 0)) throw failure;
      await assertAnswersAny(ctx, slice, known, lookup, refusals);
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
  /** When earlier slices found a record the only time, in milliseconds; infinite if it was answered again since. */
  foundAtMs: ReadonlyMap<string, number>;
  /** The lookups that have brought no record to earlier slices. */
  missing: ReadonlyMap<string, MissingLookup>;
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
  const { day, progress, entry, committed } = attempt;
  const earlier = (await progress.cached()).slices.slice(0, -1);
  const upstream = await upstreamRecords(ctx, day, slice, lookup);
  const ownerOf = ownersAmong(upstream);
  const found = new Set<string>();
  if (part.pages > 0)
    for await (const key of answeredKeys(ctx, attempt, slice, lookup)) found.add(ownerOf(key) ?? key);
  return {
    upstream,
    ownerOf,
    foundAtMs: await foundBefore(ctx, attempt, earlier, lookup, ownerOf),
    missing: missingAfter(earlier),
    found,
    committed: committedDetails(ctx, attempt, lookup),
    isCommittedAttempt: attempt.id === committed?.attempt,
    hasFailed: entry.failure !== undefined,
  };
}

/** Which of the upstream records are in the committed snapshot, and were found by no slice. */
async function keysToKeep({ upstream, ownerOf, foundAtMs, found, committed }: Known): Promise<Set<string>> {
  const isMissing = (key: string) => !found.has(key) && !foundAtMs.has(key);
  if (![...upstream.keys()].some(isMissing)) return new Set();
  const owners = (await committed.keys()).flatMap((key) => ownerOf(key) ?? []);
  return new Set(owners.filter(isMissing));
}

function withoutRecord(
  ctx: RunContext,
  answers: readonly LookupAnswer[],
  known: Known,
): Pick<StagedPage, 'refused' | 'empty'> {
  const counts = ctx.service.hasAnsweredTo(ctx.report.action);
  return {
    refused: answers.flatMap(({ key, refusal }) =>
      refusal ? refusedLookup(key, refusal.code, known.missing.get(key), counts) : [],
    ),
    empty: answers.flatMap(({ key, records, refusal }) => (records.length === 0 && !refusal ? [key] : [])),
  };
}

/** The upstream records that the slice requests: those that no earlier slice has requested, and those whose wait is over. */
async function recordsToLookUp(
  ctx: RunContext,
  day: string,
  slice: Slice,
  known: Known,
  lookup: Lookup,
): Promise<RankedRecord[]> {
  // The raw records of what is committed are gone: its snapshot says what was found.
  const areRawGone = known.isCommittedAttempt && known.foundAtMs.size === 0;
  const published = areRawGone && !lookup.recordsChange ? await publishedKeys(known) : new Set();
  const asked = [...known.upstream.values()].filter(({ key }) => {
    const { missing, foundAtMs } = known;
    const [lookedUp, atMs] = [missing.get(key), foundAtMs.get(key)];
    // A record that was found stays found, though the service answers later that it has none.
    if (lookedUp && (lookedUp.code !== undefined || atMs === undefined)) return isDue(lookedUp, slice);
    if (slice.onlyRefused || published.has(key)) return false;
    return atMs === undefined || (lookup.recordsChange && hasAged(slice, atMs));
  });
  if ((slice.onlyRefused || known.hasFailed) && asked.length > 0)
    await goAhead(ctx, day, slice, known, lookup);
  return scattered(slice, asked);
}

/** A day later by the hourly schedule, whose runs do not begin at the same second. */
const CHANGED_AFTER_MS = DAY_MS - 30 * MINUTE_MS;

function hasAged({ startedAt }: Slice, atMs: number): boolean {
  return Date.parse(startedAt) - atMs >= CHANGED_AFTER_MS;
}

/** The upstream records of which the committed snapshot has records. */
async function publishedKeys({ committed, ownerOf }: Known): Promise<Set<string>> {
  return new Set((await committed.keys()).flatMap((key) => ownerOf(key) ?? []));
}

/** When earlier slices found records, by the key of the upstream record. */
async function foundBefore(
  ctx: RunContext,
  attempt: Attempt,
  earlier: readonly Slice[],
  lookup: Lookup,
  ownerOf: (answered: string) => string | undefined,
): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (const slice of earlier) {
    const atMs = Date.parse(slice.startedAt);
    for (const key of slice.parts.flatMap((part) => part.empty ?? []))
      if (found.has(key)) found.set(key, Infinity);
    for await (const answered of answeredKeys(ctx, attempt, slice, lookup)) {
      const key = ownerOf(answered);
      if (key !== undefined) found.set(key, (found.get(key) ?? atMs) === atMs ? atMs : Infinity);
    }
  }
  return found;
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
  known: Known,
  lookup: Lookup,
): Promise<void> {
  if (ctx.service.hasAnswered) return;
  await lookupFound(ctx, slice, known, lookup);
  if (!ctx.service.hasAnswered) await answerAlone(() => firstUpstreamPage(ctx, day));
}

/**
 * Looks up a record that was found before, unless the service has answered a lookup in this run.
 * @returns whether there is such a record
 */
async function lookupFound(ctx: RunContext, slice: Slice, known: Known, lookup: Lookup): Promise<boolean> {
  const { action } = ctx.report;
  if (ctx.service.hasAnsweredTo(action)) return true;
  const { upstream, foundAtMs, found } = known;
  const isFound = ({ key }: UpstreamRecord) => foundAtMs.has(key) || found.has(key);
  const staged = [...upstream.values()].filter(isFound);
  const published = staged.length > 0 ? new Set() : await publishedKeys(known);
  const candidates =
    staged.length > 0 ? staged : [...upstream.values()].filter(({ key }) => published.has(key));
  const [first] = scattered(slice, candidates);
  if (first) await answerAlone(() => lookUp(ctx.service, action, lookup, first.record));
  return first !== undefined;
}

/**
 * If the service refuses even a record that was found before, and has answered no lookup in this run, it refuses the
 * action: the day fails, and no lookup of it loses a try.
 */
async function assertAnswersAny(
  ctx: RunContext,
  slice: Slice,
  known: Known,
  lookup: Lookup,
  refusals: Refusals,
): Promise<void> {
  if (refusals.met.length === 0 || ctx.service.hasAnsweredTo(ctx.report.action)) return;
  const isKnown = await lookupFound(ctx, slice, known, lookup);
  if (isKnown && !ctx.service.hasAnsweredTo(ctx.report.action)) throw refusals.ofAction();
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
  { keys, id }: Attempt,
  slice: Slice,
  { answerField }: Lookup,
): AsyncGenerator<string> {
  for await (const list of pagesOf(ctx, keys.attempt(id), slice, 'include'))
    for (const key of keysOf(list, answerField)) if (key !== undefined) yield key;
}
