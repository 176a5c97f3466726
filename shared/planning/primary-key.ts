import type { ReportDefinition } from '../reports/definition.ts';
import type { ReportSettings } from '../settings/settings.ts';

/** The field that identifies a record of the report: the setting `key`, or the definition's primary key. */
export function primaryKeyField({
  report,
  settings,
}: {
  report: ReportDefinition;
  settings?: Pick<ReportSettings, 'key'> | undefined;
}): string | undefined {
  return settings?.key ?? report.primaryKey?.field;
}
