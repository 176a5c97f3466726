import {
  type ReportOutcome,
  type Status,
  type SyncOutcome,
  madeProgress,
  syncOutcome,
  wasRead,
} from '../shared/base/outcome.ts';

interface ReadReport {
  status: Status;
  read: { days: number; from?: string; to?: string; rows: number };
  left: { days: number; from?: string; to?: string };
  error?: ReportOutcome['error'];
}

/** Where each brand stands. Days are left out: Lambda limits a result to 6 MB, and a new brand has years of days. */
export interface SyncResult {
  status: Status;
  /** `again` at once: days are left; `later`: nothing could be read now; a `person` has to correct settings or credentials. */
  next: 'nothing' | 'again' | 'later' | 'person';
  brands: { brand: string; status: Status; reports: Record<string, ReadReport> }[];
}

export function syncResult({ status, reports }: SyncOutcome): SyncResult {
  const byBrand = Map.groupBy(reports, ({ brand }) => brand);
  return {
    status,
    next: nextOf({ status, reports }),
    brands: [...byBrand].map(([brand, own]) => ({
      brand,
      status: syncOutcome(own).status,
      reports: Object.fromEntries(own.map((report) => [report.report, readReport(report)])),
    })),
  };
}

function nextOf({ status, reports }: SyncOutcome): SyncResult['next'] {
  if (status === 'complete') return 'nothing';
  // A run that staged pages of a day without its last page has come further too.
  const staged = reports.some(({ days }) => days.some((day) => !wasRead(day) && day.pages > 0));
  if (reports.some(madeProgress) || staged) return 'again';
  const needsPerson = reports.some(({ error }) => error?.kind === 'auth' || error?.kind === 'config');
  return needsPerson ? 'person' : 'later';
}

function readReport({ status, days, error }: ReportOutcome): ReadReport {
  const read = days.filter(wasRead);
  const left = days.filter((day) => !wasRead(day));
  return {
    status,
    read: { ...span(read), rows: read.reduce((sum, { rows }) => sum + rows, 0) },
    left: span(left),
    ...(error && { error }),
  };
}

function span(days: ReportOutcome['days']): ReadReport['left'] {
  const [from, ...others] = days.map(({ dt }) => dt).sort();
  return { days: days.length, ...(from !== undefined && { from, to: others.at(-1) ?? from }) };
}
