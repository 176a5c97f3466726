/*
 * Decides which part of a day a run reads after it has claimed the day. It is pure, so that a table can test every
 * case.
 *
 * A closed day is one slice that covers it whole (I2). The open day of a report with `openDay: 'slices'` is one attempt
 * that grows: each run appends a slice with the records since the previous slice, overlapping it by `lateMinutes`. A
 * run resumes staged pages only if it would read the same pages now. Otherwise it reads the slice again from its first
 * page, and the progress document counts that restart. Each lookup is a call of its own, so its result stays valid when the day
 * closes and at each refresh. If the upstream day changes or the service refused lookups, the run appends a slice to
 * the committed attempt.
 */
import { HOUR_MS, dayOf, endOfDay } from '../base/days.ts';
import { type Committed, type DayEntry, isRolledBack } from '../lake/ledger.ts';
import type { Progress, Slice } from '../lake/progress.ts';
import type { ReportDefinition } from '../reports/definition.ts';
import type { BrandSettings, ReportSettings } from '../settings/settings.ts';
import { type DayQuery, type Window, dayQueries, windowToRead } from './day-queries.ts';

/** Records that change between the pages of a longer reading would be in it twice or not at all. */
export const RESUME_WITHIN_HOURS = 6;

export interface DaySituation {
  day: string;
  nowMs: number;
  report: ReportDefinition;
  brandSettings: BrandSettings;
  settings: ReportSettings;
  queryFingerprint: string;
  upstream: Slice['upstream'];
  /** Whether the day is read with `--from` and `--to`: then all of it is read, and every lookup is repeated. */
  isRequested: boolean;
}

export type Obstacle = 'queries_changed' | 'too_old' | 'day_has_ended';

/** What the claimed attempt does. `slices` are all of its slices from then on; the run reads the last one. */
interface AttemptDecision {
  kind: 'resume' | 'start' | 'append' | 'restart';
  slices: Slice[];
  /** Of a restart: why the pages of the last slice are dropped. */
  obstacle?: Obstacle;
}

export function attemptToContinue(entry: DayEntry, situation: DaySituation): string | undefined {
  const { claim, committed } = entry;
  if (!situation.upstream) return claim?.attempt ?? growingAttempt(entry, situation)?.attempt;
  const isSame = committed?.queryFingerprint === situation.queryFingerprint;
  const answered = isSame && !isRolledBack(committed) ? committed.attempt : undefined;
  if (!situation.isRequested) return claim?.attempt ?? answered;
  return claim?.attempt === committed?.attempt ? undefined : claim?.attempt;
}

export function decideAttempt(entry: DayEntry, found: Progress, situation: DaySituation): AttemptDecision {
  const staged = begunBy(situation.nowMs, found);
  const committedToMs = committedUpTo(entry, attemptToContinue(entry, situation));
  const slices = withNewSlice(staged, committedToMs, situation);
  const isNew = !entry.claim || !hasPagesToResume(staged, committedToMs);
  const withNext = { kind: slices.length > 1 ? 'append' : 'start', slices } as const;
  if (isNew) return withNext;
  const obstacle = obstacleToResuming(staged, situation);
  if (!obstacle) return { kind: 'resume', slices: asResumed(staged.slices) };
  const dropsNothing = slices.length > staged.slices.length;
  if (dropsNothing || obstacle === 'upstream_changed') return withNext;
  return { kind: 'restart', slices: repeating(slices, staged.slices.at(-1)?.repeatsConflict), obstacle };
}

/** @param conflict if two records with the same primary key differed: the fingerprint of these records */
export function slicesAfterRestart(
  entry: DayEntry,
  found: Progress,
  situation: DaySituation,
  conflict?: string,
): Slice[] {
  const staged = begunBy(situation.nowMs, found);
  const dropped = staged.slices.at(-1);
  const others = { ...staged, slices: staged.slices.slice(0, -1) };
  const committedToMs = committedUpTo(entry, entry.claim?.attempt);
  const slices = withNewSlice(others, committedToMs, situation);
  return repeating(slices, conflict ?? dropped?.repeatsConflict);
}

function repeating(slices: Slice[], repeatsConflict: string | undefined): Slice[] {
  if (repeatsConflict === undefined) return slices;
  return slices.map((slice) => (slice === slices.at(-1) ? { ...slice, repeatsConflict } : slice));
}

/** Slices of lookups are not marked as resumed: the result of a lookup does not depend on the run that makes it. */
function asResumed(slices: readonly Slice[]): Slice[] {
  return slices.map((slice) =>
    slice.done || slice.upstream || slice !== slices.at(-1) ? slice : { ...slice, resumed: true },
  );
}

function growingAttempt({ committed }: DayEntry, situation: DaySituation): Committed | undefined {
  const { day, nowMs, report, brandSettings, queryFingerprint } = situation;
  if (report.openDay !== 'slices' || dayOf(nowMs, brandSettings.timeZone) !== day) return undefined;
  const isSame = committed?.state === 'open' && committed.queryFingerprint === queryFingerprint;
  // A rollback has staged no pages. If slices were appended to it, its version would count as rolled back permanently.
  return isSame && !isRolledBack(committed) ? committed : undefined;
}

function committedUpTo({ committed }: DayEntry, attempt: string | undefined): number | undefined {
  return committed && committed.attempt === attempt ? Date.parse(committed.readTo) : undefined;
}

/** Whether the last slice has uncommitted pages. A run that died before it began its slice leaves no such pages. */
function hasPagesToResume({ slices }: Progress, committedToMs: number | undefined): boolean {
  const slice = slices.at(-1);
  if (!slice?.parts.some(({ pages }) => pages > 0)) return false;
  return !(slice.done && committedToMs !== undefined && slice.toMs <= committedToMs);
}

function obstacleToResuming(
  { slices, queryFingerprint }: Progress,
  { day, nowMs, brandSettings, upstream, ...now }: DaySituation,
): Obstacle | 'upstream_changed' | undefined {
  const slice = slices.at(-1);
  if (!slice) return undefined;
  if (queryFingerprint !== now.queryFingerprint) return 'queries_changed';
  const startedMs = Date.parse(slice.startedAt);
  // Each lookup is a call of its own: it becomes wrong only if its upstream day changes, not by age or other calls.
  if (slice.upstream) return isSame(slice.upstream, upstream) ? undefined : 'upstream_changed';
  const stagedMs = Date.parse(slice.stagedAt ?? slice.startedAt);
  // The time of the last page counts: otherwise a day that takes longer would never be complete.
  if (nowMs - stagedMs > RESUME_WITHIN_HOURS * HOUR_MS) return 'too_old';
  const endMs = endOfDay(day, brandSettings.timeZone);
  const isFullReadAfterEnd = slice.whole && startedMs >= endMs && slices.length === 1;
  return nowMs < endMs || isFullReadAfterEnd ? undefined : 'day_has_ended';
}

function isSame(one: NonNullable<Slice['upstream']>, other: Slice['upstream']): boolean {
  return other !== undefined && one.snapshot === other.snapshot && one.closed === other.closed;
}

/** I2: nobody knows whether a slice that seems to begin later than now began before the day ended, so it is dropped. */
function begunBy(nowMs: number, staged: Progress): Progress {
  return { ...staged, slices: staged.slices.filter(({ startedAt }) => Date.parse(startedAt) <= nowMs) };
}

function withNewSlice(
  staged: Progress,
  committedToMs: number | undefined,
  { day, nowMs, report, brandSettings, settings, queryFingerprint, upstream }: DaySituation,
): Slice[] {
  const usable = upstream ? staged.slices.map(endedAtLastPage) : staged.slices;
  const finished = staged.queryFingerprint === queryFingerprint ? usable.filter(({ done }) => done) : [];
  // I1: records that two slices share are dropped by key, so a day with records without a key is read in one slice.
  const isAppendable = upstream !== undefined || finished.every(({ withoutKey }) => withoutKey === 0);
  const sinceMs = finished.length > 0 && isAppendable ? committedToMs : undefined;
  const window: Window = windowToRead(brandSettings, day, nowMs, sinceMs);
  const startedAt = new Date(nowMs).toISOString();
  const kept = finished.filter(() => upstream !== undefined || !window.whole);
  const next = emptySlice(
    { ...window, startedAt, ...(upstream && { upstream }) },
    dayQueries(report, brandSettings, settings, day, window),
  );
  return [...kept, next];
}

/** Ends a slice of lookups at its last staged page: its records are valid, and the next slice looks up the rest. */
function endedAtLastPage(slice: Slice): Slice {
  if (slice.done || !slice.parts.some(({ pages }) => pages > 0)) return slice;
  return { ...slice, done: true };
}

export function emptySlice(
  slice: Omit<Slice, 'parts' | 'observations' | 'withoutKey' | 'done'>,
  queries: readonly DayQuery[],
): Slice {
  const nothing = { cursor: null, seen: [], pages: 0, records: 0, chunks: [], done: false };
  const parts = queries.map(({ role, fields }) => ({ role, fields, ...nothing }));
  return { ...slice, parts, observations: {}, withoutKey: 0, done: false };
}
