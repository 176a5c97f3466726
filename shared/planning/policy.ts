import { hash } from 'node:crypto';
import { type ReportDefinition, type States, comparedState } from '../reports/definition.ts';
import type { BrandSettings, ReportSettings, Settings } from '../settings/settings.ts';
import { maxGapMs } from '../settings/schedule.ts';
import { queryFingerprint } from './day-queries.ts';
import type { Policy } from './due.ts';

/** What the settings say about when a report's days are due. */
export function policyOf(report: ReportDefinition, brand: BrandSettings, settings: ReportSettings): Policy {
  return {
    timeZone: brand.timeZone,
    startDate: brand.startDate,
    lateMinutes: brand.lateMinutes,
    refresh: settings.refresh,
    ...(settings.states && { statesFingerprint: statesFingerprint(settings.states) }),
    watchUnsettledDays: settings.watchUnsettledDays,
    queryFingerprint: queryFingerprint(report, brand, settings),
    pagesAreSnapshot: report.pagesAreSnapshot,
    maxGapMs: maxGapMs(settings.schedule),
    fallPercent: settings.reportFallPercent,
  };
}

/** The policy of an enabled report; `undefined` where it is disabled or the settings do not have the brand. */
export function enabledPolicy(
  settings: Settings | undefined,
  brandName: string,
  report: ReportDefinition,
): Policy | undefined {
  const brand = settings?.brands[brandName];
  const reportSettings = brand?.reports[report.name];
  return brand && reportSettings?.enabled ? policyOf(report, brand, reportSettings) : undefined;
}

/** Rows that were counted by other states are not known to be final. */
function statesFingerprint({ column, final }: States): string {
  return hash('sha256', JSON.stringify([column, final.map(comparedState).toSorted()]), 'hex').slice(0, 16);
}

/** Fingerprint of everything that due times depend on: the hints of the report state are valid for one policy only. */
export function policyFingerprint({
  maxGapMs: _maxGapMs,
  fallPercent: _fallPercent,
  ...policy
}: Policy): string {
  return hash('sha256', JSON.stringify(policy), 'hex').slice(0, 16);
}
