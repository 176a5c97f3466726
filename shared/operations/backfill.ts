/*
 * A backfill repeats the run of a brand over a range of days until the run is complete; these pure functions decide
 * whether to repeat it. Without a limit on runs without progress, a day that always fails would be read forever. The
 * state machine (`infra/backfill-state-machine.ts`) carries the progress between the runs.
 */
import { type ReportOutcome, type SyncOutcome, madeProgress, wasRead } from '../outcome.ts';

/** What the runs of a brand read, and how far they have come. */
export interface BrandToRead {
  brand: string;
  /** Missing: all enabled reports. */
  reports?: readonly string[] | undefined;
  /** Days, `YYYY-MM-DD`, both included. Without `to`, up to today. */
  from: string;
  to?: string | undefined;
  /** The most pages that were staged of unread days since a run read a day to its end. */
  pages: number;
  /** Consecutive runs without progress. */
  stalled: number;
}

/** The result of a run. `again`: the next run follows at once; `wait`: it follows after a minute. */
export interface BrandStep extends BrandToRead {
  status: 'complete' | 'again' | 'wait' | 'failed';
  /** What is left, and why: one short line. */
  why?: string;
}

/** How the runs of a brand ended. */
export interface BrandEnd {
  brand: string;
  status: string;
  why?: string | undefined;
}

/** Why an execution failed, as Step Functions shows it. */
export interface ExecutionFailure {
  error: 'BackfillRefused' | 'BackfillIncomplete';
  cause: string;
}

/** With a minute between them, longer than the timeout of a function that holds the days, and than a short outage. */
export const MAX_STALLED_RUNS = 20;
/** Short enough that 300 brands fit into the state of an execution (256 kB). */
const MAX_WHY_BYTES = 500;
/** Step Functions accepts at most 32,768 characters as the cause of an execution. */
const MAX_CAUSE_LENGTH = 30_000;

/**
 * Decides what follows a run. The runs of a brand always end: the continuation of the range reads no day twice, so days
 * and pages limit the progress, and the limit of stalled runs the rest.
 */
export function afterRun(before: BrandToRead, { status, reports }: SyncOutcome): BrandStep {
  if (status === 'complete') return { ...before, status };
  const unread = reports.flatMap(({ days }) => days.filter((day) => !wasRead(day)));
  const pages = unread.reduce((sum, day) => sum + day.pages, 0);
  const why = shortened(whyLeft(reports.filter((report) => report.status !== 'complete')));
  if (reports.some(madeProgress) || pages > before.pages)
    return { ...before, pages, stalled: 0, status: 'again', why };
  const stalled = before.stalled + 1;
  const needsOperator = reports.some(({ error }) => error?.kind === 'auth' || error?.kind === 'config');
  const ends = needsOperator || stalled >= MAX_STALLED_RUNS;
  return { ...before, stalled, status: ends ? 'failed' : 'wait', why };
}

/** The reports with their days that are left, then each error once. */
function whyLeft(reports: readonly ReportOutcome[]): string {
  const left = reports.map(({ report, status, days }) => {
    const names = days.flatMap((day) => (wasRead(day) ? [] : [day.dt])).sort();
    const range = names.length > 1 ? `${names[0]}..${names.at(-1)}` : names[0];
    return `${report} ${status}${range === undefined ? '' : `, ${names.length} left: ${range}`}`;
  });
  const errors = new Set(reports.flatMap(({ error }) => (error ? [error.message] : [])));
  return [left.join('; '), ...errors].join('. ');
}

/** The text as one line, with at most `MAX_WHY_BYTES` of JSON and an ellipsis. */
function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ');
  let length = Math.min(line.length, MAX_WHY_BYTES);
  while (Buffer.byteLength(JSON.stringify(line.slice(0, length))) > MAX_WHY_BYTES) length -= 1;
  return length < line.length ? `${line.slice(0, length).toWellFormed()}…` : line;
}

/** The result of an execution: every brand, and the failure to end with if a brand is not complete. */
export function conclude(brands: readonly BrandEnd[]): {
  brands: readonly BrandEnd[];
  failure?: ExecutionFailure;
} {
  const incomplete = brands.filter(({ status }) => status !== 'complete');
  if (incomplete.length === 0) return { brands };
  const head = `${incomplete.length} of ${brands.length} brands are not complete. Fix the causes, then start the backfill again with the same input:`;
  const lines = incomplete.map(({ brand, why }) => `${brand}: ${why}`);
  return { brands, failure: { error: 'BackfillIncomplete', cause: causeOf([head, ...lines]) } };
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
