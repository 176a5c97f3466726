import {
  type NextStep,
  type MonthOutcome,
  type MonthRange,
  type MonthProgress,
  nextStep,
  daysWithoutUpstream,
  rowsIn,
  shortened,
} from './backfill-months.ts';
import { monthOf } from '../days.ts';
import { BrandReportsError, configError } from '../errors.ts';
import { undamaged } from '../lake/documents/cas-document.ts';
import type { Ledger } from '../lake/documents/ledger.ts';
import { readLedger } from '../lake/documents/read.ts';
import type { ReportDefinition } from '../reports/definition.ts';
import { type RunOptions, runSync } from '../run/run.ts';

/** One month of one report of one brand. */
export interface MonthToRead extends MonthRange {
  report: string;
  brand: string;
  /** When the execution was planned, ISO 8601; days that were read after that are not read again. */
  since: string;
}

export interface MonthStep extends Pick<NextStep, 'next' | 'waitSeconds' | 'progress'> {
  read: MonthToRead;
  outcome: MonthOutcome;
}

type StepOptions = Omit<RunOptions, 'scope'>;

/** Runs the report over the month until the function's time is up. */
export async function readMonth(
  options: StepOptions,
  read: MonthToRead,
  before: MonthProgress,
): Promise<MonthStep> {
  const { brand, from, to, since } = read;
  const report = options.reports[read.report];
  if (!report)
    throw configError(
      'unknown_report',
      `Unknown report "${read.report}"; allowed: ${Object.keys(options.reports).join(', ')}.`,
    );
  const scope = { brands: [brand], reports: [report.name], from, to, since };
  const { reports } = await runSync({ ...options, scope });
  const [outcomeOfRun] = reports;
  if (!outcomeOfRun)
    throw new BrandReportsError('bug', 'no_outcome', `the run has no outcome of ${report.name}`);
  const { next, waitSeconds, progress, status, why } = nextStep(before, outcomeOfRun);
  const ledger = await ledgerOf(options, report, read);
  const outcome = {
    from,
    to,
    status,
    rows: ledger ? rowsIn(read, ledger) : 0,
    left: progress.left,
    ...(why !== undefined && { why }),
    ...(status === 'complete' && (await withoutUpstream(options, report, read))),
  };
  return { read, next, waitSeconds, progress, outcome };
}

/** A complete run may have left out days, because a day that the upstream report has not read has no records to look up. */
async function withoutUpstream(
  options: StepOptions,
  { day }: ReportDefinition,
  read: MonthToRead,
): Promise<Partial<MonthOutcome>> {
  const upstream = day.by === 'upstream' ? options.reports[day.report] : undefined;
  if (!upstream) return {};
  const ledger = await ledgerOf(options, upstream, read);
  const missing = ledger ? daysWithoutUpstream(read, ledger) : [];
  if (missing.length === 0) return {};
  const why = `${upstream.name} has not been read yet for ${missing.length} days, the first of them ${missing[0]}: start a backfill of ${upstream.name} for this range, then this one again`;
  return { status: 'failed', left: missing.length, why: shortened(why) };
}

/** `undefined` if the ledger is damaged: the outcome of the run already contains that error. */
function ledgerOf(
  { lake }: StepOptions,
  report: ReportDefinition,
  read: MonthToRead,
): Promise<Ledger | undefined> {
  return undamaged(readLedger(lake.store, report, read.brand, monthOf(read.from)));
}
