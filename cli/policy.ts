import { askedFingerprint } from '../shared/pipeline/ask.ts';
import type { Policy } from '../shared/pipeline/plan.ts';
import type { ReportDefinition } from '../shared/reports/definition.ts';
import type { Settings } from '../shared/settings.ts';

/** When the report's days are due by these settings; `undefined` where they do not know the brand. */
export function policyOf(
  settings: Settings | undefined,
  brand: string,
  report: ReportDefinition,
): Policy | undefined {
  const brandSettings = settings?.brands[brand];
  const reportSettings = brandSettings?.reports[report.name];
  if (!brandSettings || !reportSettings) return undefined;
  return {
    timeZone: brandSettings.timeZone,
    startDate: brandSettings.startDate,
    lateMinutes: brandSettings.lateMinutes,
    refresh: reportSettings.refresh,
    asked: askedFingerprint(report, brandSettings, reportSettings),
    pagesAreSnapshot: report.pagesAreSnapshot,
  };
}
