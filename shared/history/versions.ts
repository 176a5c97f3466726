/**
 * Which snapshot of a day queries found at a time. A commit changes nothing for them before it is published, so a version
 * begins where the publication of its commit replaced the one before, and ends with the next publication. Versions follow
 * one another without a gap; a snapshot that was rolled back to has one for each time that it was current. Everything is
 * pure, and follows from the ledger's entry alone: there is no second record of the past that could differ from it.
 */
import { type DayEntry, isWhole } from '../lake/documents/ledger.ts';

/** A snapshot of a day, for a time in which queries found it. */
export interface Version {
  snapshot: string;
  /** Missing: not known, because the ledger was made again since. */
  fromMs?: number;
  /** Missing: it is current. */
  toMs?: number;
  /** Whether it holds the whole day, or was read while the day was open; missing: a repair has lost it. */
  whole?: boolean;
  /** The object of what had become of its records; missing: there is none. */
  lifecycle?: string;
}

/**
 * The versions of a day that are kept, the oldest first. A clock that was behind makes none begin before the one that it
 * replaced: of two times the later one counts. What is committed and not published yet is no version.
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
  for (const { snapshot, at, whole, lifecycle } of superseded) {
    const version = {
      ...{ snapshot, ...from },
      ...(whole !== undefined && { whole }),
      ...(lifecycle !== undefined && { lifecycle }),
    };
    if (at === null) return [...versions, version];
    const toMs = Math.max(from.fromMs ?? Number.NEGATIVE_INFINITY, Date.parse(at));
    versions.push({ ...version, toMs });
    from = { fromMs: toMs };
  }
  if (!committed) return versions;
  const whole = committed.timeZone === undefined ? {} : { whole: isWhole(committed) };
  const { snapshot, lifecycle } = committed;
  return [...versions, { snapshot, ...whole, ...from, ...(lifecycle && { lifecycle: lifecycle.snapshot }) }];
}

/**
 * The version of a day that queries found at `atMs`. `absent`: nothing of the day was committed yet. `unknown`: it is not
 * kept any longer, or the times of the ledger do not tell.
 * @param nowMs the present, not before `atMs`
 */
export function versionAt(
  entry: DayEntry,
  atMs: number,
  nowMs: number,
): Pick<Version, 'snapshot' | 'lifecycle'> | 'absent' | 'unknown' {
  if (!entry.committed) return 'absent';
  const { firstCommittedAt } = entry;
  const firstMs = firstCommittedAt === undefined ? undefined : Date.parse(firstCommittedAt);
  if (firstMs !== undefined && atMs < firstMs) return 'absent';
  const version = versionsOf(entry).find(({ toMs = Number.POSITIVE_INFINITY }) => atMs < toMs);
  // Whenever it began, that was before now.
  const { fromMs = nowMs } = version ?? {};
  if (!version || fromMs > atMs) return 'unknown';
  const { snapshot, lifecycle } = version;
  return { snapshot, ...(lifecycle !== undefined && { lifecycle }) };
}
