import { policyOf as policyBy } from '../pipeline/policy.ts';
import type { Policy } from '../pipeline/plan.ts';
import type { ReportDefinition } from '../reports/definition.ts';
import type { Settings } from '../settings.ts';

/** When the report's days are due by these settings; `undefined` where the brand is unknown or does not have it enabled. */
export function policyOf(
  settings: Settings | undefined,
  brand: string,
  report: ReportDefinition,
): Policy | undefined {
  const brandSettings = settings?.brands[brand];
  const reportSettings = brandSettings?.reports[report.name];
  return brandSettings && reportSettings?.enabled
    ? policyBy(report, brandSettings, reportSettings)
    : undefined;
}
