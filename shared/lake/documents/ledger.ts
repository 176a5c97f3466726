/**
 * `ledger/<report>/<brand>/<YYYY-MM>.json`: what is committed, day by day. The ledger is the truth, and the catalog is
 * a projection of it that can always be rebuilt: if the catalog were the truth, a run that dies between writing and
 * publishing would leave a day without any record of it.
 * Every function here is a transition: ledger in, ledger out, for `CasDocument.update`. `claimDay` records which run reads a
 * day, `commitDay` commits what was read (I4), `rollBackDay` an older version, `rebuildDay` the same reading made again, `recordPublished` notes that the catalog
 * followed, `failDay` and `releaseDay` let others read the day. A transition refuses where what it builds on is gone (I5).
 */
import * as z from 'zod/mini';
import { exponentialMs } from '../../backoff.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, isDay, monthOf } from '../../days.ts';
import { BrandReportsError, ERROR_KINDS } from '../../errors.ts';
import type { Json } from '../../json.ts';
import {
  parseDocument,
  damagedDocument,
  isFuture,
  marked,
  storedCount,
  storedTime,
  storedObject,
} from './cas-document.ts';
import { ledgerKey } from '../paths.ts';

const claim = storedObject(() => ({
  attempt: z.string(),
  /** The run that reads the day now; `null` where it stopped cleanly and any run may resume. */
  runId: z.nullable(z.string()),
  /** Wall clock, ISO 8601: the lease's last renewal where the progress document has none yet. */
  at: storedTime,
  /** How often the attempt was restarted, for whatever cause. */
  restarts: storedCount,
}));

const SNAPSHOT_ID = /^\w[\w.-]{0,199}$/;

const failure = storedObject(() => ({
  since: storedTime,
  times: storedCount,
  kind: z.enum(ERROR_KINDS),
  code: z.string(),
  message: z.string(),
  /** When it failed last. */
  lastAt: storedTime,
  /** Until then the day is read only where it is asked for by name. */
  retryAt: storedTime,
  /** What was asked: where the settings lead to other queries since, the day is not waited for. */
  queryFingerprint: z.optional(z.string()),
}));

const changes = storedObject(() => ({
  /** Of the table `changes`: its object has all changes of the day so far. */
  snapshot: z.string().check(z.regex(SNAPSHOT_ID)),
  bytes: storedCount,
  /** How many changes there were. */
  times: storedCount,
  /** The newest one; counts are missing where the version before could not be read. */
  last: storedObject(() => ({
    at: storedTime,
    rowsBefore: storedCount,
    added: z.optional(storedCount),
    removed: z.optional(storedCount),
    altered: z.optional(storedCount),
  })),
}));

const published = storedObject(() => ({
  /** The snapshot's id; its object is `snapshotKey(table, partition, snapshot)`. */
  snapshot: z.string().check(z.regex(SNAPSHOT_ID)),
  /** Whether the catalog was seen to point at `snapshot`. */
  published: z.boolean(),
  rows: storedCount,
  bytes: storedCount,
  digest: z.string(),
  /** When this content was committed, by the machine's clock: readings that found the same leave it. */
  committedAt: z.optional(storedTime),
  /** By column that has a value: the rows that have one. Only of the fullest columns, at most 250. */
  filled: z.optional(z.record(z.string(), storedCount)),
  /** By numeric column that has a value: the sum, as text, because a number would round it. */
  sums: z.optional(z.record(z.string(), z.string())),
  /** By column: the rows whose value it cannot hold, or not exactly, so that it is in `_rescued`; of the 20 with the most. */
  rescued: z.optional(z.record(z.string(), storedCount)),
  /** Of a report whose records have a state: the rows that can still change. */
  unsettled: z.optional(storedCount),
  /** What the day had before its content changed, and since when it has what it has now. */
  before: z.optional(
    storedObject(() => ({
      rows: storedCount,
      state: z.enum(['open', 'closed']),
      sum: z.optional(z.string()),
      at: storedTime,
    })),
  ),
  /** By check of the report's definition: what it counted last; a check that could not be made is missing. */
  findings: z.optional(z.record(z.string(), storedCount)),
  /** By check: a fingerprint of what it last examined. */
  examined: z.optional(z.record(z.string(), z.string())),
  /** Fingerprint of the states that `unsettled` was counted by. */
  statesFingerprint: z.optional(z.string()),
  /** `open`: everything known up to `readTo`. `closed`: one pass that began when the day and its late minutes were over. */
  state: z.enum(['open', 'closed']),
  settled: z.boolean(),
  /** Of a settled day: the age in days up to which it was watched: its last reading is of a later one. */
  watchedDays: z.optional(storedCount),
  /** It is settled though no other reading agrees with its last one: that was refused, or differed, again and again. */
  lastReadingGivenUp: z.optional(z.boolean()),
  /** How many closed passes in a row had this digest. */
  identicalPasses: storedCount,
  /** Whether several runs read the pass, one after the other. */
  resumed: z.optional(z.boolean()),
  /** False where records may have moved between the pages while they were read: another reading has to agree. */
  confirmed: z.boolean(),
  /** How many readings in a row were to confirm the one before, and differed; missing for none. */
  contradictions: z.optional(storedCount),
  /** How many closed readings in a row, when the policy needed the last one, each differed from the one before; missing for none. */
  disagreements: z.optional(storedCount),
  /** Records with one primary key differed in two passes: the field is no key of this reading's records. */
  keyIsNone: z.optional(z.boolean()),
  attempt: z.string(),
  pages: storedCount,
  /** When the attempt began to read, and up to when everything is known. */
  readFrom: storedTime,
  readTo: storedTime,
  /** The time zone in which the day was read; missing after a repair. */
  timeZone: z.optional(z.string()),
  /** Fingerprint of the queries: filters, zone, units, date semantics, key. */
  queryFingerprint: z.string(),
  /** For a report with an upstream: the digest of the upstream partition that was looked up. */
  upstreamDigest: z.optional(z.string()),
  /** Lookups that the service refused, and when the first of them is tried again; no time where all tries are used up. */
  refusedLookups: z.optional(storedObject(() => ({ count: storedCount, retryAt: z.optional(storedTime) }))),
  /** What later versions changed since the day was closed first; missing where nothing did. */
  changes: z.optional(changes),
}));

const superseded = storedObject(() => ({
  snapshot: z.string(),
  /** Since when (the machine's clock) no query finds it any more; `null` until what replaced it is published. */
  at: z.nullable(storedTime),
  /** It was read while the day was open. */
  open: z.optional(z.literal(true)),
}));

const dayEntry = storedObject(() => ({
  committed: z.optional(published),
  claim: z.optional(claim),
  failure: z.optional(failure),
  /** The versions that are kept beside the committed one, the oldest first (`versions.ts`). */
  superseded: z.optional(z.array(superseded)),
  /** From when on every version of the day is kept, by the machine's clock; missing: from the first one on. */
  versionsFrom: z.optional(storedTime),
  /** The continuation under which the day was last read: runs that resume one another's work share it. */
  continuation: z.optional(z.string()),
  /** When anything of the day was committed first, by the machine's clock. */
  firstCommittedAt: z.optional(storedTime),
}));

const ledger = storedObject(() => ({
  version: z.literal(1),
  report: z.string(),
  brand: z.string(),
  month: z.string(),
  days: z.record(z.string().check(z.refine(isDay)), dayEntry),
  recentWrites: z.array(z.string()),
}));

/** Which run works on a day, in which attempt. */
export type Claim = z.infer<typeof claim>;
/** Why a day failed, how often in a row, and when it is tried again. */
export type Failure = z.infer<typeof failure>;
/** The changes of a closed day, in a snapshot of the table `changes`. */
export type DayChanges = z.infer<typeof changes>;
/** What is committed of a day: its snapshot and how it was read. */
export type Committed = z.infer<typeof published>;
/** What the ledger says of a version by its content alone, however it was read. */
export type VersionContent = Pick<
  Committed,
  'snapshot' | 'rows' | 'bytes' | 'digest' | 'filled' | 'sums' | 'rescued'
>;
/** A version that was replaced. */
export type Superseded = z.infer<typeof superseded>;
/** Everything that the ledger says about one day. */
export type DayEntry = z.infer<typeof dayEntry>;
/** What is committed, one document per report, brand and month. Times are ISO 8601 in UTC. */
export type Ledger = z.infer<typeof ledger>;

/**
 * Reads a stored ledger; `undefined` is the empty one. Readings and failures with a time in the future are marked.
 * @param latestMs the later of the real clocks; missing: nothing is marked, for readers of snapshots
 * @throws BrandReportsError `config` `damaged_document` where it is not the ledger of this scope
 */
export function parseLedger(
  key: string,
  scope: { report: string; brand: string; month: string },
  latestMs = () => Number.POSITIVE_INFINITY,
) {
  return (stored: Json | undefined): Ledger => {
    if (stored === undefined) return { version: 1, ...scope, days: {}, recentWrites: [] };
    const parsed = parseDocument(ledger, key, stored);
    const own = ledgerKey(parsed.report, parsed.brand, parsed.month);
    if (own !== key) throw damagedDocument(key, `its content belongs to ${own}`);
    const stray = Object.keys(parsed.days).find((day) => monthOf(day) !== parsed.month);
    if (stray !== undefined) throw damagedDocument(key, `${stray} is not a day of its month`);
    const days = Object.entries(parsed.days).map(([day, entry]) => [day, markedEntry(entry, latestMs)]);
    return { ...parsed, days: Object.fromEntries(days) };
  };
}

function markedEntry({ committed, failure, ...entry }: DayEntry, latestMs: () => number): DayEntry {
  return {
    ...entry,
    ...(committed && { committed: marked(committed, committed.readFrom, latestMs) }),
    ...(failure && { failure: marked(failure, failure.lastAt, latestMs) }),
  };
}

/** The entry as a run that reads the day takes it: a reading that a clock ahead has dated in the future is none to go on with. */
export function withoutFuture(entry: DayEntry): DayEntry {
  if (!entry.committed || !isFuture(entry.committed)) return entry;
  const { committed: _future, ...rest } = entry;
  return rest;
}

/** A ledger holds the versions of a month's days, and is written with each commit: so many of a day are kept, at most. */
const MAX_SUPERSEDED = 200;
/**
 * Of a failed day, until whose wait is over it is read only where it is asked for by name. What another page would show
 * may be over within the hour; a broken page is repaired by a person.
 */
export const FAILED_DAY_RETRY = { baseMs: 5 * MINUTE_MS, capMs: DAY_MS };
const UNAVAILABLE_DAY_RETRY = { baseMs: 5 * MINUTE_MS, capMs: HOUR_MS };

function withEntry(ledger: Ledger, day: string, change: (entry: DayEntry) => DayEntry): Ledger {
  return { ...ledger, days: { ...ledger.days, [day]: change(ledger.days[day] ?? {}) } };
}

/** Records which run reads the day. @throws conflict where the claim is no longer the one that the decision was based on */
export function claimDay(ledger: Ledger, day: string, expected: Claim | undefined, next: Claim): Ledger {
  return withEntry(ledger, day, (entry): DayEntry => {
    if (entry.claim?.attempt !== expected?.attempt || entry.claim?.runId !== expected?.runId)
      throw claimLost(day);
    return { ...entry, claim: next };
  });
}

/** Ends the attempt of this run: what it staged is not read again. */
export function abandonDay(ledger: Ledger, day: string, run: string): Ledger {
  if (ledger.days[day]?.claim?.runId !== run) return ledger;
  return withEntry(ledger, day, ({ claim: _claim, ...entry }): DayEntry => entry);
}

/** Lets any run resume what this one has staged. */
export function releaseDay(ledger: Ledger, day: string, run: string): Ledger {
  const { claim } = ledger.days[day] ?? {};
  if (claim?.runId !== run) return ledger;
  return withEntry(ledger, day, (entry): DayEntry => ({ ...entry, claim: { ...claim, runId: null } }));
}

/**
 * I4: the only commit point, one compare-and-swap.
 * @throws conflict where another run has taken the claim over, or has committed a later reading
 */
export function commitDay(
  ledger: Ledger,
  day: string,
  commit: { runId: string; committed: Committed; continuation: string; wallMs: number },
): Ledger {
  return withEntry(ledger, day, (entry): DayEntry => {
    if (entry.claim?.runId !== commit.runId || entry.claim.attempt !== commit.committed.attempt)
      throw claimLost(day);
    if (entry.committed && isLaterReading(entry.committed, commit.committed))
      throw laterReading(day, entry.committed);
    const { claim: _claim, failure: _failure, continuation: _continuation, ...rest } = entry;
    const now = new Date(commit.wallMs).toISOString();
    return {
      ...rest,
      firstCommittedAt: entry.firstCommittedAt ?? now,
      ...replaceCommitted(entry, commit.committed, now),
      continuation: commit.continuation,
    };
  });
}

/** What a day's entry says once this is committed: a version that it replaces is kept. */
function replaceCommitted(
  { committed: before, superseded = [] }: DayEntry,
  next: Committed,
  now: string,
): Required<Pick<DayEntry, 'committed' | 'superseded'>> {
  if (before?.snapshot === next.snapshot)
    return { committed: { ...next, committedAt: before.committedAt ?? now }, superseded };
  const replaced: Superseded | undefined = before && {
    snapshot: before.snapshot,
    at: null,
    ...(before.state === 'open' && { open: true }),
  };
  const versions = replaced ? [...superseded, replaced] : superseded;
  return {
    committed: { ...next, committedAt: now },
    superseded: next.published ? endedBy(versions, now) : versions,
  };
}

/** Queries find none of these any more from `now` on. */
function endedBy(versions: readonly Superseded[], now: string): Superseded[] {
  return versions.map((version) => ({ ...version, at: version.at ?? now }));
}

/** I2: a clock that is behind never brings an older version back, nor opens a day that was closed. Another time zone is another day. */
function isLaterReading(current: Committed, next: Committed): boolean {
  if (isFuture(current)) return false;
  const isSameDay = current.queryFingerprint === next.queryFingerprint;
  const reopens = isSameDay && current.state === 'closed' && next.state === 'open';
  return reopens || Date.parse(next.readFrom) < Date.parse(current.readFrom);
}

/**
 * Records that the catalog was pointed at `snapshot`, if that is still the current one. I3: only now do queries stop to
 * find what it replaced, however long ago it was committed.
 */
export function recordPublished(ledger: Ledger, day: string, snapshot: string, wallMs: number): Ledger {
  const { committed, superseded } = ledger.days[day] ?? {};
  if (!committed || committed.published || committed.snapshot !== snapshot) return ledger;
  const now = new Date(wallMs).toISOString();
  return withEntry(
    ledger,
    day,
    (entry): DayEntry => ({
      ...entry,
      committed: { ...committed, published: true },
      ...(superseded && { superseded: endedBy(superseded, now) }),
    }),
  );
}

/** What the checks of a day found. */
export interface ExaminedDay {
  day: string;
  /** The content that they examined. */
  snapshot: string;
  /** By name; no count where the check does not apply to what there is. */
  checks: ReadonlyMap<string, { fingerprint: string; count: number | undefined }>;
}

/** Records what checks found, if what they examined is still the current content. */
export function recordFindings(ledger: Ledger, { day, snapshot, checks }: ExaminedDay): Ledger {
  const committed = ledger.days[day]?.committed;
  if (committed?.snapshot !== snapshot) return ledger;
  const findings = Object.entries(committed.findings ?? {}).filter(([name]) => !checks.has(name));
  const counted = [...checks].flatMap(([name, { count }]) => (count === undefined ? [] : [[name, count]]));
  const examined = [...checks].map(([name, { fingerprint }]) => [name, fingerprint]);
  return withEntry(
    ledger,
    day,
    (entry): DayEntry => ({
      ...entry,
      committed: {
        ...committed,
        findings: Object.fromEntries([...findings, ...counted]),
        examined: { ...committed.examined, ...Object.fromEntries(examined) },
      },
    }),
  );
}

/**
 * Publishes an older version again, as a commit of its own. All that says how the day is read stays: the refresh policy
 * goes on, and the next reading that finds other content replaces it. A run that no longer works at the day loses its
 * claim to it, but what it has staged may be resumed: its commit would else be that of a reading of the version before.
 * @param content the older version's; its snapshot is one of those that are kept
 * @throws conflict where the day was committed or claimed, or the version forgotten, since it was judged
 */
export function rollBackDay(
  ledger: Ledger,
  day: string,
  rollback: {
    from: { committed: Committed; claim: Claim | undefined };
    content: VersionContent & Pick<Committed, 'published' | 'changes'>;
    wallMs: number;
  },
): Ledger {
  return withEntry(ledger, day, (entry): DayEntry => {
    const { committed, claim } = rollback.from;
    const isKept = entry.superseded?.some(({ snapshot }) => snapshot === rollback.content.snapshot);
    const isSame = entry.committed && isSameReading(entry.committed, committed);
    if (!entry.committed || !isSame || !isSameClaim(entry.claim, claim) || !isKept)
      throw changedMeanwhile(day);
    const next: Committed = { ...readingOf(entry.committed), ...rollback.content, identicalPasses: 0 };
    const now = new Date(rollback.wallMs).toISOString();
    return {
      ...entry,
      ...replaceCommitted(entry, next, now),
      ...(entry.claim && { claim: { ...entry.claim, runId: null } }),
    };
  });
}

/**
 * What the ledger says of how a day was read, without what it says of the content alone. `unsettled` stays, because when the
 * day is read next follows from what the service said last: by the older version's, a settled day would be due again, and
 * its reading undo the rollback.
 */
function readingOf({
  filled: _filled,
  sums: _sums,
  rescued: _rescued,
  // Whoever goes back to fewer rows has decided it: they have not fallen.
  before: _before,
  // The next reading differs from what a person has chosen, and not from the one before.
  disagreements,
  ...reading
}: Committed): Committed {
  return { ...reading, ...(reading.lastReadingGivenUp && disagreements && { disagreements }) };
}

/**
 * Commits what was made again of the committed reading's raw records. A day that is read meanwhile is left to that run; a
 * run that no longer works at the day loses its claim to it, as in a rollback.
 * @param from what the ledger said of the day when it was begun
 * @param next with `published` for the case that it is another snapshot
 * @throws conflict where the day was committed or claimed since
 */
export function rebuildDay(
  ledger: Ledger,
  day: string,
  { from, next, wallMs }: { from: DayEntry; next: Committed; wallMs: number },
): Ledger {
  return withEntry(ledger, day, (entry): DayEntry => {
    const { committed, claim } = entry;
    if (!committed || !isSameReading(committed, from.committed) || !isSameClaim(claim, from.claim))
      throw changedMeanwhile(day);
    const isSame = next.snapshot === committed.snapshot;
    const published = isSame ? committed.published : next.published;
    return {
      ...entry,
      ...replaceCommitted(entry, { ...next, published }, new Date(wallMs).toISOString()),
      ...(claim && { claim: { ...claim, runId: null } }),
    };
  });
}

function isSameReading(one: Committed, other: Committed | undefined): boolean {
  const facts = ['snapshot', 'state', 'attempt', 'pages', 'readFrom', 'readTo', 'queryFingerprint'] as const;
  // The same snapshot may have been left and come back to: then it has other changes.
  const hasSameChanges = one.changes?.snapshot === other?.changes?.snapshot;
  return hasSameChanges && facts.every((fact) => one[fact] === other?.[fact]);
}

function isSameClaim(one: Claim | undefined, other: Claim | undefined): boolean {
  return one?.attempt === other?.attempt && one?.runId === other?.runId;
}

/**
 * Forgets versions whose time is over, the oldest first: those that were replaced so long ago, and of a day with very many
 * those that were replaced more than a day ago. What is forgotten may be deleted. A time that lies as far in the future is
 * that of a machine whose clock was ahead.
 * @returns the same ledger where there are none
 */
export function forgetVersions(ledger: Ledger, nowMs: number, keptMs: number): Ledger {
  const days = Object.entries(ledger.days).map(
    ([day, entry]) => [day, withoutOldVersions(entry, nowMs, keptMs)] as const,
  );
  if (days.every(([day, entry]) => entry === ledger.days[day])) return ledger;
  return { ...ledger, days: Object.fromEntries(days) };
}

function withoutOldVersions(entry: DayEntry, nowMs: number, keptMs: number): DayEntry {
  const { superseded = [] } = entry;
  const isOver = ({ at }: Superseded, index: number) => {
    const ageMs = at === null ? 0 : Math.abs(nowMs - Date.parse(at));
    return ageMs >= keptMs || (superseded.length - index > MAX_SUPERSEDED && ageMs >= DAY_MS);
  };
  const firstKept = superseded.findIndex((version, index) => !isOver(version, index));
  const forgotten = firstKept < 0 ? superseded : superseded.slice(0, firstKept);
  if (forgotten.length === 0) return entry;
  const times = [entry.versionsFrom, ...forgotten.map(({ at }) => at)].filter((at) => typeof at === 'string');
  return { ...entry, superseded: superseded.slice(forgotten.length), versionsFrom: latest(times, nowMs) };
}

function latest(times: readonly string[], nowMs: number): string {
  const latestMs = Math.max(...times.map((time) => Date.parse(time)));
  return new Date(Math.min(nowMs, latestMs)).toISOString();
}

/**
 * Records a failure. What was staged is kept only where `keep` says that the next run can resume it. A day that the
 * service spoiled is not restarted too often: it waits, and its pages grow old meanwhile.
 */
export function failDay(
  ledger: Ledger,
  day: string,
  failed: Pick<Failure, 'kind' | 'code' | 'message'> & {
    runId: string;
    queryFingerprint: string;
    nowMs: number;
    keep: boolean;
    /** Where the refresh policy asks for no later reading of the day: up to which age a day is watched at most. */
    lastOfDays?: number;
    /** What the service asked to wait. */
    retryAfterMs?: number;
  },
): Ledger {
  const { claim, failure } = ledger.days[day] ?? {};
  if (claim?.runId !== failed.runId) return ledger;
  const now = new Date(failed.nowMs).toISOString();
  const times = (failure?.times ?? 0) + 1;
  const next: Failure = {
    since: failure?.since ?? now,
    times,
    kind: failed.kind,
    code: failed.code,
    message: failed.message,
    lastAt: now,
    retryAt: new Date(failed.nowMs + waitMs(failed, times)).toISOString(),
    queryFingerprint: failed.queryFingerprint,
  };
  return withEntry(ledger, day, ({ claim: held, failure: _before, ...entry }): DayEntry => {
    if (isGivenUp(entry, failed.queryFingerprint, times)) return entry;
    const settled = settledWithout(entry.committed, failed, times);
    if (settled) return { ...entry, committed: settled };
    return {
      ...entry,
      failure: next,
      ...(held &&
        failed.keep && {
          claim: { ...held, runId: null, restarts: failed.kind === 'transient' ? held.restarts : 0 },
        }),
    };
  });
}

const MAX_TRIES_OF_SETTLED = 5;

/** Whether a settled day, which only a range asks for, stays what it was: the service may not keep it any longer. */
function isGivenUp({ committed }: DayEntry, queryFingerprint: string, times: number): boolean {
  const isSettled = committed?.settled && committed.queryFingerprint === queryFingerprint;
  return isSettled === true && times >= MAX_TRIES_OF_SETTLED;
}

/** With the waits between them: about three days, which an outage that answers with codes should not last. */
const MAX_TRIES_OF_LAST_READING = 12;

/**
 * A day whose last reading the service refuses, because it keeps such days no longer, would else fail in every run for
 * ever. What was read of it stays; its state says that nothing has confirmed it.
 */
function settledWithout(
  committed: Committed | undefined,
  {
    kind,
    queryFingerprint,
    lastOfDays,
  }: Pick<Failure, 'kind' | 'queryFingerprint'> & { lastOfDays?: number },
  times: number,
): Committed | undefined {
  if (kind !== 'contract' || lastOfDays === undefined || times < MAX_TRIES_OF_LAST_READING) return undefined;
  if (committed?.state !== 'closed' || committed.queryFingerprint !== queryFingerprint) return undefined;
  const { disagreements: _refusedInstead, ...kept } = committed;
  return { ...kept, settled: true, watchedDays: lastOfDays, lastReadingGivenUp: true };
}

/**
 * How long a day that failed waits. The first failure does not wait: it may be over when the command is run again. What
 * an operator corrects never waits: the next run shows whether it helped. A last reading is urgent to nobody.
 */
function waitMs(
  {
    kind,
    code,
    retryAfterMs = 0,
    lastOfDays,
  }: Pick<Failure, 'kind' | 'code'> & { retryAfterMs?: number; lastOfDays?: number },
  times: number,
): number {
  if (kind === 'auth' || kind === 'config') return 0;
  const isUnavailable = kind === 'transient' || (code === 'service_code' && lastOfDays === undefined);
  const backoff = isUnavailable ? UNAVAILABLE_DAY_RETRY : FAILED_DAY_RETRY;
  const backoffMs = times === 1 ? 0 : exponentialMs(times - 2, backoff);
  return Math.min(backoff.capMs, Math.max(retryAfterMs, backoffMs));
}

function laterReading(day: string, { state, readFrom }: Committed): BrandReportsError {
  return new BrandReportsError(
    'conflict',
    'later_reading',
    `${day} was read at ${readFrom} and is ${state}; this run's reading is older and was dropped. If no other run is working, compare the clock of this machine, or --now, with the service's`,
  );
}

function claimLost(day: string): BrandReportsError {
  return new BrandReportsError(
    'conflict',
    'claim_lost',
    `another run has taken over ${day}; this run leaves it to that one`,
  );
}

function changedMeanwhile(day: string): BrandReportsError {
  return new BrandReportsError(
    'conflict',
    'changed_meanwhile',
    `${day} was committed or claimed by a run meanwhile; nothing was changed. Look at its versions again, and repeat the command.`,
  );
}
