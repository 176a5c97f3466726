import { type MonthSpan, addMonths, dayOf, monthOf } from '../days.ts';
import type { DamagedDocument, ReportLedgers } from '../lake/documents/read.ts';
import type { ReportState } from '../lake/documents/report-state.ts';
import { gracePeriodMs, newestCompleteDay } from '../planning/day-state.ts';
import type { Policy } from '../planning/due.ts';
import { enabledPolicy } from '../planning/policy.ts';
import { type SchemaChange, newSchemaChanges } from '../planning/schema-changes.ts';
import type { ReportDefinition, ReportRegistry } from '../reports/definition.ts';
import type { Settings } from '../settings/settings.ts';
import { type DayEntries, type StatusDay, statusDays } from './day-status.ts';

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
  days: StatusDay[];
  /** The fields that came, went or changed on the days of the last two weeks; missing for none. */
  schemaChanges?: readonly SchemaChange[];
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
  return [...brands].flatMap((brand) => {
    const stored = new Map(
      lake.filter((stored) => stored.brand === brand).map((ledgers) => [ledgers.report.name, ledgers]),
    );
    return Object.values(reports).flatMap((report) => {
      const policy = enabledPolicy(settings, brand, report);
      if (!policy && !stored.has(report.name)) return [];
      return tableStatus({ brand, report, policy, stored }, nowMs, span);
    });
  });
}

interface StoredReport {
  brand: string;
  report: ReportDefinition;
  policy: Policy | undefined;
  /** What the lake has of the brand, by report. */
  stored: ReadonlyMap<string, ReportLedgers>;
}

function tableStatus(
  { brand, report, policy, stored }: StoredReport,
  nowMs: number,
  span: MonthSpan,
): TableStatus {
  const own = stored.get(report.name);
  const entries = entriesOf(own);
  const upstream = report.day.by === 'upstream' ? entriesOf(stored.get(report.day.report)) : undefined;
  const hasReturnedRecords = own?.state.hasReturnedRecords ?? false;
  const damaged = own?.damaged ?? [];
  const damagedMonths = new Map(
    damaged.flatMap(({ month, message }) => (month === undefined ? [] : [[month, message]])),
  );
  const { measure } = report;
  const schemaChanges = newSchemaChanges(entries, dayOf(nowMs, policy?.timeZone ?? 'UTC'));
  const days = statusDays(
    { report, entries, upstream, policy, hasReturnedRecords, damagedMonths },
    nowMs,
    span,
  );
  return {
    brand,
    report: report.name,
    table: report.table,
    hasReturnedRecords,
    newestComplete: newestCompleteDay(entries, hasReturnedRecords),
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

function entriesOf(stored: ReportLedgers | undefined): DayEntries {
  return new Map([...(stored?.ledgers.values() ?? [])].flatMap(({ days }) => Object.entries(days)));
}

/** The months before `to` that the report state does not know, or that are overdue by it. */
function overdueMonths(state: ReportState | undefined, policy: Policy, to: string, nowMs: number): string[] {
  const months: string[] = [];
  for (let month = monthOf(policy.startDate); month < to; month = addMonths(month, 1)) months.push(month);
  return months.filter((month) => {
    const known = state?.months[month];
    if (!known) return true;
    return known.nextDue !== null && nowMs >= Date.parse(known.nextDue) + gracePeriodMs(policy);
  });
}
