import type { BrandReportsError, ErrorKind } from './errors.ts';

export const STATUSES = ['complete', 'incomplete', 'failed', 'busy'] as const;

export type Status = (typeof STATUSES)[number];

/** What this run did with a due day. The day's current state is its `DayState`. */
export interface DayOutcome {
  dt: string;
  /**
   * - `pending`: left to the next run
   * - `busy`: another run reads the day
   * - `unchanged`: read, and equal to the committed version
   * - `kept`: the version stays, because the service returned fewer records than can no longer change, or because its
   *   readings never agree
   * - `waiting`: not tried, because its backoff after a failure has not ended, or because a run with a later clock has
   *   read it
   */
  outcome: 'published' | 'unchanged' | 'kept' | 'pending' | 'busy' | 'waiting' | 'failed';
  rows: number;
  pages: number;
  /** Lookups that the service refused: the day has been published without them. */
  refusedLookups?: number;
}

/** An error as outcomes show it: without cause and context (I9). */
export interface ErrorSummary {
  kind: ErrorKind;
  code: string;
  message: string;
}

/** HTTP attempts, how many of them were retries, and how many responses were HTTP 429. */
export interface Traffic {
  requests: number;
  retries: number;
  throttles: number;
}

/** A report is also `busy`, with an error that names the holder, if another run of the brand may send requests and this one not. */
export interface ReportOutcome extends Traffic {
  brand: string;
  report: string;
  status: Status;
  days: DayOutcome[];
  error?: ErrorSummary;
}

/** The document of `sync --json`, and the Lambda handler's result. */
export interface SyncOutcome {
  status: Status;
  reports: ReportOutcome[];
}

export function errorSummary({ kind, code, message }: BrandReportsError): ErrorSummary {
  return { kind, code, message };
}

/** `busy` only if other runs read every due day. Other days that are left, or clocks that differ: `incomplete`. */
export function reportStatus(days: readonly DayOutcome[], error?: ErrorSummary): Status {
  const outcomes = days.map(({ outcome }) => outcome);
  if (error?.code === 'clocks_differ') return 'incomplete';
  if (error || outcomes.includes('failed')) return 'failed';
  if (outcomes.length > 0 && outcomes.every((outcome) => outcome === 'busy')) return 'busy';
  return outcomes.some(isLeft) || outcomes.includes('waiting') ? 'incomplete' : 'complete';
}

export function countFailedDays(days: readonly DayOutcome[]): number {
  return days.filter(({ outcome }) => outcome === 'failed').length;
}

export function runSummary({ days, status, ...outcome }: ReportOutcome) {
  const { requests, retries, throttles } = outcome;
  const sum = (count: 'rows' | 'pages') => days.reduce((total, day) => total + day[count], 0);
  return {
    ...{ status, rows: sum('rows'), pages: sum('pages'), failedDays: countFailedDays(days) },
    ...{ requests, retries, throttles },
  };
}

/** Whether days are left to a later run with the same scope. A report that was stopped before its plan has no days. */
export function isUnfinished({ status, days }: ReportOutcome): boolean {
  const isBeforePlan = days.length === 0 && (status === 'incomplete' || status === 'busy');
  return isBeforePlan || days.some(({ outcome }) => isLeft(outcome));
}

function isLeft(outcome: DayOutcome['outcome']): boolean {
  return outcome === 'pending' || outcome === 'busy';
}

export function wasRead({ outcome }: Pick<DayOutcome, 'outcome'>): boolean {
  return outcome === 'published' || outcome === 'unchanged' || outcome === 'kept';
}

export function madeProgress({ days }: ReportOutcome): boolean {
  return days.some(wasRead);
}

export function syncOutcome(reports: ReportOutcome[]): SyncOutcome {
  const has = (status: Status) => reports.some((report) => report.status === status);
  if (has('failed')) return { status: 'failed', reports };
  if (has('incomplete') || (has('busy') && reports.some(madeProgress)))
    return { status: 'incomplete', reports };
  return { status: has('busy') ? 'busy' : 'complete', reports };
}
