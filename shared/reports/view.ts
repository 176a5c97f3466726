import type { ColumnType } from '../base/column-types.ts';

/** A view as a catalog stores it: `sql` runs on both DuckDB and Athena. */
export interface View {
  name: string;
  description: string;
  columns: readonly (readonly [name: string, type: ColumnType, description: string])[];
  sql: string;
}

/**
 * A view over tables and other views. In the SQL of base views, `{table.commission}` is the value of that role
 * (`catalog/view-roles.ts`), and `{table.commission?}` is whether the role has a field. All other views read the columns of
 * base views.
 */
export interface ReportView extends View {
  /** The tables and views that its SQL reads. */
  tables: readonly string[];
}

/** `{orders.commission}`, or `{orders.commission?}` */
export const NAME_IN_SQL = /\{(\w+)\.(\w+)\??\}/g;

/** Whether people have no need of the view: it makes roles columns, for other views. */
export function isBaseView({ sql }: ReportView): boolean {
  return sql.search(NAME_IN_SQL) >= 0;
}

/** The roles that a view uses, by table, also by way of columns of base views. */
export function rolesUsedBy(all: readonly ReportView[], view: ReportView): { table: string; name: string }[] {
  const read = withReadViews(all, [view]);
  const rolesOf = ({ sql }: ReportView) =>
    [...sql.matchAll(NAME_IN_SQL)].map(([, table = '', name = '']) => ({ table, name }));
  const own = rolesOf(view);
  if (own.length > 0) return own;
  const texts = read.filter((each) => rolesOf(each).length === 0).map(({ sql }) => sql);
  const words = new Set(texts.flatMap((sql) => sql.match(/\w+/g) ?? []));
  const isUsed = (name: string) =>
    words.has(name) || (FROM_ROLES[name] ?? []).some((column) => words.has(column));
  return read.flatMap(rolesOf).filter(({ name }) => isUsed(name));
}

/** Columns of base views that come from a role of another name. */
const FROM_ROLES: Readonly<Record<string, readonly string[]>> = {
  state: ['counted', 'order_state'],
  line_state: ['counted', 'state'],
  commission: ['counted'],
  kind: ['type'],
};

/** These views and all views that they read, each after the views that it reads. */
export function withReadViews(all: readonly ReportView[], views: readonly ReportView[]): ReportView[] {
  const found = new Set<ReportView>();
  const add = (view: ReportView) => {
    for (const table of view.tables) for (const read of all) if (read.name === table) add(read);
    found.add(view);
  };
  for (const view of views) add(view);
  return [...found];
}

/** The tables that are no views which the view reads, also by way of the views that it reads. */
export function tablesReadBy(all: readonly ReportView[], view: ReportView): string[] {
  const views = withReadViews(all, [view]);
  const names = views.map(({ name }) => name);
  return [...new Set(views.flatMap(({ tables }) => tables))].filter((table) => !names.includes(table));
}

/** `orders_before`: the table of what records were before they changed. */
export function beforeTable(table: string): string {
  return `${table}_before`;
}
