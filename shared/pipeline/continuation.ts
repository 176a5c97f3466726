import type { CasDocument } from '../lake/documents/cas-document.ts';
import type { MonthIndex } from '../lake/documents/month-index.ts';
import type { Continuation } from '../planning/plan.ts';
import type { RunContext } from './context.ts';

/** Days to read again; `since`: those that no run has read from that instant on. */
export type Range = { from: string; to: string; since?: string };

/** Runs that follow each other closer than this go on with one another's work. */
const ROUND_MS = 600_000;

/**
 * What a run reads goes by the id of the first of the runs that it takes, one after the other, until all is read:
 * a day that bears the id is not read again before the others, however little time each run has.
 */
export async function resumeOrStart(
  run: RunContext,
  index: CasDocument<MonthIndex>,
  range: Range | undefined,
): Promise<Continuation> {
  const { continuations } = await index.refresh();
  const id = liveContinuations(run, continuations)[keyOf(range)]?.id ?? run.runId;
  return { id, ...(range && { range }) };
}

/** Leaves the request to the next run where something is left to read, and closes it where nothing is. */
export async function saveContinuation(
  run: RunContext,
  index: CasDocument<MonthIndex>,
  range: Range | undefined,
  goesOn: boolean,
): Promise<void> {
  if (range?.since !== undefined) return;
  const key = keyOf(range);
  await index.update((current) => {
    const { [key]: known, ...others } = liveContinuations(run, current.continuations);
    if (goesOn ? known : !current.continuations[key]) return current;
    const since = run.clock.now().toISOString();
    return { ...current, continuations: { ...others, ...(goesOn && { [key]: { id: run.runId, since } }) } };
  });
}

function liveContinuations(
  run: RunContext,
  continuations: MonthIndex['continuations'],
): MonthIndex['continuations'] {
  const nowMs = run.clock.now().getTime();
  const rangeMs = run.brandSettings.resumeWithinHours * 3_600_000;
  const isOpen = ([key, { since }]: [string, { since: string }]) => {
    const ageMs = nowMs - Date.parse(since);
    return ageMs >= 0 && ageMs <= (key === keyOf(undefined) ? ROUND_MS : rangeMs);
  };
  return Object.fromEntries(Object.entries(continuations).filter(isOpen));
}

function keyOf(range: Range | undefined): string {
  return range ? `${range.from}..${range.to}` : 'due';
}
