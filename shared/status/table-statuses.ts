import { type MonthSpan, addMonths, dayOf, daysFrom, isInSpan, monthOf } from '../days.ts';
import { type RoleGap, roleGaps } from '../lake/documents/role-evidence.ts';
import type { DamagedDocument, ReportLedgers } from '../lake/documents/read.ts';
import type { ReportState } from '../lake/documents/report-state.ts';
import { type DayFacts, damagedDay, dayFacts, reportDaysIn } from '../day-facts.ts';
import { gracePeriodMs, isComplete, isExpected } from '../planning/day-state.ts';
import type { Policy } from '../planning/due.ts';
import { enabledPolicy } from '../planning/policy.ts';
import { type SchemaChange, newSchemaChanges } from '../planning/schema-changes.ts';
import type { ReportDefinition, ReportRegistry } from '../reports/definition.ts';
import type { Settings } from '../settings/settings.ts';

/** One report of one brand, as `status` and the calendar show it. */
export interface TableStatus {
  brand: string;
  report: string;
  table: string;
  /** False where the service has never returned a record: empty responses prove nothing. */
  hasReturnedRecords: boolean;
  newestComplete: string | null;
  rows: number;
  /** The column that `sum` of each day is about; missing where the report has none. */
  measure?: string;
  days: DayFacts[];
  /** The fields that came, went or changed on the days of the last two weeks; missing for none. */
  schemaChanges?: readonly SchemaChange[];
  /** The roles without a field, so that columns of views are NULL; missing for none. */
  roleGaps?: readonly RoleGap[];
  /** Of a span: the months before it with days that are overdue or missing, as far as the report state knows. */
  overdueBefore?: string[];
  /** Ledgers and the report state, if they cannot be used: the days of such a month are `failed`. */
  damaged?: readonly DamagedDocument[];
}

/**
 * The enabled reports of each brand, and whatever else is in the lake.
 * @param span only the days of these months, whose ledgers `lake` holds
 */
export function tableStatuses(
  settings: Settings,
  reports: ReportRegistry,
  lake: readonly ReportLedgers[],
  nowMs: number,
  span: MonthSpan = {},
): TableStatus[] {
  const brands = new Set([...Object.keys(settings.brands), ...lake.map(({ brand }) => brand)]);
  return [...brands].flatMap((brand) =>
    Object.values(reports).flatMap((report) => {
      const policy = enabledPolicy(settings, brand, report);
      const own = lake.find((each) => each.brand === brand && each.report.name === report.name);
      if (!policy && !own) return [];
      const gaps = own ? roleGaps(own, reports, policy?.fields) : [];
      const status = tableStatus({ brand, report, policy }, own, lake, nowMs, span);
      return gaps.length > 0 ? { ...status, roleGaps: gaps } : status;
    }),
  );
}

function tableStatus(
  of: { brand: string; report: ReportDefinition; policy: Policy | undefined },
  own: ReportLedgers | undefined,
  lake: readonly ReportLedgers[],
  nowMs: number,
  span: MonthSpan,
): TableStatus {
  const { brand, report, policy } = of;
  const { measure } = report;
  const entries = own ? [...own.ledgers.values()].flatMap((ledger) => Object.entries(ledger.days)) : [];
  const damaged = own?.damaged ?? [];
  const today = dayOf(nowMs, policy?.timeZone ?? 'UTC');
  const schemaChanges = newSchemaChanges(entries, today);
  const known = reportDaysIn(lake, of);
  const expected = policy ? daysFrom(policy.startDate, today) : [];
  const stored = entries.flatMap(([day, entry]) => (isExpected({ day, entry, policy }, nowMs) ? [day] : []));
  const days = [...new Set([...stored, ...expected])]
    .filter((day) => isInSpan(monthOf(day), span))
    .sort()
    .map((day) => {
      const damage = damaged.find(({ month }) => month === monthOf(day));
      return damage ? damagedDay(day, damage.message) : dayFacts(day, known, nowMs);
    });
  return {
    brand,
    report: report.name,
    table: report.table,
    hasReturnedRecords: known.hasReturnedRecords,
    newestComplete: days.findLast(({ committedState }) => isComplete(committedState))?.dt ?? null,
    rows: days.reduce((sum, { rows }) => sum + (rows ?? 0), 0),
    ...(measure !== undefined && { measure }),
    days,
    ...(schemaChanges.length > 0 && { schemaChanges }),
    ...(span.from !== undefined &&
      damaged.every(({ month }) => month !== undefined) &&
      policy && { overdueBefore: overdueMonths(own?.state, policy, span.from, nowMs) }),
    ...(damaged.length > 0 && { damaged }),
  };
}

/** The months from the first day to before `to` that the report state does not know, or that are overdue by it. */
function overdueMonths(state: ReportState | undefined, policy: Policy, to: string, nowMs: number): string[] {
  const months: string[] = [];
  for (let month = monthOf(policy.startDate); month < to; month = addMonths(month, 1)) months.push(month);
  return months.filter((month) => {
    const known = state?.months[month];
    if (!known) return true;
    return known.nextDue !== null && nowMs >= Date.parse(known.nextDue) + gracePeriodMs(policy);
  });
}
