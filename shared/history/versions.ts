/**
 * Computes which snapshot of a day queries found at a time. A commit changes nothing for queries before it is published. So
 * a version begins when the publication of its commit replaced the version before, and ends with the next publication.
 * Versions follow one another without a gap. A snapshot that was rolled back to has a version for each time it was current.
 * All functions are pure and use only the ledger's entry: no second record of the past could differ from it.
 */
import { type DayEntry, isWhole } from '../lake/documents/ledger.ts';

/** A snapshot of a day, for a period in which queries found it. */
export interface Version {
  snapshot: string;
  /** Missing: not known, because the ledger has been restored since. */
  fromMs?: number;
  /** Missing: it is the current version. */
  toMs?: number;
  /** `true`: it contains the whole day, `false`: it was read while the day was open; missing: not known, because the ledger was made from snapshots. */
  whole?: boolean;
}

/**
 * The versions of a day that are kept, the oldest first. Even if a clock was behind, no version begins before the version
 * that it replaced: the later of the two times counts. A commit that is not published yet is not a version.
 */
export function versionsOf({
  committed,
  superseded = [],
  versionsFrom,
  firstCommittedAt,
}: DayEntry): Version[] {
  const versions: Version[] = [];
  const firstMs = Date.parse(versionsFrom ?? firstCommittedAt ?? '');
  let from: Pick<Version, 'fromMs'> = Number.isNaN(firstMs) ? {} : { fromMs: firstMs };
  for (const { snapshot, at, whole } of superseded) {
    const version = { snapshot, ...from, ...(whole !== undefined && { whole }) };
    if (at === null) return [...versions, version];
    const toMs = Math.max(from.fromMs ?? Number.NEGATIVE_INFINITY, Date.parse(at));
    versions.push({ ...version, toMs });
    from = { fromMs: toMs };
  }
  if (!committed) return versions;
  const whole = committed.timeZone === undefined ? {} : { whole: isWhole(committed) };
  return [...versions, { snapshot: committed.snapshot, ...whole, ...from }];
}
