import { rethrowBugs } from '../errors.ts';
import { errorSummary } from '../outcome.ts';
import type { TableShape } from '../ports.ts';
import type { View } from '../reports/definition.ts';
import type { BrandReport } from '../pipeline/context.ts';
import { tableShape } from '../pipeline/publish.ts';

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

/** Ensures the table, and the views whose columns exist. A failed view stops nothing: no record depends on it. */
export async function ensureTableAndViews(context: BrandReport): Promise<void> {
  const { columns } = await ensureTable(context);
  for (const view of context.report.views) {
    if (missingColumns(view, columns).length > 0) continue;
    try {
      await context.lake.catalog?.ensureView(view);
    } catch (thrown) {
      context.log({ event: 'view_failed', view: view.name, ...errorSummary(rethrowBugs(thrown)) });
    }
  }
}

/** The columns that the view needs and the table does not have yet. */
export function missingColumns({ needs }: View, columns: readonly { name: string }[]): string[] {
  return needs.filter((needed) => !columns.some(({ name }) => name === needed));
}
