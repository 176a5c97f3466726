/*
 * The rules of a backfill decide how the runs of a month follow one another; they are pure functions. Without them, a month
 * would have to be read within one Lambda timeout, or a function that makes no progress would be started for ever.
 * The state machine (`infra/backfill-state-machine.ts`) keeps the progress of a month between the runs of the function. All
 * that it carries has to fit into 256 kB. First, `splitIntoMonths` plans the months. After each run, `nextStep` decides
 * whether to run again, to wait or to end. At the end, `conclude` lists all months.
 */
import { addDays, dayOf, daysFrom, monthOf } from '../days.ts';
import type { Ledger } from '../lake/documents/ledger.ts';
import type { DayOutcome, ReportOutcome, Status } from '../outcome.ts';

/** Days, `YYYY-MM-DD`, both included, all of one month. */
export interface MonthRange {
  from: string;
  to: string;
}

/** How far the runs of a month have come. */
export interface MonthProgress {
  /** The fewest days that a run has left unread, and the pages that are staged of these days. */
  left: number;
  pages: number;
  /** Consecutive runs without progress: `busy` counts runs that found all days claimed by others, `stalled` all other runs. */
  stalled: number;
  busy: number;
}

/** The result of the runs of a month, or its state so far. */
export interface MonthOutcome extends MonthRange {
  status: Status;
  /** Rows published of these days, and how many days are left unread; missing if the function crashed. */
  rows?: number | undefined;
  left?: number | undefined;
  /** Why the rest was not read, and what to do: one short line. */
  why?: string | undefined;
}

/** The result of an execution: every month, and the failure to end with if a month is not complete. */
export interface Conclusion {
  months: MonthOutcome[];
  failure?: ExecutionFailure;
}

/** Why an execution failed, as Step Functions shows it. */
export interface ExecutionFailure {
  error: 'BackfillRefused' | 'BackfillIncomplete';
  cause: string;
}

/** The state machine's next step after a run. `wait`: run again after `waitSeconds`. */
export interface NextStep {
  next: 'again' | 'wait' | 'end';
  waitSeconds: number;
  progress: MonthProgress;
  status: Status;
  why?: string;
}

const MAX_STALLED_RUNS = 3;
/** With the wait between them, longer than the timeout of the function that holds the days. */
const MAX_BUSY_RUNS = 20;
const BUSY_WAIT_SECONDS = 60;
/** Gives an outage time to pass. */
const STALLED_WAIT_SECONDS = 300;
/** Short enough that 27 years of months, each with a reason, fit into the state of an execution (256 kB). */
const MAX_WHY_BYTES = 300;
/** Step Functions accepts at most 32,768 characters as the cause of an execution. */
const MAX_CAUSE_LENGTH = 30_000;

/** The last day that a backfill reads; the schedule reads the open day and the day before it. */
export function lastBackfillDay(nowMs: number, timeZone: string): string {
  return addDays(dayOf(nowMs, timeZone), -2);
}

/** The part of the range in each calendar month, the newest month first. */
export function splitIntoMonths({ from, to }: MonthRange): MonthRange[] {
  return [...Map.groupBy(daysFrom(from, to), monthOf).values()].map(spanOf).reverse();
}

/** The progress of a month before its first run. */
export function initialProgress(month: MonthRange): MonthProgress {
  return { left: daysFrom(month.from, month.to).length, pages: 0, stalled: 0, busy: 0 };
}

/**
 * Decides what follows a run. The runs of a month always end: runs without progress count towards a limit, and progress is
 * limited by the number of days and pages.
 */
export function nextStep(before: MonthProgress, { status, days, error }: ReportOutcome): NextStep {
  if (status === 'complete') return { next: 'end', waitSeconds: 0, progress: { ...before, left: 0 }, status };
  const unread = days.filter(({ outcome }) => outcome !== 'published' && outcome !== 'unchanged');
  const allBusy = unread.length > 0 && unread.every(({ outcome }) => outcome === 'busy');
  const progress = progressAfter(before, unread, allBusy);
  const { stalled, busy } = progress;
  const needsOperator = error?.kind === 'auth' || error?.kind === 'config';
  const ends = needsOperator || stalled >= MAX_STALLED_RUNS || busy >= MAX_BUSY_RUNS;
  const waitSeconds = allBusy ? BUSY_WAIT_SECONDS : stalled > 0 ? STALLED_WAIT_SECONDS : 0;
  const why = error?.message ?? (ends ? reasonOf(allBusy) : undefined);
  return {
    next: ends ? 'end' : waitSeconds > 0 ? 'wait' : 'again',
    waitSeconds,
    progress,
    status,
    ...(why !== undefined && { why: shortened(why) }),
  };
}

/** @param unread empty if the report failed before its plan; then all days that were left before are still left */
function progressAfter(
  before: MonthProgress,
  unread: readonly DayOutcome[],
  allBusy: boolean,
): MonthProgress {
  const left = unread.length || before.left;
  const pages = unread.reduce((sum, day) => sum + day.pages, 0);
  if (left < before.left || (left === before.left && pages > before.pages))
    return { left, pages, stalled: 0, busy: 0 };
  const counted = allBusy ? { busy: before.busy + 1 } : { stalled: before.stalled + 1 };
  return { ...before, ...counted };
}

function reasonOf(allBusy: boolean): string {
  return allBusy
    ? 'other runs held the remaining days all the time: start the backfill of this month again when they have ended'
    : `${MAX_STALLED_RUNS} consecutive runs made no progress: read the log of the function, then start the backfill of this month again`;
}

/** Days of the range for which the upstream report has committed nothing yet, so their records have no details to request. */
export function daysWithoutUpstream({ from, to }: MonthRange, upstream: Ledger): string[] {
  return daysFrom(from, to).filter((day) => !upstream.days[day]?.committed);
}

/** The committed rows of the range, from the ledger of its month. */
export function rowsIn({ from, to }: MonthRange, { days }: Ledger): number {
  return daysFrom(from, to).reduce((sum, day) => sum + (days[day]?.committed?.rows ?? 0), 0);
}

/** The text as one line, with at most `MAX_WHY_BYTES` of JSON and an ellipsis. */
export function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ');
  let length = Math.min(line.length, MAX_WHY_BYTES);
  while (Buffer.byteLength(JSON.stringify(line.slice(0, length))) > MAX_WHY_BYTES) length -= 1;
  return length < line.length ? `${line.slice(0, length).toWellFormed()}…` : line;
}

/** Every planned month with its outcome; a month without an outcome has failed. */
export function conclude(planned: readonly MonthRange[], outcomes: readonly MonthOutcome[]): Conclusion {
  const byStart = new Map(outcomes.map((month) => [month.from, month]));
  const months = planned.map(
    ({ from, to }) =>
      byStart.get(from) ?? {
        from,
        to,
        status: 'failed' as const,
        why: 'its child execution returned nothing: open it in the Map Run',
      },
  );
  const incomplete = months.filter(({ status }) => status !== 'complete');
  if (incomplete.length === 0) return { months };
  const lines = incomplete.map(
    ({ from, to, status, why }) => `${from}..${to} ${status}${why ? `: ${why}` : ''}`,
  );
  const head = `${incomplete.length} of ${months.length} months are not complete. Fix the causes, then start a backfill of their days again:`;
  return { months, failure: { error: 'BackfillIncomplete', cause: causeOf([head, ...lines]) } };
}

/** Keeps as many lines as fit, and counts the rest. */
function causeOf(lines: readonly string[]): string {
  let length = 0;
  const fitting = lines.filter((line) => {
    length += line.length + 1;
    return length <= MAX_CAUSE_LENGTH;
  });
  const rest = lines.length - fitting.length;
  return [...fitting, ...(rest > 0 ? [`… and ${rest} more: see the Map Run`] : [])].join('\n');
}

function spanOf(days: readonly string[]): MonthRange {
  const [from = '', to = from] = [days[0], days.at(-1)];
  return { from, to };
}
