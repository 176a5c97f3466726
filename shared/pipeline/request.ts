import type { Document } from '../lake/document.ts';
import type { MonthIndex } from '../lake/month-index.ts';
import type { DayOutcome } from '../outcome.ts';
import type { RangeRequest } from './plan.ts';
import type { ReportRun } from './report-run.ts';

/**
 * A range that is to be read again whatever the policy says. A run that ends before all of it is read leaves the
 * request open; the next one for the same range goes on with it instead of beginning at the first day again.
 */
export async function openRequest(
  run: ReportRun,
  index: Document<MonthIndex>,
  range: { from: string; to: string },
): Promise<RangeRequest> {
  const key = `${range.from}..${range.to}`;
  const wallMs = run.clock.wallMs();
  const livesMs = run.brandSettings.resumeWithinHours * 3_600_000;
  const id = run.newId();
  const { requests } = await index.update((current) => {
    const open = Object.entries(current.requests).filter(([, { since }]) => wallMs - Date.parse(since) < livesMs);
    const requests = Object.fromEntries(open);
    if (requests[key]) return current;
    return { ...current, requests: { ...requests, [key]: { id, since: new Date(wallMs).toISOString() } } };
  });
  return { id: requests[key]?.id ?? id, ...range };
}

/** Closes the request where every one of its days was read. */
export function finishRequest(
  index: MonthIndex,
  { from, to }: RangeRequest,
  days: readonly DayOutcome[],
): MonthIndex {
  const read = days.every(({ outcome }) => outcome === 'published' || outcome === 'unchanged');
  if (!read) return index;
  const { [`${from}..${to}`]: _finished, ...requests } = index.requests;
  return { ...index, requests };
}
