import { rethrowBugs } from '../errors.ts';
import { errorSummary } from '../outcome.ts';
import type { TableShape } from '../ports.ts';
import type { BrandReport } from '../context/context.ts';
import { chosenFields, tableColumns } from '../lake/documents/described-columns.ts';
import { beforeShape } from '../history/index.ts';
import { tableShape } from '../pipeline/publish.ts';
import { dayTables, viewsOf } from '../reports/definition.ts';
import { tableRoles, viewOver } from './view-roles.ts';

async function described(
  { report, schema, stored }: Pick<BrandReport, 'report' | 'schema' | 'stored'>,
  shape: TableShape,
): Promise<TableShape> {
  const known = await schema.cached();
  const roles = tableRoles([report], await stored.all()).get(report.table);
  const chosen = chosenFields(known.columns, roles ?? {});
  return { ...shape, columns: tableColumns(report, known, chosen) };
}

/**
 * Creates or extends the report's table until it has every column of the schema, including columns that other runs
 * append meanwhile. Does the same for the table of what its records were before.
 */
export async function ensureTable(
  context: Pick<BrandReport, 'report' | 'schema' | 'stored' | 'lake'>,
): Promise<TableShape> {
  let shape = await tableShape(context);
  for (let known = -1; known !== shape.columns.length; shape = await tableShape(context)) {
    known = shape.columns.length;
    const { columns } = await described(context, shape);
    await context.lake.catalog?.ensureTable({ ...shape, columns });
    await context.lake.catalog?.ensureTable(beforeShape(context.report, columns));
    await context.schema.refresh();
  }
  return shape;
}

/**
 * Ensures the table and all views that read it, because a column or a role may be new. A failed view stops nothing: no
 * record depends on it.
 */
export async function ensureTableAndViews(context: BrandReport): Promise<void> {
  const { report, reports, lake, schemaOf, stored, log } = context;
  const columns = new Map([[report.table, (await ensureTable(context)).columns]]);
  const roles = tableRoles(Object.values(reports), await stored.all());
  for (const view of viewsOf(reports, report)) {
    try {
      for (const other of Object.values(reports)) {
        const isRead = dayTables(other).some((table) => view.tables.includes(table));
        if (!isRead || columns.has(other.table)) continue;
        // The watcher creates it: a run changes no table of another report.
        columns.set(other.table, (await schemaOf(other).cached()).columns);
      }
      await lake.catalog?.ensureView(viewOver(view, columns, roles));
    } catch (thrown) {
      log({ event: 'view_failed', view: view.name, ...errorSummary(rethrowBugs(thrown)) });
    }
  }
}
