/*
 * The files of a dbt project that are the same for every lake: the project, its profiles, macros and marts. The marts
 * take days by their version: `digest` of `coverage` identifies the content of a day.
 */
import { NOW_SQL } from '../../shared/reports/views/view-sql.ts';

/** What the names of tables and models begin with. */
export const STAGED = 'stg_brand_reports__';

/** Hours after the end of a day in UTC until it should be complete: 12 until the day has ended in every zone, 3 to read it. */
const GRACE_HOURS = 15;
const DAY_HOURS = 24;

/** By their instants of `complete_until`: the end of a day is a day old when the next one should be complete. */
export const FRESHNESS = {
  warn: DAY_HOURS + GRACE_HOURS,
  error: 2 * DAY_HOURS + GRACE_HOURS,
};

export const PROJECT = `name: brand_reports
version: 1.0.0
config-version: 2
require-dbt-version: [">=1.10.0", "<2.0.0"]
profile: brand_reports
vars:
  # Athena: the Glue catalog and database of the lake.
  brand_reports_catalog: awsdatacatalog
  brand_reports_database: brand_reports
models:
  brand_reports:
    staging: {+materialized: view}
`;

export const GITIGNORE = 'target/\nlogs/\n*.duckdb\n*.duckdb.wal\n.user.yml\n';

const OF_REPORT = (table: string) =>
  `select * from {{ source('brand_reports', '${table}') }} where report = '{{ report }}'`;

export const TESTS = `{# Fails for each brand whose days are not all complete up to yesterday; and if the report has no day at all. #}
{% test complete_until(model, report, grace_hours=${GRACE_HOURS}) %}
select brand, complete_until from (${OF_REPORT('freshness')}) as found
where complete_until is null
  or cast(complete_until as date) < cast(${NOW_SQL} - interval '{{ grace_hours }}' hour as date) - interval '1' day
union all
select 'no day was read', null where not exists (${OF_REPORT('freshness')})
{% endtest %}

{# The days with something odd, as \`brand-reports status\` shows it. #}
{% test no_open_findings(model, report) %}
select brand, dt, findings from (${OF_REPORT('coverage')}) as days where findings is not null
{% endtest %}

{# The closed days that changed lately: reports that were made before have other numbers. #}
{% test no_restatements(model, report, within_hours=${DAY_HOURS}) %}
select brand, dt, rows_now, added, removed, altered, last_changed_at
from (${OF_REPORT('restatements')}) as days
where last_changed_at >= ${NOW_SQL} - interval '{{ within_hours }}' hour
{% endtest %}

{% test unique_key(model, columns) %}
select {{ columns | join(', ') }}, count(*) as copies from {{ model }} group by {{ columns | join(', ') }} having count(*) > 1
{% endtest %}
`;

export const VERSIONS = `{# A row for each day that has a version of one of the reports; day_version identifies the content of all of them. #}
{% macro brand_reports_versions(reports) %}
select brand, dt, brand || '/' || dt
  {%- for report in reports %} || '/' || coalesce(max(case when report = '{{ report }}' then digest end), '-'){% endfor %} as day_version
from {{ source('brand_reports', 'coverage') }}
where digest is not null and report in ('{{ reports | join("', '") }}')
group by brand, dt
{% endmacro %}

{# dbt asks the database for the table only if this is no full refresh: so \`dbt compile --full-refresh\` needs no connection. #}
{% macro brand_reports_appends() %}{{ return(not flags.FULL_REFRESH and is_incremental()) }}{% endmacro %}

{# Before an incremental run: deletes the days whose version the lake no longer has, with all of their rows. #}
{% macro brand_reports_forget(reports) %}
{% if brand_reports_appends() %}
delete from {{ this }} where day_version not in (select day_version from ({{ brand_reports_versions(reports) }}) as versions)
{% endif %}
{% endmacro %}

{# The days that the model lacks: all of them at first, later those that are new or were deleted above. #}
{% macro brand_reports_taken(reports) %}
select * from ({{ brand_reports_versions(reports) }}) as versions
{% if brand_reports_appends() %}where day_version not in (select day_version from {{ this }}){% endif %}
{% endmacro %}
`;

/** A mart that takes only days whose version changed. @param sql over staging models, under the names of their tables */
export function mart(sql: string, reports: Readonly<Record<string, string>>): string {
  const names = JSON.stringify(Object.keys(reports)).replaceAll('"', "'");
  const tables = Object.values(reports).map(
    (table) => `,
${table} as (
  select rows_of_table.* from {{ ref('${STAGED}${table}') }} as rows_of_table
  join taken on rows_of_table.brand = taken.brand and rows_of_table.dt = taken.dt
)`,
  );
  return `{{ config(
  materialized='incremental',
  incremental_strategy='append',
  table_type='iceberg',
  pre_hook="{{ brand_reports_forget(${names}) }}"
) }}
with taken as (
  {{ brand_reports_taken(${names}) }}
)${tables.join('')}
select mart.*, taken.day_version, cast('{{ run_started_at.strftime("%Y-%m-%dT%H:%M:%SZ") }}' as varchar) as taken_at
from (
${sql}
) as mart
join taken on mart.brand = taken.brand and mart.dt = taken.dt
`;
}

export const LEDGER_SQL = `select brand, dt, day, publisher_id, state, currency,
  cast(count(*) as bigint) as transactions,
  cast(sum(commission) as decimal(38,9)) as commission,
  cast(sum(case when kind = 'bonus' then commission end) as decimal(38,9)) as bonus
from transactions
group by brand, dt, day, publisher_id, state, currency`;
