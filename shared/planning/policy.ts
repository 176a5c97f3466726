import { hash } from 'node:crypto';
import type { ReportDefinition } from '../reports/definition.ts';
import type { BrandSettings, ReportSettings, Settings } from '../settings/settings.ts';
import { maxGapMs } from '../settings/schedule.ts';
import { queryFingerprint } from './day-queries.ts';
import type { Policy } from './due.ts';

/** When a report's days are due by the settings. */
export function policyOf(report: ReportDefinition, brand: BrandSettings, settings: ReportSettings): Policy {
  return {
    timeZone: brand.timeZone,
    startDate: brand.startDate,
    lateMinutes: brand.lateMinutes,
    refresh: settings.refresh,
    queryFingerprint: queryFingerprint(report, brand, settings),
    pagesAreSnapshot: report.pagesAreSnapshot,
    maxGapMs: maxGapMs(settings.schedule),
  };
}

/** The same of a report that is enabled; `undefined` where it is not, or the brand is unknown. */
export function enabledPolicy(
  settings: Settings | undefined,
  brandName: string,
  report: ReportDefinition,
): Policy | undefined {
  const brand = settings?.brands[brandName];
  const reportSettings = brand?.reports[report.name];
  return brand && reportSettings?.enabled ? policyOf(report, brand, reportSettings) : undefined;
}

/** Fingerprint of all that due times follow from, which the schedule is not. */
export function policyFingerprint({ maxGapMs: _maxGapMs, ...policy }: Policy): string {
  return hash('sha256', JSON.stringify(policy), 'hex').slice(0, 16);
}
