/**
 * The ledger, `ledger/<report>/<brand>/<YYYY-MM>.json`, is the truth, and the catalog is a projection of it that can be
 * rebuilt. If the catalog were the truth, a run that dies between writing and publishing would leave a day without any
 * record of it. Every function here is a transition from ledger to ledger, for `CasDocument.update`. A transition throws
 * if the state on which it builds has changed (I5).
 */
import * as z from 'zod/mini';
import { exponentialMs } from '../base/backoff.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, isDay, monthOf } from '../base/days.ts';
import { BrandReportsError, ERROR_KINDS } from '../base/errors.ts';
import type { Json } from '../base/json.ts';
import {
  parseDocument,
  damagedDocument,
  storedCount,
  storedId,
  storedTime,
  storedObject,
  undamaged,
} from './cas-document.ts';
import { type RealClocks, NO_CLOCKS, ageMs, isAhead, isWithin, nowOf } from './stored-time.ts';
import { ledgerKey } from './paths.ts';
import { type DayEvent, outbox, outboxAfter } from './outbox.ts';

const claim = storedObject(() => ({
  /** Missing for a rollback or a rebuild, which sends no requests; such a claim does not make the day due. */
  attempt: z.optional(storedId),
  /** The run that reads the day now; `null` if that run stopped cleanly, so that any run may resume the attempt. */
  runId: z.nullable(z.string()),
  /** Wall clock, ISO 8601. */
  at: storedTime,
}));

const failure = storedObject(() => ({
  since: storedTime,
  times: storedCount,
  kind: z.enum(ERROR_KINDS),
  code: z.string(),
  message: z.string(),
  lastAt: storedTime,
  /** Until then only an explicit `--from` and `--to` reads the day. */
  retryAt: storedTime,
  /** Fingerprint of the queries that failed. If changed settings lead to other queries, the day does not wait. */
  queryFingerprint: z.optional(z.string()),
}));

/** What is known of a day since it was first closed. It stays with the day whatever version is current. */
const history = storedObject(() => ({
  after: z.optional(storedTime),
  by: storedTime,
  /** The time zone of that reading; missing if the ledger was made from snapshots. */
  timeZone: z.optional(z.string()),
  /** The key of all changes of the day (`keyName`), empty: there is none; missing as long as the day has had no record. */
  key: z.optional(z.string()),
  /** The number of the newest change; 0: the day has not changed. */
  place: storedCount,
  /** The end of the reading that made the newest change. It grows from change to change. */
  lastBy: z.optional(storedTime),
  /** History began anew with this change: what the day was before it is not known. The reason is missing after an erasure. */
  anewPlace: z.optional(storedCount),
  anewBy: z.optional(storedTime),
  anewWhy: z.optional(z.string()),
  /** The object with all changes since; missing if there are none (`versionKey` of `beforeTable`). */
  object: z.optional(storedObject(() => ({ snapshot: storedId, rows: storedCount, bytes: storedCount }))),
  /** The newest change of content; counts are missing if the version before it could not be read. */
  last: z.optional(
    storedObject(() => ({
      at: storedTime,
      rowsBefore: storedCount,
      added: z.optional(storedCount),
      removed: z.optional(storedCount),
      altered: z.optional(storedCount),
    })),
  ),
}));

const versionState = () => z.enum(['open', 'unconfirmed', 'closed', 'settled']);

const values = storedObject(() => ({
  /** By column that has a value: the number of rows with a value. Only the 250 fullest columns. */
  filled: z.optional(z.record(z.string(), storedCount)),
  /** By column: the rows whose value it cannot hold exactly, so that the value is in `_rescued`. Only the 20 highest. */
  rescued: z.optional(z.record(z.string(), storedCount)),
  /** Records with one primary key differed in two full reads, so the field does not identify records. */
  keyIsNone: z.optional(z.boolean()),
  totals: z.optional(
    storedObject(() => ({
      fields: z.record(z.string(), z.array(z.string())),
      byCurrency: z.record(z.string(), z.record(z.string(), z.string())),
    })),
  ),
  /** By column that looks like a state: its field if it has another name, and the rows of each word (`column-facts.ts`). */
  words: z.optional(
    z.record(
      z.string(),
      storedObject(() => ({
        field: z.optional(z.string()),
        /** Missing if the column has more different words than are kept. */
        rows: z.optional(z.record(z.string(), storedCount)),
      })),
    ),
  ),
  /** By column or path that looks like an amount, or that had such a role: the values that are no amounts (`amounts.ts`). */
  unreadable: z.optional(
    z.record(
      z.string(),
      storedObject(() => ({ rows: storedCount, example: z.optional(z.string()) })),
    ),
  ),
  /** Why the key of the settings identified no record, as text for people; missing if it did or if no key is set. */
  keyUnused: z.optional(z.string()),
}));

const published = storedObject(() => ({
  snapshot: storedId,
  published: z.boolean(),
  rows: storedCount,
  bytes: storedCount,
  digest: z.string(),
  /** When this content was committed, by the machine's clock. Readings that find the same content leave it. */
  committedAt: z.optional(storedTime),
  values: z.optional(values),
  /** The content before it last changed, with which findings compare the day, and since when the day has its current content. */
  comparedWith: z.optional(
    storedObject(() => ({ rows: storedCount, sum: z.optional(z.string()), at: storedTime })),
  ),
  state: versionState(),
  /** How many readings in a row contradicted the reading before, or failed after `refresh` ended; missing for zero. */
  contradictions: z.optional(storedCount),
  attempt: storedId,
  pages: storedCount,
  readFrom: storedTime,
  readTo: storedTime,
  /** The time zone in which the day was read; missing if the ledger was made from snapshots. */
  timeZone: z.optional(z.string()),
  /** Fingerprint of the queries: filters, zone, units, date semantics, key. */
  queryFingerprint: z.string(),
  /** For a report with an upstream: the digest of the upstream partition whose records were looked up. */
  upstreamDigest: z.optional(z.string()),
  /** Whether a record may have been skipped between two pages. */
  mayHaveGap: z.optional(z.literal(true)),
  /** `retryAt`: when the first refused or empty lookup is repeated; missing after all tries. `empty`: those without a record. */
  refusedLookups: z.optional(
    storedObject(() => ({
      count: storedCount,
      empty: z.optional(storedCount),
      retryAt: z.optional(storedTime),
    })),
  ),
  /** Since the day was first closed; missing as long as it is open. */
  history: z.optional(history),
}));

const superseded = storedObject(() => ({
  snapshot: storedId,
  /** From when on (the machine's clock) no query finds it; `null` until the version that replaced it is published. */
  at: z.nullable(storedTime),
  /** Whether it has the whole day, or was read while the day was open; missing if the ledger was made from snapshots. */
  whole: z.optional(z.boolean()),
  timeZone: z.optional(z.string()),
  /** Missing if the ledger was made from snapshots. */
  rows: z.optional(storedCount),
}));

const disregarded = storedObject(() => ({
  at: storedTime,
  rows: storedCount,
  queryFingerprint: z.string(),
  upstreamDigest: z.optional(z.string()),
}));

const dayEntry = storedObject(() => ({
  committed: z.optional(published),
  claim: z.optional(claim),
  failure: z.optional(failure),
  /** The last reading, if the version stayed although it differed. */
  disregarded: z.optional(disregarded),
  /** The older versions that are kept, the oldest first. */
  superseded: z.optional(z.array(superseded)),
  /** The continuation under which the day was last read; runs that resume one another's work share it. */
  continuation: z.optional(z.string()),
  firstCommittedAt: z.optional(storedTime),
  /** By column that either the first whole version or the newest filled, not both: the rows with a value in the first. */
  filledAtFirst: z.optional(z.record(z.string(), storedCount)),
  events: z.optional(outbox),
  /** When the day was erased: the lake has nothing of it, and no run reads it again. */
  erasedAt: z.optional(storedTime),
  /** The place and the time of the last change that the day had before it was erased. */
  lastPlace: z.optional(storedCount),
  lastBy: z.optional(storedTime),
}));

const ledger = storedObject(() => ({
  report: z.string(),
  brand: z.string(),
  month: z.string(),
  days: z.record(z.string().check(z.refine(isDay)), dayEntry),
  recentWrites: z.array(z.string()),
}));

export type Claim = z.infer<typeof claim>;
export type Failure = z.infer<typeof failure>;
export type DayHistory = z.infer<typeof history>;
export type Committed = z.infer<typeof published>;
export type VersionContent = Pick<Committed, 'snapshot' | 'rows' | 'bytes' | 'digest' | 'values'>;
export type Superseded = z.infer<typeof superseded>;
export type DayEntry = z.infer<typeof dayEntry>;
/** The committed days of a report, a brand and a month, in one document. Times are ISO 8601 in UTC. */
export type Ledger = z.infer<typeof ledger>;

/** Without clocks, times stay as stored. @throws BrandReportsError `config` `damaged_document` if the scope is another */
export function parseLedger(
  key: string,
  scope: { report: string; brand: string; month: string },
  clocks = NO_CLOCKS,
) {
  return (stored: Json | undefined): Ledger => {
    if (stored === undefined) return { ...scope, days: {}, recentWrites: [] };
    const parsed = parseDocument(ledger, key, stored);
    const own = ledgerKey(parsed.report, parsed.brand, parsed.month);
    if (own !== key) throw damagedDocument(key, `its content belongs to ${own}`);
    const stray = Object.keys(parsed.days).find((day) => monthOf(day) !== parsed.month);
    if (stray !== undefined) throw damagedDocument(key, `${stray} is not a day of its month`);
    const days = Object.entries(parsed.days).map(([day, entry]) => [day, asOfNow(entry, clocks)]);
    return { ...parsed, days: Object.fromEntries(days) };
  };
}

/**
 * The entry as a run with right clocks uses it. A reading that seems to begin later than now proves nothing about the
 * end of its day, so its version counts as read while the day was open (I2), and the day is due. A wait that began later
 * than now is over.
 */
function asOfNow({ committed, failure, disregarded, ...entry }: DayEntry, clocks: RealClocks): DayEntry {
  return {
    ...entry,
    ...(committed && { committed: readByNow(committed, clocks) }),
    ...(failure && !isAhead(failure.lastAt, clocks) && { failure }),
    ...(disregarded && !isAhead(disregarded.at, clocks) && { disregarded }),
  };
}

function readByNow(committed: Committed, clocks: RealClocks): Committed {
  const { readFrom, refusedLookups: waiting } = committed;
  const isOver = waiting?.retryAt !== undefined && isAhead(waiting.retryAt, clocks, MAX_LOOKUP_WAIT_MS);
  return {
    ...committed,
    ...(isAhead(readFrom, clocks) && { state: 'open', readFrom: nowOf(clocks) }),
    ...(isOver && { refusedLookups: { ...waiting, retryAt: nowOf(clocks) } }),
  };
}

/** Whether the version is known to be one reading of the whole day (I2). */
export function isWhole({ state, timeZone }: Pick<Committed, 'state' | 'timeZone'>): boolean {
  return state !== 'open' && timeZone !== undefined;
}

/** A day that settled after its ledger was made from snapshots counts as closed, because no run reads it again. */
export function isClosedForLookups(committed: Pick<Committed, 'state' | 'timeZone'>): boolean {
  return isWhole(committed) || committed.state === 'settled';
}

/** The last reading of the day, if it had fewer records than the version, so that the version stayed. */
export function fewerRead({ committed, disregarded }: DayEntry): DayEntry['disregarded'] {
  return committed && disregarded && disregarded.rows < committed.rows ? disregarded : undefined;
}

const ROLLBACK = 'rollback-';

/** For a version that was published again: its raw records are not those from the last reading. */
export function attemptOfRollback(id: string): string {
  return ROLLBACK + id;
}

export function isRolledBack({ attempt }: Pick<Committed, 'attempt'>): boolean {
  return attempt.startsWith(ROLLBACK);
}

export const MAX_LOOKUP_WAIT_MS = 3 * DAY_MS;

/** The ledger has the versions of a whole month and is written with each commit. */
const MAX_SUPERSEDED = 200;
/** A service that is unavailable may be back within the hour, so its cap is lower; a broken page needs a person. */
export const FAILED_DAY_RETRY = { baseMs: 5 * MINUTE_MS, capMs: DAY_MS };
const UNAVAILABLE_DAY_RETRY = { baseMs: 5 * MINUTE_MS, capMs: HOUR_MS };

function withEntry(ledger: Ledger, day: string, change: (entry: DayEntry) => DayEntry): Ledger {
  const { [day]: before = {} } = ledger.days;
  const after = change(before);
  return after === before ? ledger : { ...ledger, days: { ...ledger.days, [day]: after } };
}

/** Records which run reads the day. @throws conflict if the claim has changed since the decision was made */
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
 * A run that has claimed one of these days cannot commit it, and no run can claim it again.
 * @param judged the ledger from which the caller concluded that nobody works on the days
 * @throws conflict if a run has claimed one of them since
 */
export function eraseDays(ledger: Ledger, days: readonly string[], at: string, judged: Ledger): Ledger {
  const erased = days.filter((day) => ledger.days[day]?.erasedAt === undefined);
  const taken = erased.find((day) => !isSameClaim(ledger.days[day]?.claim, judged.days[day]?.claim));
  if (taken !== undefined) throw claimLost(taken);
  const tombstones = erased.map((day) => [day, { erasedAt: at, ...lastChangeOf(ledger.days[day]) }] as const);
  return erased.length === 0
    ? ledger
    : { ...ledger, days: { ...ledger.days, ...Object.fromEntries(tombstones) } };
}

function lastChangeOf(entry: DayEntry = {}): Pick<DayEntry, 'lastPlace' | 'lastBy'> {
  const { place = entry.lastPlace, lastBy, by = entry.lastBy } = entry.committed?.history ?? {};
  const last = lastBy ?? by;
  return { ...(place !== undefined && { lastPlace: place }), ...(last !== undefined && { lastBy: last }) };
}

export function withoutTombstones(ledger: Ledger, isWanted: (day: string) => boolean): Ledger {
  const isKept = (day: string, entry: DayEntry) => entry.erasedAt === undefined || !isWanted(day);
  if (Object.entries(ledger.days).every(([day, entry]) => isKept(day, entry))) return ledger;
  const days = Object.entries(ledger.days).flatMap(([day, entry]): [string, DayEntry][] => {
    if (isKept(day, entry)) return [[day, entry]];
    const last = lastChangeOf(entry);
    return last.lastPlace === undefined ? [] : [[day, last]];
  });
  return { ...ledger, days: Object.fromEntries(days) };
}

export function abandonDay(ledger: Ledger, day: string, run: string): Ledger {
  if (ledger.days[day]?.claim?.runId !== run) return ledger;
  return withEntry(ledger, day, ({ claim: _claim, ...entry }): DayEntry => entry);
}

/** Lets any run resume what this run, or the run before it, has staged. */
export function releaseDay(ledger: Ledger, day: string, run: string): Ledger {
  const { claim } = ledger.days[day] ?? {};
  if (claim?.runId !== run) return ledger;
  if (claim.attempt === undefined) return abandonDay(ledger, day, run);
  return withEntry(ledger, day, (entry): DayEntry => ({ ...entry, claim: { ...claim, runId: null } }));
}

export interface DayCommit {
  runId: string;
  committed: Committed;
  wallMs: number;
  /** A reading ends the claim and earlier failures. A rollback or a rebuild leaves them: staged pages can be resumed. */
  reading?: { continuation: string; disregarded?: DayEntry['disregarded'] };
}

/**
 * I4: the only commit point, one compare-and-swap, which also records the event of the day.
 * @throws conflict if another run has taken over the claim, or a later reading is committed
 */
export function commitDay(ledger: Ledger, day: string, commit: DayCommit): Ledger {
  const now = new Date(commit.wallMs).toISOString();
  return withEntry(ledger, day, (entry): DayEntry => {
    const { claim, failure, continuation, disregarded, filledAtFirst: _known, ...rest } = entry;
    const { committed, reading } = commit;
    if (claim?.runId !== commit.runId) throw claimLost(day);
    if (reading && claim.attempt !== committed.attempt && !reading.disregarded) throw claimLost(day);
    if (entry.committed && isLaterReading(entry.committed, committed))
      throw laterReading(day, entry.committed);
    const events = outboxAfter(entry, committed, now);
    const filledAtFirst = filledAtFirstAfter(entry, committed);
    return {
      ...rest,
      ...(reading ?? { failure, continuation, disregarded }),
      ...(!reading && claim.attempt !== undefined && { claim: { ...claim, runId: null } }),
      firstCommittedAt: entry.firstCommittedAt ?? now,
      ...(filledAtFirst && { filledAtFirst }),
      ...replaceCommitted(entry, committed, now),
      ...(events && { events }),
    };
  });
}

/** A version without rows shows no columns. Other queries, e.g. with a filter, return other records. */
function filledAtFirstAfter(
  { committed: before, filledAtFirst = {} }: DayEntry,
  next: Committed,
): DayEntry['filledAtFirst'] {
  if (!before || before.state === 'open' || before.rows === 0 || next.rows === 0) return undefined;
  const [was, is] = [before.values?.filled, next.values?.filled];
  if (!was || !is || before.queryFingerprint !== next.queryFingerprint) return undefined;
  const first = { ...was, ...filledAtFirst };
  const columns = Object.keys({ ...is, ...first });
  const differing = columns.filter((column) => (first[column] ?? 0) > 0 !== (is[column] ?? 0) > 0);
  if (differing.length === 0) return undefined;
  return Object.fromEntries(differing.map((column) => [column, first[column] ?? 0]));
}

function replaceCommitted(
  { committed: before, superseded = [] }: DayEntry,
  next: Committed,
  now: string,
): Required<Pick<DayEntry, 'committed' | 'superseded'>> {
  const isSame = before?.snapshot === next.snapshot;
  const committedAt = (isSame ? before.committedAt : undefined) ?? now;
  if (isSame) return { committed: { ...next, committedAt }, superseded };
  const replaced: Superseded | undefined = before && {
    ...{ snapshot: before.snapshot, at: null, rows: before.rows },
    ...(before.timeZone !== undefined && { whole: isWhole(before), timeZone: before.timeZone }),
  };
  const versions = replaced ? [...superseded, replaced] : superseded;
  return {
    committed: { ...next, committedAt },
    superseded: next.published ? endedBy(versions, now) : versions,
  };
}

export type DayObjects = Pick<Committed, 'snapshot' | 'history'>;

/** A rollback may bring a snapshot back, but at another place of the day's chain of changes. */
export function hasSameObjects(one: DayObjects, other: DayObjects): boolean {
  return one.snapshot === other.snapshot && one.history?.place === other.history?.place;
}

function endedBy(versions: readonly Superseded[], now: string): Superseded[] {
  return versions.map((version) => ({ ...version, at: version.at ?? now }));
}

/** I2: a clock that is behind never brings an older reading back. */
function isLaterReading(current: Committed, next: Committed): boolean {
  return Date.parse(next.readFrom) < Date.parse(current.readFrom);
}

/** I3: queries stop finding the replaced objects only now, however long ago the new objects were committed. */
export function recordPublished(ledger: Ledger, day: string, objects: DayObjects, wallMs: number): Ledger {
  const { committed } = ledger.days[day] ?? {};
  if (!committed || committed.published || !hasSameObjects(committed, objects)) return ledger;
  const now = new Date(wallMs).toISOString();
  return withEntry(
    ledger,
    day,
    ({ superseded, ...entry }): DayEntry => ({
      ...entry,
      committed: { ...committed, published: true },
      ...(superseded && { superseded: endedBy(superseded, now) }),
    }),
  );
}

export function pendingEvents({ days }: Ledger) {
  return Object.entries(days)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([day, { committed, events }]) =>
      (events?.pending ?? []).map((event) => ({ day, committed, event })),
    );
}

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

export async function undamagedLedgers(readings: readonly Promise<Ledger>[]): Promise<Map<string, Ledger>> {
  const read = await Promise.all(readings.map(undamaged));
  return new Map(read.flatMap((ledger) => (ledger ? [[ledger.month, ledger] as const] : [])));
}

export function hasRows(ledgers: Iterable<Ledger>): boolean {
  return [...ledgers].some(({ days }) =>
    Object.values(days).some(({ committed }) => (committed?.rows ?? 0) > 0),
  );
}

/** The vacuum may delete forgotten versions. @param most how many versions of a day are kept longer than a day */
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
    // A rollback may be about to publish an older version again. If it slept for a day, it will find that its claim
    // is lost.
    const isDead = claim.attempt === undefined && !isWithin(DAY_MS, claim.at, nowMs);
    return isDead ? { ...rest, superseded } : entry;
  }
  const isOver = ({ at }: Superseded, index: number) => {
    const replacedMs = at === null ? 0 : ageMs(at, nowMs);
    return replacedMs >= keptMs || (superseded.length - index > most && replacedMs >= DAY_MS);
  };
  const firstKept = superseded.findIndex((version, index) => !isOver(version, index));
  const forgotten = firstKept < 0 ? superseded : superseded.slice(0, firstKept);
  return forgotten.length === 0 ? entry : { ...entry, superseded: superseded.slice(forgotten.length) };
}

/** Staged pages are kept only if `keep` is set because the next run can resume them. */
export function failDay(
  ledger: Ledger,
  day: string,
  failed: Pick<Failure, 'kind' | 'code' | 'message'> & {
    runId: string;
    queryFingerprint: string;
    nowMs: number;
    keep: boolean;
    /** Whether `refresh` has ended for a day of this age. */
    isPast: boolean;
    isRequested: boolean;
    after?: Pick<Committed, 'state' | 'contradictions'> | undefined;
    retryAfterMs?: number;
  },
): Ledger {
  if (ledger.days[day]?.claim?.runId !== failed.runId) return ledger;
  return withEntry(ledger, day, ({ claim, failure: before, ...entry }): DayEntry => {
    const committed = entry.committed && { ...entry.committed, ...failed.after };
    const after: DayEntry = { ...entry, ...(committed && { committed }) };
    // A person who requested a settled day sees the failure, so it is not stored. If a run reads the day for lookups
    // that are due, the stored failure makes them wait.
    const isOver = failed.isRequested || entry.committed?.state !== 'settled';
    if (committed?.state === 'settled' && isOver) return after;
    const { kind, code, message, queryFingerprint, nowMs } = failed;
    const now = new Date(nowMs).toISOString();
    const times = (before?.times ?? 0) + 1;
    const retryAt = new Date(nowMs + waitMs(failed, times)).toISOString();
    return {
      ...after,
      failure: {
        ...{ since: before?.since ?? now, times, kind, code, message },
        ...{ lastAt: now, retryAt, queryFingerprint },
      },
      ...(claim && failed.keep && { claim: { ...claim, runId: null } }),
    };
  });
}

/**
 * How long a failed day waits. It does not wait after the first failure: the cause may be gone when the command is
 * run again. Failures that an operator corrects never wait, so that the next run shows whether the correction helped.
 * A last reading is not urgent, so a service code gets the longer backoff then.
 */
function waitMs(failed: Parameters<typeof failDay>[2], times: number): number {
  const { kind, code, retryAfterMs = 0, isPast } = failed;
  if (kind === 'auth' || kind === 'config') return 0;
  const isUnavailable = kind === 'transient' || (code === 'service_code' && !isPast);
  const backoff = isUnavailable ? UNAVAILABLE_DAY_RETRY : FAILED_DAY_RETRY;
  const backoffMs = times === 1 ? 0 : exponentialMs(times - 2, backoff);
  return Math.min(backoff.capMs, Math.max(retryAfterMs, backoffMs));
}

export function laterReading(day: string, committed: Committed | undefined): BrandReportsError {
  const { state, readFrom } = committed ?? {};
  return new BrandReportsError(
    'conflict',
    'later_reading',
    `${day} was read at ${readFrom} and is ${state}; this run's reading is older and was dropped. If no other run is working, compare the clock of this machine, or --now, with the service's`,
  );
}

export function claimLost(day: string): BrandReportsError {
  return new BrandReportsError(
    'conflict',
    'claim_lost',
    `another run has taken over ${day}; this run leaves the day to that run`,
  );
}
