/*
 * Which raw records a day can be made from again without asking the service: pure, so that a table can test every case.
 *
 * What was asked stands beside the records, so the queries of then are compared with those that the settings lead to now.
 * Where they are the same, the records are what the service would have answered, whatever else was changed: types, the
 * key, or a time zone that the queries do not depend on. Where another zone has moved the day, the readings of its
 * neighbours may hold all of it, if each record has a time of its own. In all other cases only the service knows.
 */
import { addDays, endOfDay, startOfDay } from '../days.ts';
import type { Committed } from '../lake/documents/ledger.ts';
import type { Slice, SlicePart } from '../lake/documents/progress.ts';
import type { ReportDefinition } from '../reports/definition.ts';
import type { BrandSettings, ReportSettings } from '../settings/settings.ts';
import { type Window, dayQueries } from './day-queries.ts';
import { type Policy, closesAtMs, settles, watchedDays } from './due.ts';
import { beganAt } from './reading.ts';

/** What is committed of a day, and the slices that its attempt has staged; none where they are gone. */
export interface RawDay {
  day: string;
  committed: Committed;
  slices: readonly Slice[];
}

/** The settings of now. */
export interface ReplaySettings {
  report: ReportDefinition;
  brandSettings: BrandSettings;
  settings: ReportSettings;
  policy: Policy;
}

/** Why a day cannot be made again from raw records. */
export type ReplayObstacle =
  /** The raw records are not kept any longer. */
  | 'raw_expired'
  /** Those that are left are of a reading that is not committed yet. */
  | 'read_again'
  /** The settings now ask for other records than were asked for. */
  | 'asked_differently'
  /** The day lies elsewhere in another time zone, and its records do not say when they are of. */
  | 'day_unknown'
  /** The same, and the readings of its neighbours do not hold all of it. */
  | 'not_covered'
  /** In the time zone of now the day was not over when it was read. */
  | 'read_too_early';

/** What the ledger says of how a day was read. */
export type Reading = Pick<
  Committed,
  | 'state'
  | 'settled'
  | 'watchedDays'
  | 'lastReadingGivenUp'
  | 'identicalPasses'
  | 'resumed'
  | 'confirmed'
  | 'contradictions'
  | 'disagreements'
  | 'pages'
  | 'readFrom'
  | 'readTo'
  | 'queryFingerprint'
>;

/** The raw records that a day is made from again. */
export interface Replay {
  /** The oldest first, each with the day and the attempt under which it was staged. */
  slices: { day: string; attempt: string; slice: Slice }[];
  /** Whether another field may be the key than when they were staged. */
  isKeyNew: boolean;
  reading: Reading;
}

/** How far the days of two time zones can lie apart: 26 hours. */
const REACH_DAYS = 2;

/** The days whose readings may hold records of this day, whatever the time zones. */
export function neighboursOf(day: string): string[] {
  return Array.from({ length: 2 * REACH_DAYS + 1 }, (_, index) => addDays(day, index - REACH_DAYS));
}

/** @returns `elsewhere` where the day may be made from the readings of its neighbours: `joinReadings` */
export function decideReplay(raw: RawDay, now: ReplaySettings): Replay | ReplayObstacle | 'elsewhere' {
  const { day, committed } = raw;
  const { report, policy } = now;
  const slices = committedSlices(raw, report);
  if (!slices) return raw.slices.length === 0 ? 'raw_expired' : 'read_again';
  const isSame = committed.queryFingerprint === policy.queryFingerprint;
  const replay = (isKeyNew: boolean): Replay => ({
    slices: slices.map((slice) => ({ day, attempt: committed.attempt, slice })),
    isKeyNew,
    reading: { ...readingOf(committed), queryFingerprint: policy.queryFingerprint },
  });
  const isInPlace = slices.every((slice) => isWindowOf(day, slice, committed.state, now));
  if (isSame && (isInPlace || report.day.by !== 'created')) return replay(false);
  if (report.day.by === 'upstream') return 'asked_differently';
  if (!isInPlace && report.day.by !== 'created') return 'day_unknown';
  if (!slices.every((slice) => isAskedAlike(day, slice, now))) return 'asked_differently';
  if (!isInPlace) return 'elsewhere';
  const isTooEarly = Date.parse(committed.readFrom) < closesAtMs(day, policy);
  return committed.state === 'closed' && isTooEarly ? 'read_too_early' : replay(true);
}

/**
 * The day out of its neighbours' readings: every part of it was read by a pass that began when all of it was over.
 * @param raws those of `neighboursOf(day)` that are committed
 */
export function joinReadings(
  day: string,
  raws: readonly RawDay[],
  now: ReplaySettings,
): Replay | ReplayObstacle {
  const { report, policy } = now;
  const [startMs, endMs] = [startOfDay(day, policy.timeZone), endOfDay(day, policy.timeZone)];
  const within = raws.flatMap((raw) =>
    (committedSlices(raw, report) ?? [])
      .filter(({ fromMs, toMs }) => fromMs < endMs && startMs < toMs)
      .filter((slice) => isAskedAlike(raw.day, slice, now))
      .map((slice) => ({ day: raw.day, attempt: raw.committed.attempt, slice, committed: raw.committed })),
  );
  if (!covers(within, startMs, endMs)) return 'not_covered';
  const used = within.filter(({ slice }) => Date.parse(slice.startedAt) >= closesAtMs(day, policy));
  if (!covers(used, startMs, endMs)) return 'read_too_early';
  const slices = used.toSorted((a, b) => Date.parse(a.slice.startedAt) - Date.parse(b.slice.startedAt));
  const readings = used.map(({ committed }) => committed);
  const startedMs = Math.min(...slices.map(({ slice }) => Date.parse(slice.startedAt)));
  const passes = {
    identicalPasses: Math.max(1, Math.min(...readings.map(({ identicalPasses }) => identicalPasses))),
    ...(readings.some(({ resumed }) => resumed) && { resumed: true }),
  };
  const confirmed = readings.every((reading) => reading.confirmed);
  const settled = confirmed && settles(day, policy, startedMs, passes);
  return {
    slices: slices.map(({ committed: _committed, ...staged }) => staged),
    isKeyNew: false,
    reading: {
      state: 'closed',
      settled,
      // Of these it has its own, or none: what the ledger says of the day is of another span of time.
      watchedDays: settled ? watchedDays(day, policy, startedMs) : undefined,
      ...{ lastReadingGivenUp: undefined, contradictions: undefined, disagreements: undefined },
      ...passes,
      confirmed,
      pages: slices.reduce((sum, { slice }) => sum + pagesOf(slice), 0),
      readFrom: new Date(startedMs).toISOString(),
      readTo: new Date(endMs).toISOString(),
      queryFingerprint: policy.queryFingerprint,
    },
  };
}

/**
 * The slices whose records are committed: an attempt may have staged more since, or begun anew.
 * @returns `undefined` where the attempt does not hold them
 */
export function committedSlices(
  { committed, slices }: RawDay,
  { day }: ReportDefinition,
): Slice[] | undefined {
  const isOnePass = committed.state === 'closed' && day.by !== 'upstream';
  if (isOnePass) return slices.length === 1 && slices[0]?.done ? [...slices] : undefined;
  const readToMs = Date.parse(committed.readTo);
  for (let end = slices.length; end > 0; end -= 1) {
    const kept = slices.slice(0, end);
    const last = kept.at(-1);
    // An attempt that began anew may have as many pages up to the same time.
    const isSameReading = last?.toMs === readToMs && beganAt(last) === committed.readFrom;
    const isWhole = isSameReading && kept.every(({ done }) => done);
    if (isWhole && kept.reduce((sum, slice) => sum + pagesOf(slice), 0) === committed.pages) return kept;
  }
  return undefined;
}

function pagesOf({ parts }: Slice): number {
  return parts.reduce((sum, { pages }) => sum + pages, 0);
}

function readingOf(committed: Committed): Reading {
  const { state, settled, identicalPasses, resumed, confirmed, pages, readFrom, readTo, queryFingerprint } =
    committed;
  const passes = { identicalPasses, ...(resumed !== undefined && { resumed }) };
  return { state, settled, ...passes, confirmed, pages, readFrom, readTo, queryFingerprint };
}

/** Whether the slice lies in the day as the time zone has it now. */
function isWindowOf(
  day: string,
  slice: Slice,
  state: Committed['state'],
  { report, policy }: ReplaySettings,
): boolean {
  // Dates are sent as they are: what they mean the service knows, and no setting of ours changes it.
  if (report.day.by === 'dates') return true;
  const [startMs, endMs] = [startOfDay(day, policy.timeZone), endOfDay(day, policy.timeZone)];
  const begins = slice.whole ? slice.fromMs === startMs : slice.fromMs > startMs;
  return begins && (state === 'closed' ? slice.toMs === endMs : slice.toMs < endMs);
}

/** Whether the settings lead to these queries for what the slice covers. */
function isAskedAlike(
  day: string,
  slice: Slice,
  { report, brandSettings, settings }: ReplaySettings,
): boolean {
  const window: Window = slice;
  const queries = dayQueries(report, brandSettings, settings, day, window);
  const asked = slice.parts.map(({ role, fields }) => [role, sorted(fields)]);
  const wanted = queries.map(({ role, fields }) => [role, sorted(fields)]);
  if (JSON.stringify(asked) !== JSON.stringify(wanted)) return false;
  if (report.paging.style !== 'numbered') return true;
  const firstPages = slice.parts.flatMap((part) => firstPageOf(part) ?? []);
  return firstPages.length > 0 && firstPages.every((number) => number === brandSettings.firstPage);
}

function sorted(fields: Readonly<Record<string, string | number>>) {
  return Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1));
}

/** The number of the first page; `undefined` where there was only one, whose number is not known. */
function firstPageOf({ last, pages }: SlicePart): number | undefined {
  return typeof last?.cursor === 'number' ? last.cursor - pages + 1 : undefined;
}

/** Whether the slices, one after the other, leave no gap in a span of time. */
function covers(slices: readonly { slice: Slice }[], startMs: number, endMs: number): boolean {
  const windows = slices.map(({ slice }) => slice).sort((a, b) => a.fromMs - b.fromMs);
  const coveredTo = windows.reduce(
    (to, { fromMs, toMs }) => (fromMs <= to ? Math.max(to, toMs) : to),
    startMs,
  );
  return coveredTo >= endMs;
}
