/*
 * Which raw records a day can be rebuilt from without a request to the service: pure, so that a table can test every case.
 *
 * The queries of the reading stand beside its records, so they are compared with the queries of today's settings. If the
 * queries are the same, the records are what the service would return, whatever else was changed: types or the key. In
 * another time zone the day begins and ends at other times, and in all other cases too only the service has its records.
 */
import type { Committed } from '../lake/documents/ledger.ts';
import type { Slice, SlicePart } from '../lake/documents/progress.ts';
import type { ReportDefinition } from '../reports/definition.ts';
import type { BrandSettings, ReportSettings } from '../settings/settings.ts';
import { dayQueries } from './day-queries.ts';
import type { Policy } from './due.ts';
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
  | 'reread'
  /** The day was read in another time zone. */
  | 'other_time_zone'
  /** The settings now ask for other records than were asked for. */
  | 'read_by_other_queries';

/** The raw records that a day is made from again. */
export interface Replay {
  /** The oldest first. */
  slices: Slice[];
  /** Whether another field may be the key than when they were staged. */
  isKeyNew: boolean;
}

/** The raw records of the committed reading, if today's settings lead to the same queries. */
export function decideReplay(raw: RawDay, now: ReplaySettings): Replay | ReplayObstacle {
  const { day, committed } = raw;
  const { report, policy } = now;
  const slices = committedSlices(raw, report);
  if (!slices) return raw.slices.length === 0 ? 'raw_expired' : 'reread';
  if (committed.timeZone !== policy.timeZone) return 'other_time_zone';
  if (committed.queryFingerprint === policy.queryFingerprint) return { slices, isKeyNew: false };
  const isAlike = slices.every((slice) => hasSameQueries(day, slice, now));
  return isAlike ? { slices, isKeyNew: true } : 'read_by_other_queries';
}

/**
 * The slices whose records are committed: an attempt may have staged more since, or begun anew.
 * @returns `undefined` where the attempt does not hold them
 */
function committedSlices({ committed, slices }: RawDay, { day }: ReportDefinition): Slice[] | undefined {
  const isOnePass = committed.state !== 'open' && day.by !== 'upstream';
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

/** Whether the settings lead to these queries for what the slice covers. */
function hasSameQueries(
  day: string,
  slice: Slice,
  { report, brandSettings, settings }: ReplaySettings,
): boolean {
  const queries = dayQueries(report, brandSettings, settings, day, slice);
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
