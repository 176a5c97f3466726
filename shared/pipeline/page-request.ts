import type { JsonObject } from '../json.ts';
import { primaryKeyField } from '../planning/primary-key.ts';
import type { PageRequest } from '../service/paging/page.ts';
import type { FetchContext } from './context.ts';

/** How the pages of the report are asked for, with these fields of its action. */
export function pageRequest(ctx: FetchContext, fields: JsonObject): PageRequest {
  const { report, service, settings, brandSettings } = ctx;
  const keyHint = primaryKeyField(ctx);
  const primaryKey = report.primaryKey?.always ? report.primaryKey.field : undefined;
  return {
    service,
    action: report.action,
    paging: report.paging,
    pageSize: settings.pageSize,
    firstPage: brandSettings.firstPage,
    fields,
    ...(primaryKey !== undefined && { primaryKey }),
    ...(keyHint !== undefined && { keyHint }),
  };
}
