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
import { BrandReportsError } from '../errors.ts';
import { readLedger } from '../lake/documents/read.ts';
import type { ReportOutcome } from '../outcome.ts';
import type { ReportDefinition } from '../reports/definition.ts';
import { type RunOptions, runSync } from '../run.ts';

/** One month of one report of one brand, and the share of the brand's rate that reads it. */
export interface MonthToRead extends MonthRange {
  report: string;
  brand: string;
  requestsPerSecond: number;
  /** When the execution was planned, ISO 8601: no round reads a day again that was read since. */
  since: string;
}

export interface MonthStep extends Pick<NextStep, 'next' | 'waitSeconds' | 'progress'> {
  read: MonthToRead;
  outcome: MonthOutcome;
}

type StepOptions = Omit<RunOptions, 'scope'>;

/** Reads on in the month for as long as the run has time. @returns also what the run told of the report */
export async function readMonth(
  options: StepOptions,
  read: MonthToRead,
  before: MonthProgress,
): Promise<{ answer: MonthStep; reports: ReportOutcome[] }> {
  const { brand, from, to, since, requestsPerSecond } = read;
  const report = options.reports[read.report];
  if (!report) throw new BrandReportsError('config', 'unknown_report', `there is no report "${read.report}"`);
  const scope = { brands: [brand], reports: [report.name], from, to, since, requestsPerSecond };
  const { reports } = await runSync({ ...options, scope });
  const [told] = reports;
  if (!told) throw new BrandReportsError('bug', 'no_outcome', `the run told nothing of ${report.name}`);
  const { next, waitSeconds, progress, status, why } = nextStep(before, told);
  const outcome = {
    from,
    to,
    status,
    rows: rowsIn(read, await ledgerOf(options, report, read)),
    left: progress.left,
    ...(why !== undefined && { why }),
    ...(status === 'complete' && (await withoutUpstream(options, report, read))),
  };
  return { answer: { read, next, waitSeconds, progress: progress, outcome }, reports };
}

/** A report about another report's records has nothing to read on days that the other one has not read. */
async function withoutUpstream(
  options: StepOptions,
  { day }: ReportDefinition,
  read: MonthToRead,
): Promise<Partial<MonthOutcome>> {
  const parent = day.by === 'upstream' ? options.reports[day.report] : undefined;
  if (!parent) return {};
  const missing = daysWithoutUpstream(read, await ledgerOf(options, parent, read));
  if (missing.length === 0) return {};
  const why = `nothing of ${parent.name} is there yet for ${missing.length} days, the first of them ${missing[0]}: start a backfill of ${parent.name} for this range, then this one again`;
  return { status: 'failed', left: missing.length, why: shortened(why) };
}

function ledgerOf({ lake }: StepOptions, report: ReportDefinition, read: MonthToRead) {
  return readLedger(lake.store, report, read.brand, monthOf(read.from));
}
