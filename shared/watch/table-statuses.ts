import { dayOf, daysFrom, daysOfMonth, monthOf } from '../base/days.ts';
import { type RoleGap, roleGaps } from '../lake/role-gaps.ts';
import type { NeedsMonth, ReportLedgers } from '../lake/read.ts';
import { damagedDay, dayFacts, reportDaysIn } from '../day/day-facts.ts';
import { isComplete, isExpected } from '../planning/day-state.ts';
import type { Policy } from '../planning/due.ts';
import { enabledPolicy } from '../planning/policy.ts';
import type { ReportDefinition, ReportRegistry } from '../reports/definition.ts';
import type { LakeSettings } from '../settings/settings.ts';
import { type JudgedTable, type Problem, problemsOf } from './problems.ts';

export interface TableStatus extends JudgedTable {
  /** `false` if the service has never returned a record: then empty responses prove nothing. */
  hasReturnedRecords: boolean;
  newestComplete: string | null;
  rows: number;
  /** The setting `every`; missing if the report is not enabled. */
  every?: string;
  /** The roles without a field, whose columns in views are NULL; missing if there are none. */
  roleGaps?: readonly RoleGap[];
  problems: readonly Problem[];
}

/** Without settings only the contents of the lake. @param isShown whether `lake` contains the ledger of a month; the days of others are left out */
export function tableStatuses(
  settings: LakeSettings | undefined,
  reports: ReportRegistry,
  lake: readonly ReportLedgers[],
  nowMs: number,
  isShown: NeedsMonth = () => true,
): TableStatus[] {
  const brands = new Set([...Object.keys(settings?.brands ?? {}), ...lake.map(({ brand }) => brand)]);
  return [...brands].flatMap((brand) =>
    Object.values(reports).flatMap((report) => {
      const policy = enabledPolicy(settings, brand, report);
      const own = lake.find((each) => each.brand === brand && each.report.name === report.name);
      if (!policy && !own) return [];
      const every = settings?.brands[brand]?.reports[report.name]?.every;
      const status = tableStatus({ brand, report, policy, reports }, own, lake, nowMs, isShown);
      return { ...status, ...(policy && every !== undefined && { every }) };
    }),
  );
}

function tableStatus(
  of: { brand: string; report: ReportDefinition; reports: ReportRegistry; policy: Policy | undefined },
  own: ReportLedgers | undefined,
  lake: readonly ReportLedgers[],
  nowMs: number,
  isShown: NeedsMonth,
): TableStatus {
  const { brand, report, policy } = of;
  const entries = own ? [...own.ledgers.values()].flatMap((ledger) => Object.entries(ledger.days)) : [];
  const damaged = own?.damaged ?? [];
  const today = dayOf(nowMs, policy?.timeZone ?? 'UTC');
  const known = reportDaysIn(lake, of);
  const expected = policy ? daysFrom(policy.startDate, today) : [];
  const stored = entries.flatMap(([day, entry]) => (isExpected({ day, entry, policy }, nowMs) ? [day] : []));
  // A damaged ledger may have had every day of its month.
  const lost = damaged.flatMap(({ month }) => (month === undefined ? [] : daysOfMonth(month)));
  const all = [...new Set([...stored, ...expected, ...lost.filter((day) => day <= today)])];
  const shown = new Set([...new Set(all.map(monthOf))].filter((month) => !own || isShown(month, own)));
  const days = all
    .filter((day) => shown.has(monthOf(day)))
    .sort()
    .map((day) => {
      const damage = damaged.find(({ month }) => month === monthOf(day));
      return damage ? damagedDay(day, damage.message) : dayFacts(day, known, nowMs);
    });
  const { lastRun } = own?.state ?? {};
  const gaps = own ? roleGaps(own, of.reports, policy?.fields) : [];
  const status = {
    brand,
    report: report.name,
    table: report.table,
    hasReturnedRecords: known.hasReturnedRecords,
    newestComplete: days.findLast(({ committedState }) => isComplete(committedState))?.dt ?? null,
    rows: days.reduce((sum, { rows }) => sum + (rows ?? 0), 0),
    days,
    ...(gaps.length > 0 && { roleGaps: gaps }),
    ...(lastRun && { lastRun }),
    ...(damaged.length > 0 && { damaged }),
  };
  return { ...status, problems: problemsOf(status, policy, nowMs) };
}
