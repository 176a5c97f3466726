import { monthOf } from '../days.ts';
import type { MonthIndex } from '../lake/month-index.ts';
import { reports } from '../reports/index.ts';
import type { Settings } from '../settings.ts';
import { type StatusDay, patienceMsOf, statusDays } from './day-status.ts';
import type { ReportLedgers } from './ledgers.ts';
import { type MonthSpan, addMonths } from './months.ts';
import { policyOf } from './policy.ts';

export interface TableStatus {
  brand: string;
  report: string;
  table: string;
  /** False where the service never returned a record: its empty answers prove nothing. */
  proven: boolean;
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
  lake: readonly ReportLedgers[],
  nowMs: number,
  span: MonthSpan = {},
): TableStatus[] {
  const brands = [...new Set([...Object.keys(settings.brands), ...lake.map(({ brand }) => brand)])];
  return brands.flatMap((brand) =>
    Object.values(reports).flatMap((report) => {
      const find = (name: string) => lake.find((of) => of.brand === brand && of.report.name === name);
      const of = find(report.name);
      const configured = settings.brands[brand]?.reports[report.name];
      if (!of && !configured?.enabled) return [];
      const policy = configured?.enabled ? policyOf(settings, brand, report) : undefined;
      const parent = report.day.by === 'parent' ? find(report.day.report) : undefined;
      const days = statusDays(
        of,
        policy && configured && { policy, schedule: configured.schedule },
        nowMs,
        parent,
        span,
      );
      const isComplete = ({ status }: StatusDay) => status === 'complete' || status === 'settled';
      return {
        brand,
        report: report.name,
        table: report.table,
        proven: of?.index.proven ?? false,
        newestComplete: days.findLast(isComplete)?.dt ?? null,
        rows: days.reduce((sum, { rows }) => sum + (rows ?? 0), 0),
        days,
        ...(span.from !== undefined &&
          policy &&
          configured && {
            lateBefore: lateMonths(
              of?.index,
              policy.startDate,
              span.from,
              nowMs - patienceMsOf(configured.schedule),
            ),
          }),
      };
    }),
  );
}

/** The months from `startDate` to before `to` that the index does not know, or knows to have been due by then. */
function lateMonths(index: MonthIndex | undefined, startDate: string, to: string, lateMs: number): string[] {
  const late: string[] = [];
  for (let month = monthOf(startDate); month < to; month = addMonths(month, 1)) {
    const known = index?.months[month];
    const isLate = !known || (known.nextDue !== null && Date.parse(known.nextDue) < lateMs);
    if (isLate) late.push(month);
  }
  return late;
}
