import type { Committed } from '../lake/ledger.ts';
import { type Slice, pagesIn } from '../lake/progress.ts';
import { type Policy, closesAtMs } from './due.ts';
import { refusedSummary } from './lookups.ts';

/**
 * @param slices all slices that were staged up to the end of the reading, at least one
 * @param nowMs the clock may have been corrected since they were staged: a later time counts as now
 */
export function readingOf(day: string, policy: Policy, slices: readonly Slice[], nowMs: number) {
  const last = slices.at(-1);
  if (!last) throw new Error('a reading has a slice');
  const { upstream, parts } = last;
  const heldMs = (time: string) => Math.min(Date.parse(time), nowMs);
  const beganMs = Date.parse(last.startedAt);
  const startedMs = Math.min(beganMs, nowMs);
  const refusedLookups = refusedSummary(slices);
  const mayHaveGap = parts.some(({ role, mayHaveGap }) => role === 'include' && mayHaveGap);
  const recorded: Pick<
    Committed,
    'pages' | 'readFrom' | 'readTo' | 'upstreamDigest' | 'refusedLookups' | 'mayHaveGap'
  > = {
    pages: pagesIn(slices),
    readFrom: new Date(startedMs).toISOString(),
    readTo: new Date(last.toMs).toISOString(),
    ...(mayHaveGap && { mayHaveGap }),
    ...(upstream && { upstreamDigest: upstream.digest }),
    ...(refusedLookups && { refusedLookups }),
  };
  return {
    startedMs,
    // By the service's time: the run that publishes the pages may have another clock.
    endedMs: Math.max(...slices.map(({ startedAt, stagedAt }) => heldMs(stagedAt ?? startedAt))),
    // I2: read whole after its end and, if there is an upstream day, after that day was closed.
    closed:
      last.whole && beganMs <= nowMs && startedMs >= closesAtMs(day, policy) && (upstream?.closed ?? true),
    // The list may have shifted between two pages.
    mayHaveGap,
    // Records may have moved between two queries, or before another run resumed the reading.
    isSplit: parts.length > 1 || (last.resumed ?? false),
    recorded,
  };
}
