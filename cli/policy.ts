import { policyOf as policyBy } from '../shared/pipeline/policy.ts';
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
  return brandSettings && reportSettings && policyBy(report, brandSettings, reportSettings);
}
