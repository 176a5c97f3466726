import { addDays, dayOf, daysFrom, monthOf } from '../days.ts';
import type { Ledger } from '../lake/documents/ledger.ts';
import type { DayOutcome, ReportOutcome, Status } from '../outcome.ts';

// A backfill reads the months of a range again, each in rounds: a round is one run with the time that a function has.

/** Days, `YYYY-MM-DD`, both included, all of one month. */
export interface MonthRange {
  from: string;
  to: string;
}

/** How far the rounds of a month have come. */
export interface MonthProgress {
  /** The fewest days that a round has left unread, and the pages staged of them. */
  left: number;
  pages: number;
  /** Rounds that came no further, in a row: of those that worked, and of those that other runs kept from it. */
  stalled: number;
  busy: number;
}

/** What the rounds of a month ended in, or where they are. */
export interface MonthOutcome extends MonthRange {
  status: Status;
  /** What is published of these days, and how many of them are left unread; not known where the function crashed. */
  rows?: number | undefined;
  left?: number | undefined;
  /** What keeps the rest from being read: one line, not long. */
  why?: string | undefined;
}

/** What an execution ends with: every month, and how to fail where one is not complete. */
export interface Conclusion {
  months: MonthOutcome[];
  failure?: Failure;
}

export interface Failure {
  error: 'BackfillRefused' | 'BackfillIncomplete';
  cause: string;
}

/** `wait`: so many seconds before the next round. */
export interface NextStep {
  next: 'again' | 'wait' | 'end';
  waitSeconds: number;
  progress: MonthProgress;
  status: Status;
  why?: string;
}

const MAX_STALLED_RUNS = 3;
/** Together with the wait longer than a function lives that holds the days. */
const MAX_BUSY_RUNS = 20;
const BUSY_WAIT_SECONDS = 60;
/** Gives an outage some time to pass. */
const STALLED_WAIT_SECONDS = 300;
/** So short that twenty-seven years of months, each with a reason, fit into the state of a state machine. */
const LONGEST_WHY_BYTES = 300;
/** Of the 32,768 that the cause of an execution may have. */
const LONGEST_CAUSE = 30_000;

/** The last day that a backfill reads: the open day and the one before it are the schedule's. */
export function lastBackfillDay(nowMs: number, timeZone: string): string {
  return addDays(dayOf(nowMs, timeZone), -2);
}

/** The range by calendar months, the newest first. */
export function splitIntoMonths({ from, to }: MonthRange): MonthRange[] {
  return [...Map.groupBy(daysFrom(from, to), monthOf).values()].map(spanOf).reverse();
}

export function initialProgress(month: MonthRange): MonthProgress {
  return { left: daysFrom(month.from, month.to).length, pages: 0, stalled: 0, busy: 0 };
}

/**
 * What follows from a round. There is an end to it: a round that comes no further counts towards a bound, and there are
 * only so many days and pages to come further by.
 */
export function nextStep(before: MonthProgress, { status, days, error }: ReportOutcome): NextStep {
  if (status === 'complete') return { next: 'end', waitSeconds: 0, progress: { ...before, left: 0 }, status };
  const unread = days.filter(({ outcome }) => outcome !== 'published' && outcome !== 'unchanged');
  const held = unread.length > 0 && unread.every(({ outcome }) => outcome === 'busy');
  const rounds = progressAfter(before, unread, held);
  const { stalled, busy } = rounds;
  const needsOperator = error?.kind === 'auth' || error?.kind === 'config';
  const ends = needsOperator || stalled >= MAX_STALLED_RUNS || busy >= MAX_BUSY_RUNS;
  const waitSeconds = held ? BUSY_WAIT_SECONDS : stalled > 0 ? STALLED_WAIT_SECONDS : 0;
  const why = error?.message ?? (ends ? reasonOf(held) : undefined);
  return {
    next: ends ? 'end' : waitSeconds > 0 ? 'wait' : 'again',
    waitSeconds,
    progress: rounds,
    status,
    ...(why !== undefined && { why: shortened(why) }),
  };
}

/** @param unread none where the report failed before its plan: then all is left that was */
function progressAfter(before: MonthProgress, unread: readonly DayOutcome[], held: boolean): MonthProgress {
  const left = unread.length || before.left;
  const pages = unread.reduce((sum, day) => sum + day.pages, 0);
  if (left < before.left || (left === before.left && pages > before.pages))
    return { left, pages, stalled: 0, busy: 0 };
  const counted = held ? { busy: before.busy + 1 } : { stalled: before.stalled + 1 };
  return { ...before, ...counted };
}

function reasonOf(held: boolean): string {
  return held
    ? 'other runs held the rest all the time: start the backfill of this month again when they are through'
    : `${MAX_STALLED_RUNS} rounds in a row came no further: look at the log of the function, then start the backfill of this month again`;
}

/** Days of the range of which the other report has nothing published yet, so that nothing can be looked up. */
export function daysWithoutUpstream({ from, to }: MonthRange, parent: Ledger): string[] {
  return daysFrom(from, to).filter((day) => !parent.days[day]?.committed);
}

export function rowsIn({ from, to }: MonthRange, { days }: Ledger): number {
  return daysFrom(from, to).reduce((sum, day) => sum + (days[day]?.committed?.rows ?? 0), 0);
}

/** In one line of not many more than `LONGEST_WHY_BYTES` of JSON. */
export function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ');
  let length = Math.min(line.length, LONGEST_WHY_BYTES);
  while (Buffer.byteLength(JSON.stringify(line.slice(0, length))) > LONGEST_WHY_BYTES) length -= 1;
  return length < line.length ? `${line.slice(0, length).toWellFormed()}…` : line;
}

/** Every planned month with what was told of it: one that nothing was told of has failed. */
export function conclude(planned: readonly MonthRange[], told: readonly MonthOutcome[]): Conclusion {
  const byStart = new Map(told.map((month) => [month.from, month]));
  const months = planned.map(
    ({ from, to }) =>
      byStart.get(from) ?? {
        from,
        to,
        status: 'failed' as const,
        why: 'its child execution told nothing: open it in the Map Run',
      },
  );
  const open = months.filter(({ status }) => status !== 'complete');
  if (open.length === 0) return { months };
  const lines = open.map(({ from, to, status, why }) => `${from}..${to} ${status}${why ? `: ${why}` : ''}`);
  const head = `${open.length} of ${months.length} months are not complete. Mend what keeps them, then start a backfill of their days again:`;
  return { months, failure: { error: 'BackfillIncomplete', cause: causeOf([head, ...lines]) } };
}

/** As many of the lines as fit. */
function causeOf(lines: readonly string[]): string {
  let length = 0;
  const fitting = lines.filter((line) => {
    length += line.length + 1;
    return length <= LONGEST_CAUSE;
  });
  const rest = lines.length - fitting.length;
  return [...fitting, ...(rest > 0 ? [`… and ${rest} more: see the Map Run`] : [])].join('\n');
}

function spanOf(days: readonly string[]): MonthRange {
  const [from = '', to = from] = [days[0], days.at(-1)];
  return { from, to };
}
