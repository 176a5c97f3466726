import type { Document } from '../lake/documents/cas-document.ts';
import type { MonthIndex } from '../lake/documents/month-index.ts';
import type { DayRequest } from '../planning/plan.ts';
import type { ReportRun } from './context.ts';

/** Days to read again; `since`: those that no run has read from that instant on. */
export type Range = { from: string; to: string; since?: string };

/** Runs that follow each other closer than this go on with one another's work. */
const ROUND_MS = 600_000;

/**
 * What a run reads goes by the id of the first of the runs that it takes, one after the other, until all is read:
 * a day that bears the id is not read again before the others, however little time each run has.
 */
export async function openRequest(
  run: ReportRun,
  index: Document<MonthIndex>,
  range: Range | undefined,
): Promise<DayRequest> {
  const { requests } = await index.fresh();
  const id = openRequests(run, requests)[keyOf(range)]?.id ?? run.run;
  return { id, ...(range && { range }) };
}

/** Leaves the request to the next run where something is left to read, and closes it where nothing is. */
export async function leaveRequest(
  run: ReportRun,
  index: Document<MonthIndex>,
  range: Range | undefined,
  goesOn: boolean,
): Promise<void> {
  if (range?.since !== undefined) return;
  const key = keyOf(range);
  await index.update((current) => {
    const { [key]: known, ...others } = openRequests(run, current.requests);
    if (goesOn ? known : !current.requests[key]) return current;
    const since = run.clock.now().toISOString();
    return { ...current, requests: { ...others, ...(goesOn && { [key]: { id: run.run, since } }) } };
  });
}

function openRequests(run: ReportRun, requests: MonthIndex['requests']): MonthIndex['requests'] {
  const nowMs = run.clock.now().getTime();
  const rangeMs = run.brandSettings.resumeWithinHours * 3_600_000;
  const isOpen = ([key, { since }]: [string, { since: string }]) => {
    const ageMs = nowMs - Date.parse(since);
    return ageMs >= 0 && ageMs <= (key === keyOf(undefined) ? ROUND_MS : rangeMs);
  };
  return Object.fromEntries(Object.entries(requests).filter(isOpen));
}

function keyOf(range: Range | undefined): string {
  return range ? `${range.from}..${range.to}` : 'due';
}
