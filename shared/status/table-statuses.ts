import { type MonthSpan, addMonths, monthOf } from '../days.ts';
import type { ReportLedgers } from '../lake/documents/read.ts';
import type { MonthIndex } from '../lake/documents/month-index.ts';
import { enabledPolicy } from '../planning/policy.ts';
import type { ReportDefinition, ReportRegistry } from '../reports/definition.ts';
import type { Settings } from '../settings/settings.ts';
import { type Expected, type StatusDay, gracePeriodMs, statusDays } from './day-status.ts';

export interface TableStatus {
  brand: string;
  report: string;
  table: string;
  /** False where the service never returned a record: its empty answers prove nothing. */
  hasReturnedRecords: boolean;
  newestComplete: string | null;
  rows: number;
  days: StatusDay[];
  /** Of a span: the months before it with days that should have been read by now, as far as the index knows. */
  lateBefore?: string[];
}

/**
 * Of each brand the reports that are enabled, and whatever else is in the lake.
 * @param span only the days of these months, which `lake` has the ledgers of
 */
export function tableStatuses(
  settings: Settings,
  reports: ReportRegistry,
  lake: readonly ReportLedgers[],
  nowMs: number,
  span: MonthSpan = {},
): TableStatus[] {
  const brands = [...new Set([...Object.keys(settings.brands), ...lake.map(({ brand }) => brand)])];
  return brands.flatMap((brand) =>
    Object.values(reports).flatMap((report) => {
      const find = (name: string) => lake.find((of) => of.brand === brand && of.report.name === name);
      const of = find(report.name);
      const expected = expectedOf(settings, brand, report);
      if (!of && !expected) return [];
      const parent = report.day.by === 'upstream' ? find(report.day.report) : undefined;
      const days = statusDays(of, expected, nowMs, parent, span);
      const isComplete = ({ status }: StatusDay) => status === 'complete' || status === 'settled';
      return {
        brand,
        report: report.name,
        table: report.table,
        hasReturnedRecords: of?.index.hasReturnedRecords ?? false,
        newestComplete: days.findLast(isComplete)?.dt ?? null,
        rows: days.reduce((sum, { rows }) => sum + (rows ?? 0), 0),
        days,
        ...(span.from !== undefined &&
          expected && { lateBefore: lateMonths(of?.index, expected, span.from, nowMs) }),
      };
    }),
  );
}

function expectedOf(settings: Settings, brand: string, report: ReportDefinition): Expected | undefined {
  const policy = enabledPolicy(settings, brand, report);
  const { schedule = report.schedule } = settings.brands[brand]?.reports[report.name] ?? {};
  return policy && { policy, schedule };
}

/** The months from the first day to before `to` that the index does not know, or knows to have been due long ago. */
function lateMonths(
  index: MonthIndex | undefined,
  { policy, schedule }: Expected,
  to: string,
  nowMs: number,
): string[] {
  const lateMs = nowMs - gracePeriodMs(schedule);
  const late: string[] = [];
  for (let month = monthOf(policy.startDate); month < to; month = addMonths(month, 1)) {
    const known = index?.months[month];
    const isLate = !known || (known.nextDue !== null && Date.parse(known.nextDue) < lateMs);
    if (isLate) late.push(month);
  }
  return late;
}
