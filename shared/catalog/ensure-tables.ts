import { rethrowBugs } from '../errors.ts';
import { errorSummary } from '../outcome.ts';
import type { TableShape } from '../ports.ts';
import type { View } from '../reports/definition.ts';
import type { BrandReport } from '../pipeline/context.ts';
import { tableShape } from '../pipeline/publish.ts';

/** Brings the report's table to every column met so far, those of others meanwhile included. */
export async function ensureTable(of: Pick<BrandReport, 'report' | 'schema' | 'lake'>): Promise<TableShape> {
  let shape = await tableShape(of);
  for (let known = -1; known !== shape.columns.length; shape = await tableShape(of)) {
    known = shape.columns.length;
    await of.lake.catalog?.ensureTable(shape);
    await of.schema.refresh();
  }
  return shape;
}

/** The table, and the views whose columns are there. A view that fails stops nothing: the records do not need it. */
export async function ensureTableAndViews(of: BrandReport): Promise<void> {
  const { columns } = await ensureTable(of);
  for (const view of of.report.views) {
    if (missingColumns(view, columns).length > 0) continue;
    try {
      await of.lake.catalog?.ensureView(view);
    } catch (thrown) {
      of.log({ event: 'view_failed', view: view.name, ...errorSummary(rethrowBugs(thrown)) });
    }
  }
}

/** The columns that the view needs and that are not there. */
export function missingColumns({ needs }: View, columns: readonly { name: string }[]): string[] {
  return needs.filter((needed) => !columns.some(({ name }) => name === needed));
}
