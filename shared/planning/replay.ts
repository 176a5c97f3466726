/*
 * Decides from which raw records a day can be rebuilt without a request to the service. It is pure. Types or the key may
 * have changed. But if the queries of the reading differ from those of the current settings, only the service has the
 * day's records. So it is after a change of the time zone, because the day then begins and ends at other times.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Committed } from '../lake/ledger.ts';
import { type Slice, type SlicePart, pagesIn } from '../lake/progress.ts';
import type { ReportDefinition } from '../reports/definition.ts';
import type { BrandSettings, ReportSettings } from '../settings/settings.ts';
import { dayQueries } from './day-queries.ts';
import type { Policy } from './due.ts';

/** The committed version of a day and the slices that its attempt has staged; no slices if they have been deleted. */
export interface RawDay {
  day: string;
  committed: Committed;
  slices: readonly Slice[];
}

export interface ReplaySettings {
  report: ReportDefinition;
  brandSettings: BrandSettings;
  settings: ReportSettings;
  policy: Policy;
}

export type ReplayObstacle =
  /** They are deleted, or belong to a reading that is not committed yet. */
  'raw_expired' | 'other_time_zone' | 'read_by_other_queries';

export interface Replay {
  /** The oldest first. */
  slices: Slice[];
  isKeyNew: boolean;
}

/** The raw records of the committed reading, if today's settings lead to the same queries. */
export function decideReplay(raw: RawDay, now: ReplaySettings): Replay | ReplayObstacle {
  const { day, committed } = raw;
  const { report, policy } = now;
  const slices = committedSlices(raw, report);
  if (!slices) return 'raw_expired';
  if (committed.timeZone !== policy.timeZone) return 'other_time_zone';
  if (committed.queryFingerprint === policy.queryFingerprint) return { slices, isKeyNew: false };
  const isAlike = slices.every((slice) => hasSameQueries(day, slice, now));
  return isAlike ? { slices, isKeyNew: true } : 'read_by_other_queries';
}

/**
 * The slices whose records are committed: since the commit, the attempt may have staged more slices or started over.
 * @returns `undefined` if the attempt no longer has these slices
 */
function committedSlices({ committed, slices }: RawDay, { day }: ReportDefinition): Slice[] | undefined {
  const isOneSlice = committed.state !== 'open' && day.by !== 'upstream';
  if (isOneSlice) return slices.length === 1 && slices[0]?.done ? [...slices] : undefined;
  const readToMs = Date.parse(committed.readTo);
  for (let end = slices.length; end > 0; end -= 1) {
    const kept = slices.slice(0, end);
    const last = kept.at(-1);
    // An attempt that started over may have the same number of pages up to the same time.
    const isSameReading = last?.toMs === readToMs && last.startedAt === committed.readFrom;
    const isWhole = isSameReading && kept.every(({ done }) => done);
    if (isWhole && pagesIn(kept) === committed.pages) return kept;
  }
  return undefined;
}

function hasSameQueries(
  day: string,
  slice: Slice,
  { report, brandSettings, settings }: ReplaySettings,
): boolean {
  const queries = dayQueries(report, brandSettings, settings, day, slice);
  const before = slice.parts.map(({ role, fields }) => ({ role, fields }));
  if (!isDeepStrictEqual(before, queries)) return false;
  if (report.paging.style !== 'numbered') return true;
  const firstPages = slice.parts.flatMap((part) => firstPageOf(part) ?? []);
  return firstPages.length > 0 && firstPages.every((number) => number === brandSettings.firstPage);
}

/** The number of the first page; `undefined` if there was only one page, because its number is not stored. */
function firstPageOf({ last, pages }: SlicePart): number | undefined {
  return typeof last?.cursor === 'number' ? last.cursor - pages + 1 : undefined;
}
