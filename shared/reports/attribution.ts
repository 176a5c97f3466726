import type { ReportDefinition } from './definition.ts';
import { UNKNOWN_AMOUNTS, sumSql, unknownAmountsSql } from './views/view-sql.ts';

/**
 * The clicks of a tracking link and day, on one of its rows: `click` repeats on every product of the link and day
 * (docs/explanation/interface.md, section 2).
 */
export const CLICK_ONCE_SQL = `CASE WHEN track_url IS NULL OR row_number() OVER (
      PARTITION BY brand, dt, track_url
      ORDER BY click DESC NULLS LAST, publisher_uid, country_code
    ) = 1 THEN click ELSE 0 END`;

const [DPV, CLICKS] = [{ amount: 'views' }, { amount: 'click_once' }];

/** A count; 10^12 and more are unknown, so that no sum of others overflows. */
function countSql(count: string): string {
  return `TRY_CAST(${count} AS decimal(12,0))`;
}

export const attribution: ReportDefinition = {
  name: 'amazon_attribution_report',
  action: 'report/amazon_attribution_report',
  table: 'attribution',
  description: 'Page views and clicks that the store attributes to tracking links, by link, day and product',
  section: '4.5',
  enabledByDefault: true,
  paging: {
    style: 'cursor',
    pageSize: { field: 'limit', min: 1, max: 200, default: 200 },
    countField: 'count',
  },
  day: { by: 'dates', field: 'date' },
  openDay: 'pass',
  primaryKey: undefined,
  filters: {
    publisher_uid: { kind: 'integer', min: 0 },
    country_code: { kind: 'text' },
    asin: { kind: 'text' },
  },
  columns: [
    { field: 'date', type: 'date', meaning: 'YYYYMMDD' },
    { field: 'adGroupId', type: 'string', meaning: 'opaque' },
    { field: 'publisher_uid', type: 'bigint', meaning: 'the publisher' },
    { field: 'publisher_name', type: 'string', meaning: 'its name' },
    { field: 'asin', type: 'string', meaning: "the store's product identifier" },
    { field: 'country_code', type: 'string', meaning: 'country of the store' },
    {
      field: 'dpv',
      type: 'bigint',
      meaning: 'detail page views by tracking link, date and product: may be summed',
    },
    { field: 'click', type: 'bigint', meaning: 'clicks by tracking link and date: repeats on every product' },
    { field: 'track_url', type: 'string', meaning: 'the tracking link' },
  ],
  refresh: [
    { untilAgeDays: 3, every: 'run' },
    { untilAgeDays: 30, every: '1 day' },
  ],
  views: [
    {
      name: 'attribution_daily',
      description: 'Page views summed, clicks once per tracking link and day, by day, publisher and country',
      columns: [
        ['brand', 'string', 'The brand'],
        ['dt', 'string', 'The day of the record'],
        ['publisher_uid', 'bigint', 'The publisher; not the publisher_id of clicks and orders'],
        ['publisher_name', 'string', 'The name of the publisher on the day'],
        ['country_code', 'string', 'Country of the store'],
        ['dpv', 'bigint', 'Detail page views'],
        ['clicks', 'bigint', 'Clicks on tracking links; a link that several countries report counts in one'],
        UNKNOWN_AMOUNTS,
      ],
      tables: ['attribution'],
      sql: `SELECT
  CAST(brand AS varchar) AS brand,
  CAST(dt AS varchar) AS dt,
  CAST(publisher_uid AS bigint) AS publisher_uid,
  CAST(max(publisher_name) AS varchar) AS publisher_name,
  CAST(country_code AS varchar) AS country_code,
  CAST(${sumSql(DPV)} AS bigint) AS dpv,
  CAST(${sumSql(CLICKS)} AS bigint) AS clicks,
  ${unknownAmountsSql(DPV, CLICKS)}
FROM (
  SELECT brand, dt, publisher_uid, publisher_name, country_code,
    ${countSql('dpv')} AS views, ${countSql(CLICK_ONCE_SQL)} AS click_once
  FROM attribution
) AS links
GROUP BY brand, dt, publisher_uid, country_code`,
    },
  ],
};
