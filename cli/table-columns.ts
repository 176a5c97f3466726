/** Describes the columns of a report's table for people and programs: where each comes from, and which roles it has. */
import { type Column, type ColumnType, RESCUED, SYNCED_AT } from '../shared/column-types.ts';
import type { ReportLedgers } from '../shared/lake/documents/read.ts';
import { roleChoices } from '../shared/lake/documents/role-evidence.ts';
import { DAY_PARTITION_KEYS } from '../shared/lake/paths.ts';
import type { TableSchema } from '../shared/lake/table/columns.ts';
import type { ReportDefinition } from '../shared/reports/definition.ts';
import { columnOfField } from '../shared/roles/index.ts';
import type { Settings } from '../shared/settings/settings.ts';

export interface DescribedColumn {
  name: string;
  type: ColumnType;
  /** The documented meaning, or that the field was discovered. */
  description: string;
  /** The roles of its values, e.g. `commission`; `commission at value` for those at a path of its JSON. */
  roles: { role: string; brands: string[] }[];
}

const NOT_OF_RECORDS = new Map([
  [SYNCED_AT, 'When the reading began that brought the row, in UTC'],
  [RESCUED, 'JSON of the values that fit none of the columns of their fields'],
  ['brand', 'The brand'],
  ['dt', "The day in the brand's time zone, YYYY-MM-DD"],
]);

/** The columns in the order of the schema, then the partition columns. @param own what the lake has of the report, by brand */
export function describedColumns(
  report: ReportDefinition,
  { columns }: TableSchema,
  own: readonly ReportLedgers[],
  settings: Settings | undefined,
): DescribedColumn[] {
  const chosen = own.flatMap((of) =>
    roleChoices(of, settings?.brands[of.brand]?.reports[report.name]?.fields).flatMap(({ role, field }) => {
      const { column, path = [] } = (field !== undefined && columnOfField(columns, field)) || {};
      return [{ brand: of.brand, column, role: path.length === 0 ? role : `${role} at ${path.join('.')}` }];
    }),
  );
  const partitions: Column[] = DAY_PARTITION_KEYS.map((name) => ({ name, type: 'string' }));
  return [...columns, ...partitions].map((column) => {
    const documented = report.columns.find(({ field }) => field === column.field);
    const origin = documented
      ? `Documented: ${documented.meaning ?? report.description}`
      : `Discovered in the records as ${JSON.stringify(column.field)}, no document has its meaning`;
    const roles = Map.groupBy(
      chosen.filter((each) => each.column === column),
      ({ role }) => role,
    );
    return {
      ...{ name: column.name, type: column.type, description: NOT_OF_RECORDS.get(column.name) ?? origin },
      roles: [...roles].map(([role, same]) => ({ role, brands: same.map(({ brand }) => brand) })),
    };
  });
}
