/*
 * Which part of a day a run that claims it reads: pure, so that a table can test every case.
 *
 * A closed day is one slice that covers it whole (I2). The open day of a report with `openDay: 'slices'` is one
 * attempt that grows: each run appends a slice with what came since the last one, overlapping it by `lateMinutes`.
 * Pages that an earlier run staged are resumed only while they are what would be read now; otherwise the slice is
 * read from its first page again, which the claim counts. Lookups are calls of their own, so what was looked up stays,
 * from the open day to the closed one and from one refresh to the next: an upstream day that has changed, or lookups that
 * were refused, are a further slice of the committed attempt.
 */
import { HOUR_MS, dayOf, endOfDay } from '../days.ts';
import { type Committed, type DayEntry, isRolledBack } from '../lake/documents/ledger.ts';
import { type Progress, type Slice, emptySlice } from '../lake/documents/progress.ts';
import type { ReportDefinition } from '../reports/definition.ts';
import type { BrandSettings, ReportSettings } from '../settings/settings.ts';
import { beganAt } from './reading.ts';
import { type Window, dayQueries, windowToRead } from './day-queries.ts';

/** What the decision depends on, in addition to the ledger entry and the staged progress. */
export interface DaySituation {
  day: string;
  nowMs: number;
  report: ReportDefinition;
  brandSettings: BrandSettings;
  settings: ReportSettings;
  /** Fingerprint of the queries as the settings are now. */
  queryFingerprint: string;
  /** For a report with an upstream: what is committed of the same day of the upstream report. */
  upstream: Slice['upstream'];
  /** Whether nothing of the day is due but lookups that the service refused. */
  onlyRefusedDue: boolean;
  /** Whether the day was asked for by name: then all of it is read, and everything is looked up again. */
  byName: boolean;
}

/** Why staged pages are not resumed but read again. */
export type Obstacle =
  | 'queries_changed'
  | 'too_old'
  | 'started_in_the_future'
  | 'older_than_committed'
  | 'upstream_changed'
  | 'day_has_ended';

/** What the claimed attempt does; `slices` are all of its slices from then on, and the last one is the one to read. */
export type AttemptDecision =
  | { kind: 'resume'; slices: Slice[] }
  | { kind: 'start' | 'append'; slices: Slice[] }
  | { kind: 'restart'; slices: Slice[]; obstacle: Obstacle };

/** The attempt that a new claim continues: that of the previous claim, or the committed one that further slices go to. */
export function attemptToContinue(entry: DayEntry, situation: DaySituation): string | undefined {
  const { claim, committed } = entry;
  if (!situation.upstream) return claim?.attempt ?? growingAttempt(entry, situation)?.attempt;
  const isSame = committed?.queryFingerprint === situation.queryFingerprint;
  const answered = isSame && !isRolledBack(committed) ? committed.attempt : undefined;
  if (!situation.byName) return claim?.attempt ?? answered;
  return claim?.attempt === committed?.attempt ? undefined : claim?.attempt;
}

/** @param staged what that attempt has staged so far */
export function decideAttempt(entry: DayEntry, staged: Progress, situation: DaySituation): AttemptDecision {
  const committedToMs = committedUpTo(entry, attemptToContinue(entry, situation));
  const slices = withNewSlice(staged, entry.committed, committedToMs, situation);
  const isNew = !entry.claim || !hasPagesToResume(staged, committedToMs);
  const goesOn = { kind: slices.length > 1 ? 'append' : 'start', slices } as const;
  if (isNew) return goesOn;
  const obstacle = obstacleToResuming(staged, entry.committed, situation);
  if (!obstacle) return { kind: 'resume', slices: staged.slices };
  const dropsNothing = slices.length > staged.slices.length;
  return dropsNothing || obstacle === 'upstream_changed' ? goesOn : { kind: 'restart', slices, obstacle };
}

/**
 * The slices of a claimed attempt whose last one is read from its first page again.
 * @param conflict fingerprint of the records with one primary key that differed, where that is why
 */
export function slicesAfterRestart(
  entry: DayEntry,
  staged: Progress,
  situation: DaySituation,
  conflict?: string,
): Slice[] {
  const dropped = staged.slices.at(-1);
  const others = { ...staged, slices: staged.slices.slice(0, -1) };
  const committedToMs = committedUpTo(entry, entry.claim?.attempt);
  const slices = withNewSlice(others, entry.committed, committedToMs, situation);
  const repeatsConflict = conflict ?? dropped?.repeatsConflict;
  if (repeatsConflict === undefined) return slices;
  return slices.map((slice) => (slice === slices.at(-1) ? { ...slice, repeatsConflict } : slice));
}

/** The slices of an attempt that another run goes on with. A lookup is a call of its own: whoever makes it, it is the same. */
export function asResumed(slices: readonly Slice[]): Slice[] {
  return slices.map((slice) =>
    slice.done || slice.upstream || slice !== slices.at(-1) ? slice : { ...slice, resumed: true },
  );
}

/** The committed attempt of the open day that further slices are appended to. */
function growingAttempt({ committed }: DayEntry, situation: DaySituation): Committed | undefined {
  const { day, nowMs, report, brandSettings, queryFingerprint } = situation;
  if (report.openDay !== 'slices' || dayOf(nowMs, brandSettings.timeZone) !== day) return undefined;
  const isSame = committed?.state === 'open' && committed.queryFingerprint === queryFingerprint;
  // A rollback has staged nothing, and its version would stay one of a rollback for ever.
  return isSame && !isRolledBack(committed) ? committed : undefined;
}

/** Up to when the attempt's committed slices are complete, in milliseconds. */
function committedUpTo({ committed }: DayEntry, attempt: string | undefined): number | undefined {
  return committed && committed.attempt === attempt ? Date.parse(committed.readTo) : undefined;
}

/** Whether the last slice has pages that are not committed: a run that died between its claim and its slice leaves none. */
function hasPagesToResume({ slices }: Progress, committedToMs: number | undefined): boolean {
  const slice = slices.at(-1);
  if (!slice?.parts.some(({ pages }) => pages > 0)) return false;
  return !(slice.done && committedToMs !== undefined && slice.toMs <= committedToMs);
}

function obstacleToResuming(
  { slices, queryFingerprint }: Progress,
  committed: Committed | undefined,
  { day, nowMs, brandSettings, upstream, ...now }: DaySituation,
): Obstacle | undefined {
  const slice = slices.at(-1);
  if (!slice) return undefined;
  if (queryFingerprint !== now.queryFingerprint) return 'queries_changed';
  const startedMs = Date.parse(slice.startedAt);
  if (startedMs > nowMs) return 'started_in_the_future';
  // A clock ahead has dated what is committed. All pages would be read, and the commit refused.
  if (isOlder(slice, committed)) return 'older_than_committed';
  // A lookup is a call of its own, and neither its age nor other calls make it wrong: only its upstream day matters.
  if (slice.upstream) return isSame(slice.upstream, upstream) ? undefined : 'upstream_changed';
  const stagedMs = Date.parse(slice.stagedAt ?? slice.startedAt);
  // Progress keeps an attempt alive: a day that takes longer than `resumeWithinHours` would otherwise never be complete.
  if (nowMs - stagedMs > brandSettings.resumeWithinHours * HOUR_MS) return 'too_old';
  const endMs = endOfDay(day, brandSettings.timeZone);
  const isWholePassAfterEnd = slice.whole && startedMs >= endMs && slices.length === 1;
  return nowMs < endMs || isWholePassAfterEnd ? undefined : 'day_has_ended';
}

function isOlder(slice: Slice, committed: Committed | undefined): boolean {
  return committed !== undefined && Date.parse(beganAt(slice)) < Date.parse(committed.readFrom);
}

function isSame(one: NonNullable<Slice['upstream']>, other: Slice['upstream']): boolean {
  return other !== undefined && one.snapshot === other.snapshot && one.closed === other.closed;
}

/** The slices that stay, followed by a new one for what has not been read yet. */
function withNewSlice(
  staged: Progress,
  committed: Committed | undefined,
  committedToMs: number | undefined,
  { day, nowMs, report, brandSettings, settings, queryFingerprint, upstream, onlyRefusedDue }: DaySituation,
): Slice[] {
  const isBegun = ({ startedAt }: Slice) => Date.parse(startedAt) <= nowMs;
  const usable = upstream ? staged.slices.filter(isBegun).map(endedWhereItIs) : staged.slices;
  const finished = staged.queryFingerprint === queryFingerprint ? usable.filter(({ done }) => done) : [];
  // I1: what slices have in common is dropped by key, so records without one need the day in one slice.
  const isAppendable = upstream !== undefined || finished.every(({ withoutKey }) => withoutKey === 0);
  const sinceMs = finished.length > 0 && isAppendable ? committedToMs : undefined;
  const window: Window = windowToRead(brandSettings, day, nowMs, sinceMs);
  const startedAt = new Date(nowMs).toISOString();
  const kept = finished.filter(() => upstream !== undefined || !window.whole);
  const lookups = upstream && {
    upstream,
    ...goingOn(kept.at(-1), committed, upstream, report, onlyRefusedDue),
  };
  const next = emptySlice(
    { ...window, startedAt, ...lookups },
    dayQueries(report, brandSettings, settings, day, window),
  );
  return [...kept, next];
}

/** What lookups have left of those of the slice before: once the upstream day is closed, what was empty is asked again. */
function goingOn(
  before: Slice | undefined,
  committed: Committed | undefined,
  upstream: NonNullable<Slice['upstream']>,
  { paging }: ReportDefinition,
  onlyRefusedDue: boolean,
): Pick<Slice, 'passStartedAt' | 'onlyRefused'> {
  if (before?.upstream?.closed !== upstream.closed) return {};
  const isSamePass = (onlyRefusedDue || before.endedEarly) && !isOlder(before, committed);
  const isAnswered = !before.endedEarly && before.upstream.digest === upstream.digest;
  const mayChange = paging.style === 'lookup' && paging.lookup.recordsChange;
  return {
    ...(isSamePass && { passStartedAt: before.passStartedAt ?? before.startedAt }),
    ...(isAnswered && (onlyRefusedDue || !mayChange) && { onlyRefused: true }),
  };
}

/** Records that were looked up one by one are right without the others: the next slice looks up only those. */
function endedWhereItIs(slice: Slice): Slice {
  if (slice.done || !slice.parts.some(({ pages }) => pages > 0)) return slice;
  return { ...slice, endedEarly: true, done: true };
}
