import { type BrandReportsError, asBrandReportsError } from '../errors.ts';
import type { View } from '../reports/definition.ts';
import type { BrandReport } from './report-run.ts';
import { tableShape } from './switch.ts';

/** What became of a view: made, or left out because of columns that nothing has brought yet, or because it failed. */
export interface PreparedView {
  name: string;
  lacks: readonly string[];
  error?: BrandReportsError;
}

type Preparing = Pick<BrandReport, 'report' | 'schema' | 'lake' | 'log'>;

/**
 * Brings the report's table to every column met so far, those of others meanwhile included, and makes the views whose
 * columns are there. A view that fails stops nothing: the records do not need it.
 */
export async function prepare(of: Preparing): Promise<PreparedView[]> {
  const { lake, report, schema } = of;
  let shape = await tableShape(of);
  for (let known = -1; known !== shape.columns.length; shape = await tableShape(of)) {
    known = shape.columns.length;
    await lake.catalog?.ensureTable(shape);
    await schema.fresh();
  }
  const prepared: PreparedView[] = [];
  for (const view of report.views) {
    const lacks = lacking(view, shape.columns);
    const error = lacks.length === 0 ? await prepareView(of, view) : undefined;
    prepared.push({ name: view.name, lacks, ...(error && { error }) });
  }
  return prepared;
}

async function prepareView({ lake, log }: Preparing, view: View): Promise<BrandReportsError | undefined> {
  try {
    await lake.catalog?.ensureView(view);
    return undefined;
  } catch (thrown) {
    const error = asBrandReportsError(thrown);
    if (error.kind === 'bug') throw thrown;
    const { kind, code, message } = error;
    log({ level: 'error', event: 'view_failed', view: view.name, kind, code, message });
    return error;
  }
}

/** The columns that the view needs and that are not there. */
export function lacking({ needs }: View, columns: readonly { name: string }[]): string[] {
  return needs.filter((needed) => !columns.some(({ name }) => name === needed));
}
