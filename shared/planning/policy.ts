import { hash } from 'node:crypto';
import { type ReportDefinition, type States, comparedState } from '../reports/definition.ts';
import { intervalMs } from '../days.ts';
import type { BrandSettings, ReportSettings, Settings } from '../settings/settings.ts';
import { rateMs } from '../settings/schedule.ts';
import { queryFingerprint } from './day-queries.ts';
import type { Policy } from './due.ts';

/** The part of the settings that decides when a report's days are due. */
export function policyOf(
  report: ReportDefinition,
  brand: BrandSettings,
  settings: ReportSettings,
  { schedule }: Pick<Settings['deployment'], 'schedule'>,
): Policy {
  const everyMs = intervalMs(settings.every);
  return {
    timeZone: brand.timeZone,
    startDate: brand.startDate,
    lateMinutes: brand.lateMinutes,
    refresh: settings.refresh,
    ...(settings.states && { statesFingerprint: statesFingerprint(settings.states, settings.fields.state) }),
    fields: settings.fields,
    words: settings.states?.words ?? {},
    queryFingerprint: queryFingerprint(report, brand, settings),
    pagesAreSnapshot: report.pagesAreSnapshot,
    everyMs,
    maxGapMs: Math.max(everyMs, rateMs(schedule)),
  };
}

/** The policy of an enabled report; `undefined` if it is disabled or the settings do not have the brand. */
export function enabledPolicy(
  settings: Settings | undefined,
  brandName: string,
  report: ReportDefinition,
): Policy | undefined {
  const brand = settings?.brands[brandName];
  const reportSettings = brand?.reports[report.name];
  return settings && brand && reportSettings?.enabled
    ? policyOf(report, brand, reportSettings, settings.deployment)
    : undefined;
}

/** If rows were counted by other words or another field, their counts do not prove that they are final. */
function statesFingerprint({ words }: States, field: string | null | undefined): string {
  const mapped = Object.entries(words)
    .map(([word, state]) => `${comparedState(word)} ${state}`)
    .toSorted();
  const rules = JSON.stringify([field ?? null, mapped]);
  return hash('sha256', rules, 'hex').slice(0, 16);
}

/** Fingerprint of everything that due times depend on. Hints in the report state are valid only for the same policy. */
export function policyFingerprint({
  maxGapMs: _maxGapMs,
  fields: _fields,
  words: _words,
  ...policy
}: Policy): string {
  return hash('sha256', JSON.stringify(policy), 'hex').slice(0, 16);
}
