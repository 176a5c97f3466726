import { STATE_WORDS, type ReportDefinition } from '../../shared/reports/definition.ts';
import { NOW_SQL } from '../../shared/reports/views/view-sql.ts';

type Named = Pick<ReportDefinition, 'name' | 'table'>;

export const STAGED = 'stg_brand_reports__';

export const PROJECT = `name: brand_reports
version: 1.0.0
require-dbt-version: [">=1.10.0", "<2.0.0"]
profile: brand_reports
models:
  # Each build makes the marts anew, because settings may have given old records another meaning.
  brand_reports: {marts: {+materialized: table}}
vars:
  # Athena: the Glue catalog and database of the lake.
  brand_reports_catalog: awsdatacatalog
  brand_reports_database: brand_reports
`;

export const GITIGNORE = 'target/\nlogs/\n*.duckdb\n*.duckdb.wal\n.user.yml\n';

/** @param database a path in YAML; `undefined`: Athena is the only target */
export function profiles(database: string | undefined): string {
  const duckDb = `
    duckdb: {type: duckdb, path: dbt.duckdb, attach: [{path: ${database}, alias: brand_reports, read_only: true}]}`;
  return `brand_reports:
  target: ${database === undefined ? 'athena' : 'duckdb'}
  outputs:${database === undefined ? '' : duckDb}
    athena:
      type: athena
      region_name: "{{ env_var('AWS_REGION', 'eu-central-1') }}"
      # Results of queries, and the data of the marts.
      s3_staging_dir: "{{ env_var('BRAND_REPORTS_DBT_RESULTS', 's3://your-bucket/results/') }}"
      s3_data_dir: "{{ env_var('BRAND_REPORTS_DBT_DATA', 's3://your-bucket/dbt/') }}"
      database: awsdatacatalog
      # The Glue database that dbt writes to. Never use the database of the lake.
      schema: brand_reports_dbt
`;
}

export const SOURCE = `version: 2
sources:
  - name: brand_reports
    database: "{{ 'brand_reports' if target.type == 'duckdb' else var('brand_reports_catalog') }}"
    schema: "{{ 'main' if target.type == 'duckdb' else var('brand_reports_database') }}"
    tables:`;

/** The tests belong to a source that no model uses, so that a gap does not stop the marts. */
export function testsOf({ name, table }: Named): string {
  const test = (test: string, severity: string) => `
          - ${test}: {name: ${test}_${table}, arguments: {report: ${name}}, config: {severity: ${severity}}}`;
  return test('complete_until', 'error') + test('no_open_findings', 'warn') + test('no_restatements', 'warn');
}

export function keyOf(key: string): string {
  return `
        data_tests: [{unique_key: {arguments: {columns: [brand, dt, ${key}]}, config: {where: ${key} is not null}}}]`;
}

const STATES = `data_tests: [{accepted_values: {arguments: {values: [${STATE_WORDS.join(', ')}]}}}]`;

export const MARTS = `
  - name: brand_reports__publisher_daily
    description: Clicks, orders, amounts and commission by day, publisher and currency
    data_tests: [{unique_key: {arguments: {columns: [brand, dt, publisher_id, currency]}}}]
  - name: brand_reports__commission_due
    description: Commission of transactions by month, publisher, state and currency, including bonuses
    data_tests: [{unique_key: {arguments: {columns: [brand, month, publisher_id, state, currency]}}}]
    columns: [{name: state, ${STATES}}]
  - name: brand_reports__orders_daily
    description: Orders, amounts and commissions by day, state and currency
    data_tests: [{unique_key: {arguments: {columns: [brand, dt, status, currency]}}}]
    columns: [{name: status, ${STATES}}]
`;

const ofReport = (table: string) =>
  `(select * from {{ source('brand_reports', '${table}') }} where report = '{{ report }}')`;

/** The generic tests. @param grace in hours, after the end of a day in UTC */
export const tests = (
  grace: number,
) => `{# Fails for each brand that has an incomplete day up to yesterday, and if the report has no day at all. A day counts grace_hours after its end in UTC. #}
{% test complete_until(model, report, grace_hours=${grace}) %}
select brand, complete_until from ${ofReport('freshness')} as found
where complete_until is null
  or cast(complete_until as date) < cast(${NOW_SQL} - interval '{{ grace_hours }}' hour as date) - interval '1' day
union all
select 'no day was read', null where not exists ${ofReport('freshness')}
{% endtest %}

{# Returns the days with findings. To see the rows of a finding, run the query that its status has. #}
{% test no_open_findings(model, report) %}
select brand, dt, findings from ${ofReport('coverage')} as days where findings is not null
{% endtest %}

{# Returns the closed days that changed in the last within_hours: earlier reports of these days have other numbers. #}
{% test no_restatements(model, report, within_hours=24) %}
select brand, dt, rows_now, added, removed, altered, last_changed_at from ${ofReport('restatements')} as days
where last_changed_at >= ${NOW_SQL} - interval '{{ within_hours }}' hour
{% endtest %}

{% test unique_key(model, columns) %}
select {{ columns | join(', ') }}, count(*) as copies from {{ model }} group by {{ columns | join(', ') }} having count(*) > 1
{% endtest %}
`;

export function viewSql(view: string): string {
  return `select * from {{ source('brand_reports', '${view}') }}`;
}

/** The current records of a history. */
export function currentSql(history: string): string {
  return `${viewSql(history)} where what = 'now'`;
}
