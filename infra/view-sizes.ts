import { prestoView } from '../shared/adapters/aws/glue-tables.ts';
import { tableRoles, viewOver } from '../shared/catalog/view-roles.ts';
import type { Column } from '../shared/base/column-types.ts';
import { configError } from '../shared/base/errors.ts';
import { baseSchema } from '../shared/table/columns.ts';
import { type ReportDefinition, type ReportRegistry, allViews } from '../shared/reports/definition.ts';
import { ROLES, WELL_KNOWN } from '../shared/reports/roles.ts';
import type { Settings } from '../shared/settings/settings.ts';

/** The bytes that Glue accepts as the text of a view. */
const MAX_BYTES = 409_600;

/** In bytes, by name, if the records have every field of the settings; the records decide the columns after the deployment. */
export function viewSizes(reports: ReportRegistry, settings: Settings): Map<string, number> {
  const schemas = new Map(Object.values(reports).map((report) => [report.table, schemaOf(report, settings)]));
  const roles = tableRoles(Object.values(reports), settings);
  return new Map(
    allViews(reports).map((view) => {
      const { ViewOriginalText = '' } = prestoView(viewOver(view, schemas, roles), 'x'.repeat(38), '0.0.0');
      return [view.name, ViewOriginalText.length];
    }),
  );
}

function schemaOf({ name, columns }: ReportDefinition, { brands }: Settings) {
  const base = baseSchema(columns).columns;
  const set = Object.values(brands).flatMap(({ reports }) =>
    Object.values(reports[name]?.fields ?? {}).flatMap((field) => field ?? []),
  );
  const usual = ROLES.flatMap((role) => WELL_KNOWN[role].slice(0, 1));
  const known = new Set(base.map((column) => column.name));
  const fields = [...new Set([...set.map((field) => field.split('.')[0] ?? field), ...usual])];
  const discovered = fields.filter((field) => !known.has(field));
  const own = discovered.map((field): Column => ({ name: field, type: 'decimal(38,9)', field }));
  return { columns: [...base, ...own], keys: [own[0]?.name ?? ''] };
}

/** @throws BrandReportsError `config` `view_too_large` if Glue would refuse a view */
export function assertViewsFit(reports: ReportRegistry, settings: Settings): void {
  for (const [name, bytes] of viewSizes(reports, settings)) {
    if (bytes <= MAX_BYTES) continue;
    throw configError(
      'view_too_large',
      `The view ${name} would have ${bytes} bytes; Glue accepts ${MAX_BYTES}. Brands with the same fields, kinds and states share one part of the view. Give brands the same, or deploy some of the brands as a second stack.`,
    );
  }
}
