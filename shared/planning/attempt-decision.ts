/*
 * Which part of a day a run that claims it reads: pure, so that a table can test every case.
 *
 * A closed day is one slice that covers it whole (I2). The open day of a report with `openDay: 'slices'` is one
 * attempt that grows: each run appends a slice with what came since the last one, overlapping it by `lateMinutes`.
 * Pages that an earlier run staged are resumed only while they are what would be read now; otherwise the slice is
 * read from its first page again.
 */
import { HOUR_MS, dayOf, endOfDay } from '../days.ts';
import type { Committed, DayEntry } from '../lake/documents/ledger.ts';
import { type Progress, type Slice, emptySlice } from '../lake/documents/progress.ts';
import type { ReportDefinition } from '../reports/definition.ts';
import type { BrandSettings, ReportSettings } from '../settings/settings.ts';
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
}

/** Why staged pages are not resumed. */
export type Obstacle =
  | 'nothing_staged'
  | 'queries_changed'
  | 'already_committed'
  | 'too_old'
  | 'started_in_the_future'
  | 'upstream_changed'
  | 'day_has_ended';

/** What the claimed attempt does; `slices` are all of its slices from then on, and the last one is the one to read. */
export type AttemptDecision =
  | { kind: 'resume'; slices: Slice[] }
  | { kind: 'start' | 'append'; slices: Slice[] }
  | { kind: 'restart'; slices: Slice[]; obstacle: Obstacle };

/** The attempt that a new claim continues: that of the previous claim, or the committed one of the open day. */
export function attemptToContinue(entry: DayEntry, situation: DaySituation): string | undefined {
  return entry.claim?.attempt ?? growingAttempt(entry, situation)?.attempt;
}

/** @param staged what that attempt has staged so far */
export function decideAttempt(entry: DayEntry, staged: Progress, situation: DaySituation): AttemptDecision {
  const committedToMs = committedUpTo(entry, attemptToContinue(entry, situation));
  const slices = withNewSlice(staged, committedToMs, situation);
  if (!entry.claim) return { kind: slices.length > 1 ? 'append' : 'start', slices };
  const obstacle = obstacleToResuming(staged, committedToMs, situation);
  return obstacle ? { kind: 'restart', slices, obstacle } : { kind: 'resume', slices: staged.slices };
}

/** The slices of a claimed attempt whose last one is read from its first page again. */
export function slicesAfterRestart(entry: DayEntry, staged: Progress, situation: DaySituation): Slice[] {
  return withNewSlice(staged, committedUpTo(entry, entry.claim?.attempt), situation);
}

/** The committed attempt of the open day that further slices are appended to. */
function growingAttempt({ committed }: DayEntry, situation: DaySituation): Committed | undefined {
  const { day, nowMs, report, brandSettings, queryFingerprint } = situation;
  if (report.openDay !== 'slices' || dayOf(nowMs, brandSettings.timeZone) !== day) return undefined;
  const isSame = committed?.state === 'open' && committed.queryFingerprint === queryFingerprint;
  return isSame ? committed : undefined;
}

/** Up to when the attempt's committed slices are complete, in milliseconds. */
function committedUpTo({ committed }: DayEntry, attempt: string | undefined): number | undefined {
  return committed && committed.attempt === attempt ? Date.parse(committed.readTo) : undefined;
}

function obstacleToResuming(
  { slices, queryFingerprint }: Progress,
  committedToMs: number | undefined,
  { day, nowMs, brandSettings, upstream, ...now }: DaySituation,
): Obstacle | undefined {
  const slice = slices.at(-1);
  if (!slice) return 'nothing_staged';
  if (queryFingerprint !== now.queryFingerprint) return 'queries_changed';
  // A run that dies between its claim and its slice leaves a last slice that is committed already.
  if (slice.done && committedToMs !== undefined && slice.toMs <= committedToMs) return 'already_committed';
  const startedMs = Date.parse(slice.startedAt);
  if (startedMs > nowMs) return 'started_in_the_future';
  if (nowMs - startedMs > brandSettings.resumeWithinHours * HOUR_MS) return 'too_old';
  if (slice.upstream?.snapshot !== upstream?.snapshot || slice.upstream?.closed !== upstream?.closed)
    return 'upstream_changed';
  const endMs = endOfDay(day, brandSettings.timeZone);
  const isWholePassAfterEnd = slice.whole && startedMs >= endMs && slices.length === 1;
  return nowMs < endMs || isWholePassAfterEnd ? undefined : 'day_has_ended';
}

/** The finished slices that stay, followed by a new one for what has not been read yet. */
function withNewSlice(
  staged: Progress,
  committedToMs: number | undefined,
  { day, nowMs, report, brandSettings, settings, queryFingerprint, upstream }: DaySituation,
): Slice[] {
  const finished =
    staged.queryFingerprint === queryFingerprint ? staged.slices.filter(({ done }) => done) : [];
  const sinceMs = finished.length > 0 ? committedToMs : undefined;
  const window: Window = windowToRead(brandSettings, day, nowMs, sinceMs);
  const startedAt = new Date(nowMs).toISOString();
  const next = emptySlice(
    { ...window, startedAt, ...(upstream && { upstream }) },
    dayQueries(report, brandSettings, settings, day, window),
  );
  const replacesAll = upstream ? upstream.closed : window.whole;
  return replacesAll ? [next] : [...finished, next];
}
