import type { Committed } from '../lake/documents/ledger.ts';
import type { Slice } from '../lake/documents/progress.ts';
import { type Policy, closesAtMs } from './due.ts';
import { refusedSummary } from './lookups.ts';

/** How a day was read, as the slices of its attempt tell it. */
export interface Reading {
  startedMs: number;
  /** When the last page was staged, by the service's time; a run that publishes pages of another one may have another clock. */
  endedMs: number;
  /** I2: whether it is one pass that began after the day's end, over an upstream day that is closed. */
  closed: boolean;
  /** Whether several runs read the pass. */
  resumed: boolean;
  /** Pages of the pass that had records of the day. */
  recordPages: number;
  /** What the ledger says of it. */
  said: Pick<Committed, 'pages' | 'readFrom' | 'readTo' | 'upstreamDigest' | 'refusedLookups'>;
}

/** @param slices at least one; all that were staged up to the end of the reading */
export function readingOf(day: string, policy: Policy, slices: readonly Slice[]): Reading {
  const last = slices.at(-1);
  if (!last) throw new Error('a reading has a slice');
  const { upstream, parts } = last;
  const readFrom = beganAt(last);
  const startedMs = Date.parse(readFrom);
  const refusedLookups = refusedSummary(slices);
  return {
    startedMs,
    endedMs: Math.max(...slices.map(({ startedAt, stagedAt }) => Date.parse(stagedAt ?? startedAt))),
    closed: last.whole && startedMs >= closesAtMs(day, policy) && (upstream?.closed ?? true),
    resumed: last.resumed ?? false,
    recordPages: parts
      .filter(({ role }) => role === 'include')
      .reduce((pages, part) => pages + part.recordPages, 0),
    said: {
      pages: slices.flatMap((slice) => slice.parts).reduce((pages, part) => pages + part.pages, 0),
      readFrom,
      readTo: new Date(last.toMs).toISOString(),
      ...(upstream && { upstreamDigest: upstream.digest }),
      ...(refusedLookups && { refusedLookups }),
    },
  };
}

/** When the reading began that ends with this slice: a pass over a closed upstream day may go on in further slices. */
export function beganAt({ upstream, passStartedAt, startedAt }: Slice): string {
  return (upstream?.closed && passStartedAt) || startedAt;
}
