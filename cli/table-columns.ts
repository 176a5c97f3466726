import { type DescribedColumn, describedColumns } from '../shared/lake/documents/described-columns.ts';
import type { ReportLedgers } from '../shared/lake/documents/read.ts';
import { roleChoices } from '../shared/lake/documents/role-evidence.ts';
import type { StoredSchema } from '../shared/lake/documents/schema.ts';
import type { ReportDefinition } from '../shared/reports/definition.ts';
import type { Settings } from '../shared/settings/settings.ts';

/** The columns with their roles, by the settings and all committed days. @param own the ledgers of the report, by brand */
export function columnsWithRoles(
  report: ReportDefinition,
  schema: StoredSchema,
  own: readonly ReportLedgers[],
  settings: Settings | undefined,
): DescribedColumn[] {
  const chosen = own.flatMap((of) =>
    roleChoices(of, settings?.brands[of.brand]?.reports[report.name]?.fields).map((choice) => ({
      ...choice,
      brand: of.brand,
    })),
  );
  return describedColumns(report, schema, chosen);
}
