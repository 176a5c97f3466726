import { BrandReportsError, rethrowBugs } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import type { Slice, SlicePart } from '../lake/progress.ts';
import { primaryKeyField } from '../planning/primary-key.ts';
import type { Page, PageRequest } from '../service/paging/page.ts';
import { fetchPage, isUnchanged } from '../service/paging/pages.ts';
import type { FetchContext, RunContext } from '../context/context.ts';

export function pageRequest(ctx: FetchContext, fields: JsonObject): PageRequest {
  const { report, service, settings, brandSettings } = ctx;
  if (report.paging.style === 'lookup') throw new Error(`${report.action} has no pages`);
  const key = primaryKeyField(ctx);
  return {
    service,
    action: report.action,
    paging: report.paging,
    pageSize: settings.pageSize,
    firstPage: brandSettings.firstPage,
    fields,
    ...(key !== undefined && { key }),
  };
}

/** Whether the last staged page has not changed, so that the reading may continue after it. */
export async function isLastPageSame(ctx: RunContext, { parts }: Slice): Promise<boolean> {
  const part = parts.find(({ done }) => !done);
  if (!part?.last || ctx.report.paging.style === 'lookup') return true;
  try {
    const request = pageRequest(ctx, part.fields);
    return await isUnchanged({ ...part.last, next: part.cursor }, (cursor) => fetchPage(request, cursor));
  } catch (thrown) {
    if (rethrowBugs(thrown).kind !== 'contract') throw thrown;
    return false;
  }
}

export function fetchFirstPage(ctx: FetchContext, fields: JsonObject): Promise<Page> {
  return fetchPage(pageRequest(ctx, fields), null);
}

/** The error, with the setting that helps if the service refuses the query of the single instant that ends the day. */
export function explained(
  { report, brandSettings }: FetchContext,
  { role, fields }: Pick<SlicePart, 'role' | 'fields'>,
  error: BrandReportsError,
): BrandReportsError {
  const sendsInstants = role === 'exclude' && fields.start_time === fields.end_time;
  if (!sendsInstants || error.code !== 'service_code') return error;
  const setting = report.day.by === 'dates' ? 'endDate' : 'endTime';
  const needed = setting === 'endTime' ? 'inclusive' : 'whole_day';
  const message = `${error.message}; the request was for the single instant that ends the day, to learn whether the day's range includes it: set "${setting}" (now "${brandSettings[setting]}") to "${needed}"`;
  return new BrandReportsError('contract', 'instant_refused', message, { context: error.context });
}
