import type { Committed } from '../lake/documents/ledger.ts';
import { type Slice, pagesIn } from '../lake/documents/progress.ts';
import { type Policy, closesAtMs } from './due.ts';
import { refusedSummary } from './lookups.ts';

export interface Reading {
  startedMs: number;
  /** When the last page was staged, by the service's time: the run that publishes the pages may have another clock. */
  endedMs: number;
  /** I2: whether the day was read whole after its end and, if there is an upstream day, after that day was closed. */
  closed: boolean;
  /** Whether records may have been skipped between two pages, because the list may have shifted. */
  mayHaveGap: boolean;
  /** Whether records may have moved between two queries, or before another run resumed the reading. */
  isSplit: boolean;
  recorded: Pick<Committed, 'pages' | 'readFrom' | 'readTo' | 'upstreamDigest' | 'refusedLookups'>;
}

/**
 * @param slices all slices that were staged up to the end of the reading, at least one
 * @param nowMs the clock may have been corrected since they were staged: a later time counts as now
 */
export function readingOf(day: string, policy: Policy, slices: readonly Slice[], nowMs: number): Reading {
  const last = slices.at(-1);
  if (!last) throw new Error('a reading has a slice');
  const { upstream, parts } = last;
  const heldMs = (time: string) => Math.min(Date.parse(time), nowMs);
  const beganMs = Date.parse(last.startedAt);
  const startedMs = Math.min(beganMs, nowMs);
  const refusedLookups = refusedSummary(slices);
  return {
    startedMs,
    endedMs: Math.max(...slices.map(({ startedAt, stagedAt }) => heldMs(stagedAt ?? startedAt))),
    closed:
      last.whole && beganMs <= nowMs && startedMs >= closesAtMs(day, policy) && (upstream?.closed ?? true),
    mayHaveGap: parts.some(({ role, mayHaveGap }) => role === 'include' && mayHaveGap),
    isSplit: parts.length > 1 || (last.resumed ?? false),
    recorded: {
      pages: pagesIn(slices),
      readFrom: new Date(startedMs).toISOString(),
      readTo: new Date(last.toMs).toISOString(),
      ...(upstream && { upstreamDigest: upstream.digest }),
      ...(refusedLookups && { refusedLookups }),
    },
  };
}
