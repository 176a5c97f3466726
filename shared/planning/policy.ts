import { hash } from 'node:crypto';
import type { ReportDefinition } from '../reports/definition.ts';
import type { LakeBrandSettings, LakeSettings, ReportSettings, Settings } from '../settings/settings.ts';
import { intervalMs } from '../base/days.ts';
import { HOURLY, rateMs } from '../settings/deployment.ts';
import { queryFingerprint } from './day-queries.ts';
import type { Policy } from './due.ts';

export function policyOf(
  report: ReportDefinition,
  brand: LakeBrandSettings,
  settings: ReportSettings,
  /** Missing: a lake does not know the schedule of its stack. */
  { schedule }: Pick<Settings['deployment'], 'schedule'> = { schedule: HOURLY },
): Policy {
  const everyMs = intervalMs(settings.every);
  return {
    timeZone: brand.timeZone,
    startDate: settings.startDate,
    lateMinutes: brand.lateMinutes,
    refresh: settings.refresh,
    fields: settings.fields,
    ...(settings.states && { words: settings.states.words }),
    queryFingerprint: queryFingerprint(report, brand, settings),
    everyMs,
    maxGapMs: Math.max(everyMs, rateMs(schedule)),
  };
}

export function enabledPolicy(
  settings: LakeSettings | undefined,
  brandName: string,
  report: ReportDefinition,
): Policy | undefined {
  const brand = settings?.brands[brandName];
  const reportSettings = brand?.reports[report.name];
  return settings && brand && reportSettings?.enabled
    ? policyOf(report, brand, reportSettings, settings.deployment)
    : undefined;
}

/** Fingerprint of everything that due times depend on. Hints in the report state are valid only for the same policy. */
export function policyFingerprint({
  maxGapMs: _maxGapMs,
  fields: { state = null },
  ...policy
}: Policy): string {
  return hash('sha256', JSON.stringify({ ...policy, state }), 'hex').slice(0, 16);
}
