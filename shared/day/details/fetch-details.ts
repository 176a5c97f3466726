import { hash } from 'node:crypto';
import { addDays } from '../../base/days.ts';
import { asBrandReportsError, rethrowBugs } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import type { Slice, SlicePart } from '../../lake/progress.ts';
import { loadCodedFile } from '../../table/load-parquet.ts';
import { type ReadableFile, fileIn, findFile } from '../../table/readable-file.ts';
import { recordsOfRows } from '../../table/typed-columns.ts';
import { type MissingLookup, isDue, missingAfter, refusedLookup } from '../../planning/lookups.ts';
import { keyOf, keysOf, ownersAmong, recordListOf } from '../../records/record-list.ts';
import type { Lookup, UpstreamRecord } from '../../reports/definition.ts';
import { lookUp } from '../../service/lookup.ts';
import { hashOf } from '../../service/paging/page.ts';
import type { Attempt } from '../claim.ts';
import type { RunContext } from '../../context/context.ts';
import { type OpenDay, openDay } from '../../context/open-day.ts';
import { type LookupAnswer, type Refusals, createRefusals, lookUpBatch } from './look-up-batch.ts';
import type { StagedPage } from '../stage.ts';
import { pagesOf, upstreamRecords } from '../staged-records.ts';

const KEYS_PER_PAGE = 50;

/**
 * Looks up another report's records one by one (docs/explanation/interface.md, section 4.2) and returns the responses
 * as pages. A page has the responses about 50 records, which are looked up concurrently; its cursor is the rank of the
 * last of them. A refused lookup belongs to its page like a record. Memory holds only the keys of the day's records
 * (I12).
 *
 * I1: as long as an upstream record exists, its committed details stay, whatever the service responds now. The raw
 * records may have been deleted, or belong to another attempt. So after the lookups, details that no slice has found
 * are staged again from the committed snapshots.
 */
export async function* lookedUpPages(
  ctx: RunContext,
  attempt: Attempt,
  slice: Slice,
  part: SlicePart,
  lookup: Lookup,
): AsyncGenerator<StagedPage> {
  const work: Work = { ctx, attempt, slice, lookup };
  const known = await knownRecords(work, part);
  const ranked = await recordsToLookUp(work, known);
  let cursor = typeof part.cursor === 'string' ? part.cursor : '';
  const page = (found: JsonObject[], next: string | null): StagedPage => {
    const records = recordListOf(found);
    return { records, cursor, next, hash: hashOf(records), seen: cursor };
  };
  const refusals = createRefusals(
    (key) => known.missing.get(key)?.code !== undefined,
    () => ctx.service.hasAnsweredTo(ctx.report.action),
  );
  try {
    for (let left = ranked.filter(({ rank }) => rank > cursor); left.length > 0; ) {
      const batch = left.slice(0, KEYS_PER_PAGE);
      const records = batch.map(({ record }) => record);
      const { answers, failure } = await lookUpBatch(ctx, lookup, records, refusals);
      // If the service refuses the action itself, its earlier refusals do not count against single clicks.
      if (failure && (failure.kind !== 'transient' || answers.length === 0)) throw failure;
      await assertAnswersAny(work, known, refusals);
      left = left.slice(answers.length);
      for (const { key, records: found } of answers) if (found.length > 0) known.found.add(key);
      const isEnd = left.length === 0 && (await keysToKeep(known)).size === 0;
      const reached = batch[answers.length - 1]?.rank ?? cursor;
      const found = answers.flatMap((answer) => answer.records);
      yield { ...page(found, isEnd ? null : reached), ...(await withoutRecord(ctx, answers, known)) };
      if (failure) throw failure;
      if (isEnd) return;
      cursor = reached;
    }
  } finally {
    const [first] = refusals.met;
    if (first) {
      const lookups = refusals.met.length;
      ctx.log({ event: 'lookups_refused', day: attempt.day, lookups, message: first.message });
    }
  }
  const kept = await keysToKeep(known);
  if (kept.size > 0) for await (const records of known.committed.pages(kept)) yield page(records, cursor);
  yield page([], null);
}

interface Work {
  ctx: RunContext;
  attempt: Attempt;
  slice: Slice;
  lookup: Lookup;
}

interface Known {
  upstream: ReadonlyMap<string, UpstreamRecord>;
  /** The key of the upstream record that a response is about. */
  ownerOf: (answered: string) => string | undefined;
  foundBefore: ReadonlySet<string>;
  missing: ReadonlyMap<string, MissingLookup>;
  found: Set<string>;
  committed: ReturnType<typeof committedDetails>;
  isCommittedAttempt: boolean;
}

async function knownRecords(work: Work, part: SlicePart): Promise<Known> {
  const { ctx, attempt, slice, lookup } = work;
  const { day, progress, committed } = attempt;
  const earlier = (await progress.cached()).slices.slice(0, -1);
  const upstream = await upstreamRecords(ctx, day, slice, lookup);
  const ownerOf = ownersAmong(upstream);
  const found = new Set<string>();
  if (part.pages > 0) for await (const key of answeredKeys(work, slice)) found.add(ownerOf(key) ?? key);
  return {
    upstream,
    ownerOf,
    foundBefore: await foundBefore(work, earlier, ownerOf),
    missing: missingAfter(earlier),
    found,
    committed: committedDetails(ctx, attempt, lookup, ownerOf),
    isCommittedAttempt: attempt.id === committed?.attempt,
  };
}

/** In another time zone, a day has records of at most two days before or after it. */
const NEAR_DAYS = [-2, -1, 1, 2];

interface OfVersion {
  key: string;
  file: () => Promise<ReadableFile | undefined>;
}

/**
 * The versions whose details the day keeps: its own version and, after a change of the time zone, the versions that
 * near days have or had in another zone. The change moves clicks between days, and the service may have forgotten their details.
 */
async function versionsWithDetails(ctx: RunContext, { day, committed, keys }: OpenDay): Promise<OfVersion[]> {
  const { store } = ctx.lake;
  const own = committed?.rows ? { key: keys.version(committed.snapshot), bytes: committed.bytes } : undefined;
  const near = await Promise.all(NEAR_DAYS.map((distance) => openDay(ctx, addDays(day, distance))));
  const inOtherZone = near.flatMap(({ entry, keys: ofDay }) =>
    [...(entry.superseded ?? []), ...(entry.committed ? [entry.committed] : [])]
      .filter(({ timeZone }) => timeZone !== undefined && timeZone !== ctx.policy.timeZone)
      .map(({ snapshot }) => ofDay.version(snapshot))
      .reverse(),
  );
  return [
    ...(own ? [{ key: own.key, file: async () => fileIn(store, own) }] : []),
    ...inOtherZone.map((key) => ({ key, file: () => findFile(store, key) })),
  ];
}

/**
 * The details that earlier readings found. They are read if the service has forgotten them, or if the raw records are gone.
 * A missing or damaged snapshot has no records. I12: memory holds the keys and a row group.
 */
function committedDetails(
  ctx: RunContext,
  attempt: Attempt,
  { answerField }: Lookup,
  ownerOf: Known['ownerOf'],
) {
  const { day } = attempt;
  /** @param field the only field to read; missing: all fields */
  async function* records({ key, file }: OfVersion, field?: string): AsyncGenerator<[string, JsonObject]> {
    try {
      const { openCodedFile, rowsOf } = await loadCodedFile();
      const found = await file();
      if (!found) return;
      const opened = await openCodedFile(found);
      const columns = opened.columns.filter((column) => field === undefined || column.field === field);
      const recordOf = recordsOfRows(columns);
      const names = columns.map(({ name }) => name);
      for await (const group of opened.groups(names))
        for (const row of rowsOf(group)) {
          const record = recordOf(row);
          yield [ownerOf(keyOf(record[answerField]) ?? '') ?? '', record];
        }
    } catch (thrown) {
      const { kind, code, message } = asBrandReportsError(thrown);
      if (kind !== 'bug' && code !== 'object_missing') throw thrown;
      const lost = `${key} cannot be read: ${message}; records in it that the service no longer returns are lost`;
      ctx.log({ event: 'committed_details_unreadable', day, message: lost });
    }
  }
  async function readVersions(): Promise<Map<string, OfVersion>> {
    const versions = new Map<string, OfVersion>();
    for (const version of await versionsWithDetails(ctx, attempt))
      for await (const [owner] of records(version, answerField))
        if (owner !== '' && !versions.has(owner)) versions.set(owner, version);
    return versions;
  }
  let read: Promise<ReadonlyMap<string, OfVersion>> | undefined;
  const versionOf = () => (read ??= readVersions());
  return {
    /** By the key of each upstream record that has details. */
    versions: versionOf,
    /** The details of these upstream records, in pages. Records with the same key are on one page. */
    async *pages(wanted: ReadonlySet<string>): AsyncGenerator<JsonObject[]> {
      const from = await versionOf();
      let page: JsonObject[] = [];
      let before: string | undefined;
      for (const version of new Set(from.values()))
        for await (const [owner, record] of records(version)) {
          if (from.get(owner) !== version || !wanted.has(owner)) continue;
          if (page.length >= KEYS_PER_PAGE && owner !== before) {
            yield page;
            page = [];
          }
          page.push(record);
          before = owner;
        }
      if (page.length > 0) yield page;
    },
  };
}

async function keysToKeep({ upstream, found, foundBefore, committed }: Known): Promise<Set<string>> {
  const isMissing = (key: string) => !found.has(key) && !foundBefore.has(key);
  if (![...upstream.keys()].some(isMissing)) return new Set();
  return new Set([...(await committed.versions()).keys()].filter(isMissing));
}

/** A click whose committed detail stays is not without a record, even if the service has forgotten it. */
async function withoutRecord(
  ctx: RunContext,
  answers: readonly LookupAnswer[],
  known: Known,
): Promise<Pick<StagedPage, 'refused' | 'empty'>> {
  const counts = ctx.service.hasAnsweredTo(ctx.report.action);
  const empty = answers.filter(({ records, refusal }) => records.length === 0 && !refusal);
  const kept = empty.length > 0 ? await known.committed.versions() : undefined;
  return {
    refused: answers.flatMap(({ key, refusal }) =>
      refusal ? refusedLookup(key, refusal.code, known.missing.get(key), counts) : [],
    ),
    empty: empty.flatMap(({ key }) => (kept?.has(key) ? [] : [key])),
  };
}

async function recordsToLookUp({ slice }: Work, known: Known): Promise<RankedRecord[]> {
  const { missing, foundBefore, isCommittedAttempt } = known;
  // If the raw records of the committed version have been deleted, its snapshot shows which records were found.
  const areRawGone = isCommittedAttempt && foundBefore.size === 0;
  const published = areRawGone ? await known.committed.versions() : undefined;
  const requested = [...known.upstream.values()].filter(({ key }) => {
    const [lookedUp, isFound] = [missing.get(key), foundBefore.has(key)];
    // A record that was found stays found, even if the service later responds without a record.
    if (lookedUp && (lookedUp.code !== undefined || !isFound)) return isDue(lookedUp, slice);
    return !isFound && !published?.has(key);
  });
  return scattered(slice, requested);
}

async function foundBefore(
  work: Work,
  earlier: readonly Slice[],
  ownerOf: Known['ownerOf'],
): Promise<Set<string>> {
  const found = new Set<string>();
  for (const slice of earlier)
    for await (const answered of answeredKeys(work, slice)) found.add(ownerOf(answered) ?? '');
  return found;
}

interface RankedRecord {
  record: UpstreamRecord;
  rank: string;
}

/** In a random order: otherwise neighbours that the service refuses would look like a service that refuses everything. */
function scattered({ startedAt }: Slice, records: readonly UpstreamRecord[]): RankedRecord[] {
  const ranked = records.map((record) => ({
    record,
    rank: hash('md5', `${startedAt} ${record.key}`, 'hex'),
  }));
  return ranked.sort((a, b) => (a.rank < b.rank ? -1 : 1));
}

/**
 * Fails the day if the service refuses even a record that was found before, and has answered no lookup in this run.
 * Then the service refuses the action itself, so no lookup of the day loses a try.
 */
async function assertAnswersAny({ ctx, slice, lookup }: Work, known: Known, refusals: Refusals) {
  const { service, report } = ctx;
  if (refusals.met.length === 0 || service.hasAnsweredTo(report.action)) return;
  const upstream = [...known.upstream.values()];
  const staged = upstream.filter(({ key }) => known.foundBefore.has(key) || known.found.has(key));
  const published = staged.length > 0 ? undefined : await known.committed.versions();
  const candidates = staged.length > 0 ? staged : upstream.filter(({ key }) => published?.has(key));
  const [first] = scattered(slice, candidates);
  if (!first) return;
  await lookUp(service, report.action, lookup, first.record).catch((thrown: unknown) => {
    const { kind, code } = rethrowBugs(thrown);
    if (kind !== 'contract' || code === 'redirect') throw thrown;
  });
  if (!service.hasAnsweredTo(report.action)) throw refusals.ofAction();
}

async function* answeredKeys({ ctx, attempt, lookup }: Work, slice: Slice): AsyncGenerator<string> {
  for await (const list of pagesOf(ctx, attempt.keys.attempt(attempt.id), slice, 'include'))
    for (const key of keysOf(list, lookup.answerField)) if (key !== undefined) yield key;
}
