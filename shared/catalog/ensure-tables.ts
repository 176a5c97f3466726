import type { Column } from '../column-types.ts';
import { rethrowBugs } from '../errors.ts';
import { errorSummary } from '../outcome.ts';
import type { TableShape } from '../ports.ts';
import type { BrandReport } from '../context/context.ts';
import { tableShape } from '../pipeline/publish.ts';
import { type ReportView, type View, viewsOf } from '../reports/definition.ts';

/** By table, the columns that it has. */
export type TableColumns = ReadonlyMap<string, readonly Column[]>;

/** Creates or extends the report's table until it has every column of the schema, including those that other runs append meanwhile. */
export async function ensureTable(
  context: Pick<BrandReport, 'report' | 'schema' | 'lake'>,
): Promise<TableShape> {
  let shape = await tableShape(context);
  for (let known = -1; known !== shape.columns.length; shape = await tableShape(context)) {
    known = shape.columns.length;
    await context.lake.catalog?.ensureTable(shape);
    await context.schema.refresh();
  }
  return shape;
}

/**
 * Ensures the table, and all views that read it, as far as their columns exist: whichever report comes last brings the
 * column that a view waits for. A failed view stops nothing: no record depends on it.
 */
export async function ensureTableAndViews(context: BrandReport): Promise<void> {
  const { report, reports, lake, schemaOf, log } = context;
  const tables = new Map([[report.table, (await ensureTable(context)).columns]]);
  for (const view of viewsOf(reports, report.table)) {
    try {
      for (const other of Object.values(reports)) {
        if (!Object.hasOwn(view.needs, other.table) || tables.has(other.table)) continue;
        // The deployment has created it: a run changes no table of another report.
        tables.set(other.table, (await schemaOf(other).cached()).columns);
      }
      if (missingColumns(view, tables).length === 0) await lake.catalog?.ensureView(viewOver(view, tables));
    } catch (thrown) {
      log({ event: 'view_failed', view: view.name, ...errorSummary(rethrowBugs(thrown)) });
    }
  }
}

/** What the view needs and is not there yet: `table`, or `table.column`. */
export function missingColumns({ needs }: ReportView, tables: TableColumns): string[] {
  return Object.entries(needs).flatMap(([table, columns]) =>
    tables.has(table)
      ? columns.filter((column) => !hasColumn(tables, table, column)).map((column) => `${table}.${column}`)
      : [table],
  );
}

/** The view over tables with these columns: one that it uses and its table does not have is NULL. */
export function viewOver({ needs: _needs, uses = {}, sql, ...view }: ReportView, tables: TableColumns): View {
  const used = Object.entries(uses).flatMap(([table, columns]) =>
    columns.map((column) => ({ table, column })),
  );
  return {
    ...view,
    sql: used.reduce(
      (text, { table, column }) =>
        text.replaceAll(`{${table}.${column}}`, hasColumn(tables, table, column) ? column : 'NULL'),
      sql,
    ),
  };
}

function hasColumn(tables: TableColumns, table: string, column: string): boolean {
  return tables.get(table)?.some(({ name }) => name === column) ?? false;
}
