import { rethrowBugs } from '../base/errors.ts';
import { errorSummary } from '../base/outcome.ts';
import type { TableShape } from '../ports.ts';
import type { BrandReport } from '../context/context.ts';
import { chosenFields, tableColumns } from '../lake/described-columns.ts';
import type { StoredSchema } from '../lake/schema.ts';
import { beforeShape } from '../history/index.ts';
import { tableShape } from '../day/publish.ts';
import { viewsOf } from '../reports/definition.ts';
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

/** A column or a role may be new. A failed view stops nothing: no record depends on it. */
export async function ensureTableAndViews(context: BrandReport): Promise<void> {
  const { report, reports, lake, schemaOf, stored, log } = context;
  await ensureTable(context);
  const roles = tableRoles(Object.values(reports), await stored.all());
  for (const view of viewsOf(reports, report)) {
    try {
      // The watcher creates the tables of other reports: a run changes none of them.
      const schemas = new Map<string, StoredSchema>();
      for (const other of Object.values(reports))
        if (view.tables.includes(other.table)) schemas.set(other.table, await schemaOf(other).cached());
      await lake.catalog?.ensureView(viewOver(view, schemas, roles));
    } catch (thrown) {
      log({ event: 'view_failed', view: view.name, ...errorSummary(rethrowBugs(thrown)) });
    }
  }
}
