import { hash } from 'node:crypto';
import type { ReportDefinition } from '../reports/definition.ts';
import type { LakeBrandSettings, LakeSettings, ReportSettings } from '../settings/settings.ts';
import { rateMs } from '../settings/schedule.ts';
import { queryFingerprint } from './day-queries.ts';
import type { Policy } from './due.ts';

/** The part of the settings that decides when a report's days are due. */
export function policyOf(
  report: ReportDefinition,
  brand: LakeBrandSettings,
  settings: ReportSettings,
): Policy {
  return {
    timeZone: brand.timeZone,
    startDate: settings.startDate,
    lateMinutes: brand.lateMinutes,
    refresh: settings.refresh,
    fields: settings.fields,
    ...(settings.states && { words: settings.states.words }),
    queryFingerprint: queryFingerprint(report, brand, settings),
    pagesAreSnapshot: report.pagesAreSnapshot,
    maxGapMs: rateMs(settings.schedule),
  };
}

/** The policy of an enabled report; `undefined` if it is disabled or the settings do not have the brand. */
export function enabledPolicy(
  settings: LakeSettings | undefined,
  brandName: string,
  report: ReportDefinition,
): Policy | undefined {
  const brand = settings?.brands[brandName];
  const reportSettings = brand?.reports[report.name];
  return brand && reportSettings?.enabled ? policyOf(report, brand, reportSettings) : undefined;
}

/** Fingerprint of everything that due times depend on. Hints in the report state are valid only for the same policy. */
export function policyFingerprint({
  maxGapMs: _maxGapMs,
  fields: { state = null },
  ...policy
}: Policy): string {
  return hash('sha256', JSON.stringify({ ...policy, state }), 'hex').slice(0, 16);
}
