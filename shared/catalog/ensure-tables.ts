import { rethrowBugs } from '../base/errors.ts';
import { errorSummary } from '../base/outcome.ts';
import type { BrandReport } from '../context/context.ts';
import { chosenFields, tableColumns } from '../lake/described-columns.ts';
import type { StoredSchema } from '../lake/schema.ts';
import { beforeShape } from '../history/index.ts';
import { tableShape } from '../day/publish.ts';
import { viewsOf } from '../reports/definition.ts';
import { tableRoles, viewOver } from './view-roles.ts';

/**
 * Creates or extends the report's table until it has every column of the schema, and the table of what its records were
 * before. A run that appends columns meanwhile extends the tables before it points at them.
 */
export async function ensureTable(
  context: Pick<BrandReport, 'report' | 'schema' | 'stored' | 'lake'>,
): Promise<void> {
  const { report, schema, stored, lake } = context;
  const roles = tableRoles([report], await stored.all()).get(report.table);
  const known = await schema.cached();
  const columns = tableColumns(report, known, chosenFields(known.columns, roles ?? {}));
  await lake.catalog?.ensureTable({ ...(await tableShape(context)), columns });
  await lake.catalog?.ensureTable(beforeShape(report, columns));
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
