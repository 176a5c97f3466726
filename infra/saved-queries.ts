import type { ReportDefinition } from '../shared/reports/definition.ts';

export interface SavedQuery {
  name: string;
  description: string;
  sql: string;
}

/** What an analyst wants first. They rest on `coverage`, `freshness` and what every table has, so that none can break. */
export function savedQueries(reports: readonly ReportDefinition[]): SavedQuery[] {
  return [
    {
      name: 'Is everything in',
      description: 'Per brand and report: the newest complete day, when it was last read, what is missing',
      sql: 'SELECT *\nFROM freshness\nORDER BY brand, report',
    },
    {
      name: 'Days that failed or are not whole',
      description: 'Of the last 90 days, with the reason; days never read are days_missing of freshness',
      sql: `SELECT brand, report, dt, state, failed_since, failure, next_due
FROM coverage
WHERE state IN ('failed', 'partial', 'unproven')
  AND dt >= CAST(current_date - INTERVAL '90' DAY AS varchar)
ORDER BY dt DESC, brand, report`,
    },
    {
      name: 'Rows by day',
      description: 'How many rows each report has of each of the last 30 days, and when they were read',
      sql: `SELECT brand, report, dt, rows, state, read_to
FROM coverage
WHERE dt >= CAST(current_date - INTERVAL '30' DAY AS varchar)
ORDER BY dt DESC, brand, report`,
    },
    ...reports.map(({ table, description }) => ({
      name: `Newest ${table}`,
      description: `${description}: a look at the last week`,
      sql: `SELECT *
FROM ${table}
WHERE dt >= CAST(current_date - INTERVAL '7' DAY AS varchar)
LIMIT 100`,
    })),
  ];
}
