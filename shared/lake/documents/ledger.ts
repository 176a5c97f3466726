/**
 * `ledger/<report>/<brand>/<YYYY-MM>.json`: what is committed, day by day. The ledger is the truth, and the catalog is
 * a projection of it that can always be rebuilt: if the catalog were the truth, a run that dies between writing and
 * publishing would leave a day without any record of it.
 * Every function here is a transition: ledger in, ledger out, for `CasDocument.update`. `claimDay` records which run works on a
 * day, `commitDay` commits a version, whatever made it (I4), `recordPublished` notes that the catalog followed, `failDay` and
 * `releaseDay` let others work on the day. A transition refuses where what it builds on is gone (I5).
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
  storedId,
  storedTime,
  storedObject,
} from './cas-document.ts';
import { ledgerKey } from '../paths.ts';
import { type DayEvent, outbox, outboxAfter } from './outbox.ts';

const claim = storedObject(() => ({
  /** Missing: a rollback or a rebuild, which asks the service for nothing; what no run reads is not due for it. */
  attempt: z.optional(storedId),
  /** The run that reads the day now; `null` where it stopped cleanly and any run may resume. */
  runId: z.nullable(z.string()),
  /** Wall clock, ISO 8601: the lease's last renewal where the progress document has none yet. */
  at: storedTime,
  /** How often the attempt was restarted, for whatever cause. */
  restarts: storedCount,
}));

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
  /** The id of its object, which has all changes of the day so far (`changesKey`). */
  snapshot: storedId,
  bytes: storedCount,
  rows: storedCount,
  /** When the newest change was made, even one to equal content. */
  at: storedTime,
  /** How many changes of content there were. */
  times: storedCount,
  /** The newest of these; counts are missing where the version before could not be read. */
  last: z.optional(
    storedObject(() => ({
      at: storedTime,
      rowsBefore: storedCount,
      added: z.optional(storedCount),
      removed: z.optional(storedCount),
      altered: z.optional(storedCount),
    })),
  ),
  /** Earlier objects that could not be read, so that this one lacks their changes. The vacuum keeps them. */
  unread: z.optional(z.array(storedId)),
}));

const lifecycle = storedObject(() => ({
  /** The id of its object in the table of what became of the records (`versionKey` of that table). It has all rows anew. */
  snapshot: storedId,
  rows: storedCount,
  bytes: storedCount,
  digest: z.string(),
  /** Fingerprint of the key and the roles by which its rows were made. */
  basis: z.string(),
}));

const versionState = () => z.enum(['open', 'unconfirmed', 'closed', 'settled']);

/** What was counted of a version's values while it was written. */
const values = storedObject(() => ({
  /** By column that has a value: the rows that have one. Only of the fullest columns, at most 250. */
  filled: z.optional(z.record(z.string(), storedCount)),
  /** By numeric column that has a value: the sum, as text, because a number would round it. */
  sums: z.optional(z.record(z.string(), z.string())),
  /** By column: the rows whose value it cannot hold, or not exactly, so that it is in `_rescued`; of the 20 with the most. */
  rescued: z.optional(z.record(z.string(), storedCount)),
  /** Records with one primary key differed in two passes: the field is no key of them. */
  keyIsNone: z.optional(z.boolean()),
  /** What the values show of roles (`role-facts.ts`); `fitting` is missing of versions that an older program wrote. */
  fitting: z.optional(z.record(z.string(), storedCount)),
  empty: z.optional(z.record(z.string(), storedCount)),
  totals: z.optional(
    storedObject(() => ({
      fields: z.record(z.string(), z.string()),
      byCurrency: z.record(z.string(), z.record(z.string(), z.string())),
    })),
  ),
  unknownStates: z.optional(z.record(z.string(), storedCount)),
  /** Why the key of the settings identified no record, for people; missing where it did, or none is set. */
  keyUnused: z.optional(z.string()),
}));

/** What the data checks compare a version with, and what they found. */
const checks = storedObject(() => ({
  /** What the day had before its content changed, and since when it has what it has now. */
  before: z.optional(
    storedObject(() => ({
      rows: storedCount,
      state: versionState(),
      sum: z.optional(z.string()),
      at: storedTime,
    })),
  ),
  /** By check of the report's definition: what it counted last; a check that could not be made is missing. */
  findings: z.optional(z.record(z.string(), storedCount)),
  /** By check: a fingerprint of what it last examined. */
  examined: z.optional(z.record(z.string(), z.string())),
}));

const published = storedObject(() => ({
  /** The snapshot's id; its object is `snapshotKey(table, partition, snapshot)`. */
  snapshot: storedId,
  /** Whether the catalog was seen to point at `snapshot`. */
  published: z.boolean(),
  rows: storedCount,
  bytes: storedCount,
  digest: z.string(),
  /** When this content was committed, by the machine's clock: readings that found the same leave it. */
  committedAt: z.optional(storedTime),
  values: z.optional(values),
  /** Of a report whose records have a state: the rows that can still change, by states with this fingerprint. */
  unsettled: z.optional(storedObject(() => ({ rows: storedCount, states: z.string() }))),
  checks: z.optional(checks),
  /** What the version is: `planning/transitions.ts` says what becomes of it. */
  state: versionState(),
  /** How many readings in a row contradicted the one before, or failed after `refresh`; missing for none. */
  contradictions: z.optional(storedCount),
  attempt: storedId,
  pages: storedCount,
  /** When the attempt began to read, and up to when everything is known. */
  readFrom: storedTime,
  readTo: storedTime,
  /** The time zone in which the day was read; missing where a repair has lost how it was read. */
  timeZone: z.optional(z.string()),
  /** Fingerprint of the queries: filters, zone, units, date semantics, key. */
  queryFingerprint: z.string(),
  /** For a report with an upstream: the digest of the upstream partition that was looked up. */
  upstreamDigest: z.optional(z.string()),
  /**
   * How many lookups the service refused, and when the first lookup is repeated that was refused or answered without a
   * record; no time after all tries.
   */
  refusedLookups: z.optional(storedObject(() => ({ count: storedCount, retryAt: z.optional(storedTime) }))),
  /** What later versions changed since the day was closed first; missing where nothing did. */
  changes: z.optional(changes),
  /** What became of its records; missing where the report has no states, or an older program wrote the version. */
  lifecycle: z.optional(lifecycle),
}));

const superseded = storedObject(() => ({
  snapshot: storedId,
  /** Since when (the machine's clock) no query finds it any more; `null` until what replaced it is published. */
  at: z.nullable(storedTime),
  /** Whether it holds the whole day, or was read while the day was open; missing where a repair has lost it. */
  whole: z.optional(z.boolean()),
  /** The time zone in which it was read; missing where a repair has lost it. */
  timeZone: z.optional(z.string()),
  /** The object of what had become of its records while it was current. */
  lifecycle: z.optional(storedId),
  /** A repair has found that its object is missing or cut off. */
  isLost: z.optional(z.literal(true)),
}));

const disregarded = storedObject(() => ({
  /** When the reading began. */
  at: storedTime,
  rows: storedCount,
  queryFingerprint: z.string(),
  upstreamDigest: z.optional(z.string()),
}));

const dayEntry = storedObject(() => ({
  committed: z.optional(published),
  claim: z.optional(claim),
  failure: z.optional(failure),
  /** The last reading, if it lacked records that can change no more, so that the version stayed. */
  disregarded: z.optional(disregarded),
  /** The versions that are kept beside the committed one, the oldest first (`versions.ts`). */
  superseded: z.optional(z.array(superseded)),
  /** From when on every version of the day is kept, by the machine's clock; missing: from the first one on. */
  versionsFrom: z.optional(storedTime),
  /** The continuation under which the day was last read: runs that resume one another's work share it. */
  continuation: z.optional(z.string()),
  /** When anything of the day was committed first, by the machine's clock. */
  firstCommittedAt: z.optional(storedTime),
  /** Missing before the first event of the day. */
  events: z.optional(outbox),
  /** Erased then: nothing of the day is here, and no run reads it again. */
  erasedAt: z.optional(storedTime),
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
/** The changes of a closed day, and the object that has them. */
export type DayChanges = z.infer<typeof changes>;
/** What became of the records of a day up to a version, and the object that has it. */
export type Lifecycle = z.infer<typeof lifecycle>;
/** What is committed of a day: its snapshot and how it was read. */
export type Committed = z.infer<typeof published>;
/** What the ledger says of a version by its content alone, however it was read. */
export type VersionContent = Pick<Committed, 'snapshot' | 'rows' | 'bytes' | 'digest' | 'values'>;
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
    ...(committed && {
      committed: marked(withMarkedLookups(committed, latestMs), committed.readFrom, latestMs),
    }),
    ...(failure && { failure: marked(failure, failure.lastAt, latestMs) }),
  };
}

/** Whether the version is known to be one reading of the whole day (I2). */
export function isWhole({ state, timeZone }: Pick<Committed, 'state' | 'timeZone'>): boolean {
  return state !== 'open' && timeZone !== undefined;
}

/** Whether the records of the day may be looked up as those of a closed day: what settled after a repair is read no more. */
export function isClosedForLookups(committed: Pick<Committed, 'state' | 'timeZone'>): boolean {
  return isWhole(committed) || committed.state === 'settled';
}

const ROLLBACK = 'rollback-';

/** What stands for the attempt of a version that was published again: its raw records are not those of the last reading. */
export function attemptOfRollback(id: string): string {
  return ROLLBACK + id;
}

/** Whether the version was published again by a rollback, and no reading has replaced it since. */
export function isRolledBack({ attempt }: Pick<Committed, 'attempt'>): boolean {
  return attempt.startsWith(ROLLBACK);
}

/** No lookup waits longer for its next try. */
export const MAX_LOOKUP_WAIT_MS = 3 * DAY_MS;

/** A clock that was ahead may have begun the wait of lookups, though not the reading. */
function withMarkedLookups(committed: Committed, latestMs: () => number): Committed {
  const { refusedLookups } = committed;
  if (refusedLookups?.retryAt === undefined) return committed;
  const beganAt = new Date(Date.parse(refusedLookups.retryAt) - MAX_LOOKUP_WAIT_MS).toISOString();
  return { ...committed, refusedLookups: marked(refusedLookups, beganAt, latestMs) };
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

/** A stored time that is further ahead is wrong: a run whose clock is a day from the service's ends at once. */
const MAX_AHEAD_MS = DAY_MS;

/**
 * Changes what queries find of a day. As-of queries rely on the order of a day's publications, so a machine whose clock is
 * behind repeats the time of the publication before. A stored time more than a day ahead becomes the current time, or it
 * would date every later publication; a clock that is before the day itself corrects nothing.
 */
function withPublication(
  ledger: Ledger,
  day: string,
  wallMs: number,
  change: (entry: DayEntry, now: string) => DayEntry,
): Ledger {
  return withEntry(ledger, day, (entry) => {
    const { committed, firstCommittedAt, versionsFrom, superseded = [] } = entry;
    const maxMs = wallMs > Date.parse(day) - DAY_MS ? wallMs + MAX_AHEAD_MS : Number.POSITIVE_INFINITY;
    const times = [firstCommittedAt, versionsFrom, committed?.committedAt, ...superseded.map(({ at }) => at)];
    const earlierMs = times.map((at) => Date.parse(at ?? '')).filter((atMs) => atMs <= maxMs);
    const now = new Date(Math.max(wallMs, ...earlierMs)).toISOString();
    const corrected = <T extends string | null | undefined>(at: T) =>
      at && Date.parse(at) > maxMs ? now : at;
    const versions = superseded.map((version) => ({ ...version, at: corrected(version.at) }));
    return change(
      {
        ...entry,
        ...(entry.superseded && { superseded: versions }),
        ...(firstCommittedAt && { firstCommittedAt: corrected(firstCommittedAt) }),
        ...(versionsFrom && { versionsFrom: corrected(versionsFrom) }),
      },
      now,
    );
  });
}

/** Records which run reads the day. @throws conflict where the claim is no longer the one that the decision was based on */
export function claimDay(ledger: Ledger, day: string, expected: Claim | undefined, next: Claim): Ledger {
  return withEntry(ledger, day, (entry): DayEntry => {
    if (entry.erasedAt !== undefined || !isSameClaim(entry.claim, expected)) throw claimLost(day);
    return { ...entry, claim: next };
  });
}

function isSameClaim(one: Claim | undefined, other: Claim | undefined): boolean {
  return one?.attempt === other?.attempt && one?.runId === other?.runId;
}

/**
 * Leaves of these days nothing but that they were erased: a run that has claimed one cannot commit it, and none claims it.
 * @param judged the ledger by which nobody works on the days
 * @throws conflict where a run has claimed one of them since
 */
export function eraseDays(ledger: Ledger, days: readonly string[], at: string, judged: Ledger): Ledger {
  const erased = days.filter((day) => ledger.days[day]?.erasedAt === undefined);
  const taken = erased.find((day) => !isSameClaim(ledger.days[day]?.claim, judged.days[day]?.claim));
  if (taken !== undefined) throw claimLost(taken);
  const tombstones = erased.map((day) => [day, { erasedAt: at }] as const);
  return erased.length === 0
    ? ledger
    : { ...ledger, days: { ...ledger.days, ...Object.fromEntries(tombstones) } };
}

/** Makes erased days missing ones. */
export function withoutTombstones(ledger: Ledger, isWanted: (day: string) => boolean): Ledger {
  const { length } = Object.keys(ledger.days);
  const kept = Object.entries(ledger.days).filter(
    ([day, entry]) => entry.erasedAt === undefined || !isWanted(day),
  );
  return kept.length === length ? ledger : { ...ledger, days: Object.fromEntries(kept) };
}

/** Leaves nothing of what was current before: older versions and changes have the records that the version lacks now. */
export function forgetHistory(ledger: Ledger, day: string, at: string): Ledger {
  return withEntry(ledger, day, ({ committed, superseded: _superseded, ...entry }): DayEntry => {
    if (!committed) return entry;
    const { changes: _changes, ...current } = committed;
    return { ...entry, committed: current, versionsFrom: at };
  });
}

/** Ends the attempt of this run: what it staged is not read again. */
export function abandonDay(ledger: Ledger, day: string, run: string): Ledger {
  if (ledger.days[day]?.claim?.runId !== run) return ledger;
  return withEntry(ledger, day, ({ claim: _claim, ...entry }): DayEntry => entry);
}

/** Lets any run resume what this one, or the one before it, has staged. */
export function releaseDay(ledger: Ledger, day: string, run: string): Ledger {
  const { claim } = ledger.days[day] ?? {};
  if (claim?.runId !== run) return ledger;
  if (claim.attempt === undefined) return abandonDay(ledger, day, run);
  return withEntry(ledger, day, (entry): DayEntry => ({ ...entry, claim: { ...claim, runId: null } }));
}

/** A version that a claimed day is to have from now on; the same one where only what is said of it changes. */
export interface DayCommit {
  runId: string;
  committed: Committed;
  /** By the machine's clock. */
  wallMs: number;
  /** Of a reading: it ends the claim, and the failures before it. What a rollback or a rebuild finds staged may be resumed. */
  reading?: { continuation: string; disregarded?: DayEntry['disregarded'] };
  sendsOpenDay?: boolean;
}

/**
 * I4: the only commit point, one compare-and-swap, which also records the event of the day.
 * @throws conflict where another run has taken the claim over, or a later reading is committed
 */
export function commitDay(ledger: Ledger, day: string, commit: DayCommit): Ledger {
  return withPublication(ledger, day, commit.wallMs, (entry, now): DayEntry => {
    const { claim, failure, continuation, disregarded, ...rest } = entry;
    const { committed, reading } = commit;
    if (claim?.runId !== commit.runId) throw claimLost(day);
    if (reading && claim.attempt !== committed.attempt && !reading.disregarded) throw claimLost(day);
    if (entry.committed && isLaterReading(entry.committed, committed))
      throw laterReading(day, entry.committed);
    const events = outboxAfter(entry, committed, now, commit.sendsOpenDay ?? false);
    return {
      ...rest,
      ...(reading ?? { failure, continuation, disregarded }),
      ...(!reading && claim.attempt !== undefined && { claim: { ...claim, runId: null } }),
      firstCommittedAt: entry.firstCommittedAt ?? now,
      ...replaceCommitted(entry, committed, now),
      ...(events && { events }),
    };
  });
}

/** What a day's entry says once this is committed: a version that it replaces is kept. */
function replaceCommitted(
  { committed: before, superseded = [] }: DayEntry,
  next: Committed,
  now: string,
): Required<Pick<DayEntry, 'committed' | 'superseded'>> {
  const isSame = before?.snapshot === next.snapshot;
  const committedAt = (isSame ? before.committedAt : undefined) ?? now;
  // Of a version whose object of what became of its records is replaced, that object ends.
  if (isSame && (!before.lifecycle || hasSameObjects(before, next)))
    return { committed: { ...next, committedAt }, superseded };
  const replaced: Superseded | undefined = before && {
    snapshot: before.snapshot,
    at: null,
    ...(before.lifecycle && { lifecycle: before.lifecycle.snapshot }),
    ...(before.timeZone !== undefined && { whole: isWhole(before), timeZone: before.timeZone }),
  };
  const versions = replaced ? [...superseded, replaced] : superseded;
  return {
    committed: { ...next, committedAt },
    superseded: next.published ? endedBy(versions, now) : versions,
  };
}

/** The objects of a committed day to which the catalog points. */
export interface DayObjects {
  snapshot: string;
  lifecycle?: Pick<Lifecycle, 'snapshot'> | undefined;
}

/** Whether the catalog points at the same objects for both. */
export function hasSameObjects(one: DayObjects, other: DayObjects): boolean {
  return one.snapshot === other.snapshot && one.lifecycle?.snapshot === other.lifecycle?.snapshot;
}

/** Queries find none of these any more from `now` on. */
function endedBy(versions: readonly Superseded[], now: string): Superseded[] {
  return versions.map((version) => ({ ...version, at: version.at ?? now }));
}

/** I2: a clock that is behind never brings an older reading back. */
function isLaterReading(current: Committed, next: Committed): boolean {
  return !isFuture(current) && Date.parse(next.readFrom) < Date.parse(current.readFrom);
}

/**
 * Records that the catalog was pointed at these objects, if they are still the current ones. I3: only now do queries stop
 * to find what they replaced, however long ago they were committed.
 */
export function recordPublished(ledger: Ledger, day: string, objects: DayObjects, wallMs: number): Ledger {
  const { committed } = ledger.days[day] ?? {};
  if (!committed || committed.published || !hasSameObjects(committed, objects)) return ledger;
  return withPublication(
    ledger,
    day,
    wallMs,
    ({ superseded, ...entry }, now): DayEntry => ({
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
  const { findings: before = {}, examined: known } = committed.checks ?? {};
  const findings = Object.entries(before).filter(([name]) => !checks.has(name));
  const counted = [...checks].flatMap(([name, { count }]) => (count === undefined ? [] : [[name, count]]));
  const examined = [...checks].map(([name, { fingerprint }]) => [name, fingerprint]);
  return withEntry(
    ledger,
    day,
    (entry): DayEntry => ({
      ...entry,
      committed: {
        ...committed,
        checks: {
          ...committed.checks,
          findings: Object.fromEntries([...findings, ...counted]),
          examined: { ...known, ...Object.fromEntries(examined) },
        },
      },
    }),
  );
}

/** The events that nobody is known to have received, in order of the days. */
export function pendingEvents({ days }: Ledger) {
  return Object.entries(days)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([day, { committed, events }]) =>
      (events?.pending ?? []).map((event) => ({ day, committed, event })),
    );
}

/** Replaces a pending event, or removes one that was received. */
export function changeEvent(
  ledger: Ledger,
  { day, event: { sequence } }: { day: string; event: DayEvent },
  next?: DayEvent,
): Ledger {
  const { events } = ledger.days[day] ?? {};
  const event = events?.pending.find((each) => each.sequence === sequence);
  if (!events || !event || event === next) return ledger;
  const pending = events.pending.flatMap((each) => (each === event ? (next ?? []) : each));
  return withEntry(ledger, day, (entry): DayEntry => ({ ...entry, events: { ...events, pending } }));
}

/** Names an object with the same changes, because the one before is lost. @returns the same ledger if another one is named */
export function restoreChanges(ledger: Ledger, day: string, lost: string, restored: DayChanges): Ledger {
  const { committed } = ledger.days[day] ?? {};
  if (committed?.changes?.snapshot !== lost) return ledger;
  return withEntry(
    ledger,
    day,
    (entry): DayEntry => ({ ...entry, committed: { ...committed, changes: restored } }),
  );
}

/** Notes that the object of an older version is lost. */
export function loseVersion(ledger: Ledger, day: string, lost: string): Ledger {
  return withEntry(ledger, day, ({ superseded = [], ...entry }): DayEntry => {
    const noted = (version: Superseded) =>
      version.snapshot === lost ? { ...version, isLost: true as const } : version;
    return { ...entry, superseded: superseded.map(noted) };
  });
}

/** Whether any day of these ledgers has a committed record. */
export function hasRows(ledgers: Iterable<Ledger>): boolean {
  return [...ledgers].some(({ days }) =>
    Object.values(days).some(({ committed }) => (committed?.rows ?? 0) > 0),
  );
}

/**
 * Forgets versions whose time is over, the oldest first: those that were replaced so long ago, and of a day with very many
 * those that were replaced more than a day ago. What is forgotten may be deleted. A time that lies as far in the future is
 * that of a machine whose clock was ahead.
 * @param most versions of a day that are kept longer than a day
 * @returns the same ledger where there are none
 */
export function forgetVersions(ledger: Ledger, nowMs: number, keptMs: number, most = MAX_SUPERSEDED): Ledger {
  const days = Object.entries(ledger.days).map(
    ([day, entry]) => [day, withoutOldVersions(entry, nowMs, keptMs, most)] as const,
  );
  if (days.every(([day, entry]) => entry === ledger.days[day])) return ledger;
  return { ...ledger, days: Object.fromEntries(days) };
}

function withoutOldVersions(entry: DayEntry, nowMs: number, keptMs: number, most: number): DayEntry {
  const { superseded = [], claim, ...rest } = entry;
  if (claim) {
    // A rollback may be about to publish one of them again. One that has slept for a day finds that it lost its claim.
    const isDead = claim.attempt === undefined && Math.abs(nowMs - Date.parse(claim.at)) >= DAY_MS;
    return isDead ? { ...rest, superseded } : entry;
  }
  const isOver = ({ at }: Superseded, index: number) => {
    const ageMs = at === null ? 0 : Math.abs(nowMs - Date.parse(at));
    return ageMs >= keptMs || (superseded.length - index > most && ageMs >= DAY_MS);
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
    /** Whether `refresh` has ended for the age of the day. */
    isPast: boolean;
    /** Whether the day was named. */
    isRequested: boolean;
    /** What the failure makes of the version's state. */
    after?: Pick<Committed, 'state' | 'contradictions'> | undefined;
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
    const committed = entry.committed && { ...entry.committed, ...failed.after };
    const after: DayEntry = { ...entry, ...(committed && { committed }) };
    // A settled day is read because a person asked for it, who hears of the failure; or because lookups are due, which wait.
    const isOver = failed.isRequested || entry.committed?.state !== 'settled';
    if (committed?.state === 'settled' && isOver) return after;
    return {
      ...after,
      failure: next,
      ...(held &&
        failed.keep && {
          claim: { ...held, runId: null, restarts: failed.kind === 'transient' ? held.restarts : 0 },
        }),
    };
  });
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
    isPast,
  }: Pick<Failure, 'kind' | 'code'> & { retryAfterMs?: number; isPast: boolean },
  times: number,
): number {
  if (kind === 'auth' || kind === 'config') return 0;
  const isUnavailable = kind === 'transient' || (code === 'service_code' && !isPast);
  const backoff = isUnavailable ? UNAVAILABLE_DAY_RETRY : FAILED_DAY_RETRY;
  const backoffMs = times === 1 ? 0 : exponentialMs(times - 2, backoff);
  return Math.min(backoff.capMs, Math.max(retryAfterMs, backoffMs));
}

/** That what is committed is newer than what a run has read. */
export function laterReading(day: string, committed: Committed | undefined): BrandReportsError {
  const { state, readFrom } = committed ?? {};
  return new BrandReportsError(
    'conflict',
    'later_reading',
    `${day} was read at ${readFrom} and is ${state}; this run's reading is older and was dropped. If no other run is working, compare the clock of this machine, or --now, with the service's`,
  );
}

/** That the claim is not the one that was expected. */
export function claimLost(day: string): BrandReportsError {
  return new BrandReportsError(
    'conflict',
    'claim_lost',
    `another run has taken over ${day}; this run leaves it to that one`,
  );
}
