import type { BrandReportsError, ErrorKind } from './errors.ts';

export type Status = 'complete' | 'incomplete' | 'failed' | 'busy';

export interface DayOutcome {
  dt: string;
  /** `pending`: due, and left to the next run. `busy`: another run holds it. */
  outcome: 'published' | 'unchanged' | 'pending' | 'busy' | 'failed';
  rows: number;
  pages: number;
}

export interface ErrorSummary {
  kind: ErrorKind;
  code: string;
  message: string;
}

/** What went to the service: attempts at requests, those that repeated a failed one, answers that were HTTP 429. */
export interface Traffic {
  requests: number;
  retries: number;
  throttles: number;
}

export interface ReportOutcome extends Traffic {
  brand: string;
  report: string;
  status: Status;
  days: DayOutcome[];
  /** The newest closed day that is published, `YYYY-MM-DD`; `null` where there is none. */
  newestComplete: string | null;
  error?: ErrorSummary;
}

/** The one document that a sync answers with, on the command line and from the Lambda handler. */
export interface SyncOutcome {
  status: Status;
  reports: ReportOutcome[];
}

export function errorSummary({ kind, code, message }: BrandReportsError): ErrorSummary {
  return { kind, code, message };
}

/** `busy` only where every due day is held by another run; anything left undone otherwise is `incomplete`. */
export function reportStatus(days: readonly DayOutcome[], error?: ErrorSummary): Status {
  const outcomes = days.map(({ outcome }) => outcome);
  if (error || outcomes.includes('failed')) return 'failed';
  if (outcomes.length > 0 && outcomes.every((outcome) => outcome === 'busy')) return 'busy';
  return outcomes.includes('pending') || outcomes.includes('busy') ? 'incomplete' : 'complete';
}

/** Whether something is left that a later run of the same kind is to read. */
export function isUnfinished({ status, days }: ReportOutcome): boolean {
  return status === 'incomplete' || days.some(({ outcome }) => outcome === 'pending' || outcome === 'busy');
}

export function syncOutcome(reports: ReportOutcome[]): SyncOutcome {
  const has = (status: Status) => reports.some((report) => report.status === status);
  if (has('failed')) return { status: 'failed', reports };
  // A report that was stopped before its plan has no days that tell.
  return {
    status: has('incomplete') ? 'incomplete' : reportStatus(reports.flatMap(({ days }) => days)),
    reports,
  };
}
