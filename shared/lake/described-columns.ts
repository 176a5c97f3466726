/** Glue, dbt and assistants show these descriptions of columns. */
import {
  DAY_PARTITION_KEYS,
  type Column,
  type ColumnType,
  RESCUED,
  SYNCED_AT,
} from '../base/column-types.ts';
import type { TableColumn, TableShape } from '../ports.ts';
import type { ReportDefinition } from '../reports/definition.ts';
import { columnOfField, fieldsIn } from '../reports/roles.ts';
import type { BrandRoles } from './brand-settings.ts';
import type { StoredSchema } from './schema.ts';

type KnownColumns = { columns: readonly Column[] } & Pick<StoredSchema, 'firstSeen'>;

export interface DescribedColumn {
  name: string;
  type: ColumnType;
  /** The documented meaning, or when the field was discovered. */
  description: string;
  /** The roles of its values, e.g. `commission`; `commission at value` for the values at a path of its JSON. */
  roles: { role: string; brands: string[] }[];
}

export interface ChosenField {
  brand: string;
  role: string;
  field: string;
}

const NOT_OF_RECORDS = new Map([
  [SYNCED_AT, 'When the reading that found the row began, in UTC'],
  [RESCUED, 'JSON object of the values that fit no column of their field'],
  ['brand', 'The brand'],
  ['dt', "The day in the brand's time zone, YYYY-MM-DD"],
  ['report', 'The report, e.g. order_list'],
  ['month', 'The month of the day, YYYY-MM'],
  ['close', 'The closed month, YYYY-MM'],
]);

export function textOfDerived(name: string): string | undefined {
  return NOT_OF_RECORDS.get(name);
}

export function describedColumns(
  report: Pick<ReportDefinition, 'columns' | 'description'>,
  { columns, firstSeen = {} }: KnownColumns,
  fields: readonly ChosenField[] = [],
): DescribedColumn[] {
  const chosen = fields.flatMap(({ brand, role, field }) => {
    const { column, path = [] } = columnOfField(columns, field) ?? {};
    return [{ brand, column, role: path.length === 0 ? role : `${role} at ${path.join('.')}` }];
  });
  const partitions: Column[] = DAY_PARTITION_KEYS.map((name) => ({ name, type: 'string' }));
  return [...columns, ...partitions].map((column) => {
    const { name, type, field } = column;
    const documented = report.columns.find((each) => each.field === field);
    const day = Object.hasOwn(firstSeen, name) ? ` of ${firstSeen[name]?.day}` : '';
    const origin = documented
      ? `Documented: ${documented.meaning ?? report.description}`
      : `Discovered in the records${day} as ${JSON.stringify(field)}; the interface does not document it`;
    const roles = Map.groupBy(
      chosen.filter((each) => each.column === column),
      ({ role }) => role,
    );
    return {
      ...{ name, type, description: textOfDerived(name) ?? origin },
      roles: [...roles].map(([role, same]) => ({ role, brands: same.map(({ brand }) => brand) })),
    };
  });
}

/** The columns of a table that all brands share; such columns have no roles. */
export function columnsOfShape({ columns, partitionKeys }: TableShape): DescribedColumn[] {
  const partitions = partitionKeys.map((name): TableColumn => ({ name, type: 'string' }));
  return [...columns, ...partitions].map(({ name, type, description }) => ({
    ...{ name, type, description: description ?? textOfDerived(name) ?? '', roles: [] },
  }));
}

export function tableColumns(
  report: Pick<ReportDefinition, 'columns' | 'description'>,
  schema: KnownColumns,
  fields?: readonly ChosenField[],
): TableColumn[] {
  const texts = describedColumns(report, schema, fields).map(columnText);
  return schema.columns.map((column, place) => ({ ...column, description: texts[place] ?? '' }));
}

/** The fields of roles by the settings that the lake stores, so that every run describes the columns alike. */
export function chosenFields(
  columns: readonly Column[],
  brands: Readonly<Record<string, BrandRoles>>,
): ChosenField[] {
  return Object.entries(brands).flatMap(([brand, own]) =>
    Object.entries(fieldsIn(columns, own.fields)).flatMap(([role, names]) =>
      names.map((field) => ({ brand, role, field })),
    ),
  );
}

export function columnsOf(
  rows: readonly (readonly [name: string, type: ColumnType, description: string])[],
): TableColumn[] {
  return rows.map(([name, type, description]) => ({ name, type, description }));
}

/** The description with the roles: `Documented: the publisher; role publisher_id of acme` */
export function columnText({ description, roles }: DescribedColumn): string {
  return description + roles.map(({ role, brands }) => `; role ${role} of ${brands.join(', ')}`).join('');
}
