/*
 * Makes a dbt project for the columns and roles of a lake. Its SQL is that of the lake's own views, with models in place
 * of tables, so that a mart and `query` have the same numbers. Names of fields and words of states come from outside:
 * each text passes `jinja`, and in YAML `yaml`.
 */
import type { Column, ColumnType } from '../../shared/column-types.ts';
import { coverageTable } from '../../shared/catalog/coverage.ts';
import { freshness } from '../../shared/catalog/freshness.ts';
import { type TableRoles, viewOver } from '../../shared/catalog/view-roles.ts';
import { changeViews, changesTable } from '../../shared/history/index.ts';
import { saidRoles } from '../../shared/lake/documents/roles.ts';
import { CLICK_ONCE_SQL } from '../../shared/reports/attribution.ts';
import type { ReportDefinition, ReportRegistry, ReportView } from '../../shared/reports/definition.ts';
import { STATE_WORDS } from '../../shared/reports/definition.ts';
import { publisherPerformance } from '../../shared/reports/views/publisher-performance.ts';
import { withDay } from '../../shared/reports/views/typed-day.ts';
import {
  ORDER_KIND_SQL,
  TRANSACTION_KIND_SQL,
  TRANSACTION_STATE_SQL,
  amountSql,
  inDuckDb,
  textSql,
} from '../../shared/reports/views/view-sql.ts';
import { ROLES, columnOfField, fieldsIn } from '../../shared/roles/index.ts';
import { FRESHNESS, GITIGNORE, LEDGER_SQL, PROJECT, STAGED, TESTS, VERSIONS, mart } from './files.ts';

/** What a project is made from. */
export interface DbtLake {
  reports: ReportRegistry;
  /** By table. */
  columns: ReadonlyMap<string, readonly Column[]>;
  roles: TableRoles;
  /** The reports that the lake has days of: tests expect them to be complete. */
  read: ReadonlySet<string>;
  /** The absolute path of `brand_reports.duckdb`; `undefined` for a lake in S3. */
  database: string | undefined;
}

type Described = readonly [name: string, sql: string, description: string];

const text = (table: string, ...roles: readonly string[]) =>
  roles.map((role): Described => [role, textSql(`{${table}.${role}}`), `The ${role.replaceAll('_', ' ')}`]);
const AMOUNTS = (table: string): readonly Described[] => [
  ['currency', textSql(`{${table}.currency}`), 'Of the amounts, in capitals; never add two of them'],
  ['amount', amountSql(`{${table}.amount}`), 'What it is worth'],
  ['commission', amountSql(`{${table}.commission}`), 'Its commission, also if it is void'],
];
const KIND = 'sale; or bonus, for bonuses and campaign payments, which nobody bought';

/** By table, what a staging model has beside the table's own columns, and in place of those of the same name. */
const STAGING: Readonly<Record<string, readonly Described[]>> = {
  clicks: text('clicks', 'publisher_id', 'channel_id'),
  orders: [
    ...text('orders', 'order_id', 'publisher_id', 'publisher_name', 'channel_id'),
    ['kind', ORDER_KIND_SQL, KIND],
    ['state', textSql('{orders.state}'), 'In the words of the interface: new, effective or void'],
    ...AMOUNTS('orders'),
  ],
  transactions: [
    ...text('transactions', 'order_id', 'publisher_id', 'product'),
    ['kind', TRANSACTION_KIND_SQL, KIND],
    ['state', TRANSACTION_STATE_SQL, 'Of the line, or of its order: new, mixed, locked, paid or void'],
    ...AMOUNTS('transactions'),
  ],
  attribution: [
    [
      'click',
      CLICK_ONCE_SQL,
      'Clicks on the tracking link, on one of its rows of the day: a sum counts them once',
    ],
  ],
};

/** The text of each file of the project, by its path. */
export function dbtProject(lake: DbtLake): Map<string, string> {
  const all = Object.values(lake.reports);
  const reportsOf = (...tables: readonly string[]) =>
    Object.fromEntries(
      all.filter(({ table }) => tables.includes(table)).map(({ name, table }) => [name, table]),
    );
  const ordersDaily = all.flatMap(({ views }) => views).filter(({ name }) => name === 'orders_daily');
  const marts = [
    [publisherPerformance, 'publisher_daily'] as const,
    ...ordersDaily.map((view) => [view, 'order_states'] as const),
  ].map(([view, name]) => [name, mart(martSql(view, lake), reportsOf(...view.tables))] as const);
  const models = [...marts, ['commission_ledger', mart(LEDGER_SQL, reportsOf('transactions'))] as const];
  return new Map([
    ['dbt_project.yml', PROJECT],
    ['profiles.yml', profiles(lake)],
    ['.gitignore', GITIGNORE],
    ['macros/tests.sql', TESTS],
    ['macros/versions.sql', VERSIONS],
    ['models/sources.yml', sources(lake)],
    ['models/staging/staging.yml', stagingYaml(lake)],
    ...all.map(({ table }) => [`models/staging/${STAGED}${table}.sql`, stagingSql(table, lake)] as const),
    ['models/marts/marts.yml', martsYaml()],
    ...models.map(([name, sql]) => [`models/marts/brand_reports__${name}.sql`, sql] as const),
  ]);
}

/** Every `{` begins a Jinja expression or a comment, unless it is the value of one. */
export function jinja(from: string): string {
  return from.replaceAll('{', "{{ '{' }}");
}

/** A text from outside in YAML, which dbt renders as Jinja: no character steers YAML, Jinja or a terminal. */
export function yaml(from: string): string {
  const escaped = (code: string) => `\\U${(code.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`;
  return JSON.stringify(jinja(from.toWellFormed())).replaceAll(/[^\x20-\x7e]/gu, escaped);
}

function quoted(name: string): string {
  return `"${name}"`;
}

/** The columns of a staging model, with their SQL in terms of the table. */
function stagingColumns(table: string, { columns, roles }: DbtLake): readonly Described[] {
  const own = columns.get(table) ?? [];
  const { [table]: typed = [] } = STAGING;
  const days: readonly Described[] = [
    ['brand', 'CAST(brand AS varchar)', 'The brand'],
    ['dt', 'CAST(dt AS varchar)', "The day, in the brand's time zone, as text"],
    ['day', 'TRY_CAST(dt AS date)', 'The same day as a date'],
  ];
  const first = [...days, ...typed];
  const names = new Set(first.map(([name]) => name));
  const rest = own
    .filter(({ name }) => !names.has(name))
    .map(
      (column): Described => [column.name, quoted(column.name), described(column, table, { columns, roles })],
    );
  return [...first, ...rest];
}

function stagingSql(table: string, lake: DbtLake): string {
  const values = stagingColumns(table, lake).map(([name, sql]) => {
    const view = viewOver({ ...NO_VIEW, tables: [table], sql }, lake.columns, lake.roles);
    return `  ${onBoth(view.sql)} AS ${quoted(name)}`;
  });
  return `select\n${values.join(',\n')}\nfrom {{ source('brand_reports', '${table}') }}\n`;
}

const NO_VIEW = { name: '', description: '', columns: [] };

/** SQL for Athena, and for DuckDB if that needs other SQL. */
function onBoth(sql: string): string {
  const duckDb = inDuckDb(sql);
  if (duckDb === sql) return jinja(sql);
  return `{% if target.type == 'duckdb' %}${jinja(duckDb)}{% else %}${jinja(sql)}{% endif %}`;
}

/** The SQL of a view of the lake over the staging models, whose columns have the names of roles. */
function martSql(view: ReportView, lake: DbtLake): string {
  const columns = new Map(
    view.tables.map((table) => [
      table,
      stagingColumns(table, lake).map(([name]): Column => ({ name, type: 'string' as ColumnType })),
    ]),
  );
  const chosen = Object.fromEntries(ROLES.map((role) => [role, role]));
  const staged = { staged: { chosen, fields: {}, words: {}, isCurrencyUnclear: false } };
  return withDay(viewOver(view, columns, new Map(view.tables.map((table) => [table, staged])))).sql;
}

function described(
  { name, field }: Column,
  table: string,
  { columns, roles }: Pick<DbtLake, 'columns' | 'roles'>,
) {
  const own = columns.get(table) ?? [];
  const uses = Object.entries(roles.get(table) ?? {}).flatMap(([brand, ofBrand]) =>
    Object.entries(fieldsIn(own, saidRoles(ofBrand)))
      .filter(([, path]) => columnOfField(own, path)?.column.name === name)
      .map(([role]) => `${role} of ${brand}`),
  );
  const from = field === undefined ? 'Derived by brand-reports' : `The field ${field} of the records`;
  return uses.length === 0 ? from : `${from}; role: ${uses.join(', ')}`;
}

type Columns = readonly (readonly [name: string, description: string])[];

function columnsYaml(columns: Columns, indent: string): string {
  return columns
    .map(([name, text]) => `\n${indent}- {name: ${yaml(name)}, quote: true, description: ${yaml(text)}}`)
    .join('');
}

function testYaml(name: string, table: string, report: string, severity: 'error' | 'warn'): string {
  return `
          - ${name}: {name: ${name}_${table}, arguments: {report: ${report}}, config: {severity: ${severity}}}`;
}

function sources(lake: DbtLake): string {
  const all = Object.values(lake.reports);
  const read = all.filter(({ name }) => lake.read.has(name));
  const tests = {
    [freshness.name]: read.map(({ name, table }) => testYaml('complete_until', table, name, 'error')),
    [coverageTable.name]: read.map(({ name, table }) => testYaml('no_open_findings', table, name, 'warn')),
    [RESTATEMENTS]: read.map(({ name, table }) => testYaml('no_restatements', table, name, 'warn')),
  };
  const others = [coverageTable, freshness, ...changeViews(lake.reports), changesTable].map(
    ({ name, description }) => {
      const own = tests[name]?.join('') ?? '';
      return `
      - name: ${name}
        description: ${yaml(description)}${own === '' ? '' : `\n        data_tests:${own}`}`;
    },
  );
  const tables = all.map((report) => {
    const { table } = report;
    const columns = (lake.columns.get(table) ?? []).map(
      (column) => [column.name, described(column, table, lake)] as const,
    );
    return `
      - name: ${table}
        description: ${yaml(report.description)}${read.includes(report) ? freshnessYaml(report) : ''}
        columns:${columnsYaml(columns, '          ')}`;
  });
  return `version: 2
sources:
  - name: brand_reports
    database: "{{ 'brand_reports' if target.type == 'duckdb' else var('brand_reports_catalog') }}"
    schema: "{{ 'main' if target.type == 'duckdb' else var('brand_reports_database') }}"
    tables:${[...tables, ...others].join('')}
`;
}

const RESTATEMENTS = 'restatements';

/** A lake with a gap is as old as the gap, however lately its other days were read. */
function freshnessYaml({ name }: ReportDefinition): string {
  return `
        config:
          freshness:
            warn_after: {count: ${FRESHNESS.warn}, period: hour}
            error_after: {count: ${FRESHNESS.error}, period: hour}
          loaded_at_query: |
            select coalesce(
              min(cast(coalesce(cast(complete_until as date), date '1970-01-01') + interval '1' day as timestamp)),
              timestamp '1970-01-01 00:00:00'
            ) from {{ this.incorporate(path={'identifier': '${freshness.name}'}) }} where report = '${name}'`;
}

function stagingYaml(lake: DbtLake): string {
  const models = Object.values(lake.reports).map(({ table, primaryKey, description }) => {
    const columns = stagingColumns(table, lake).map(([name, , text]) => [name, text] as const);
    const key = primaryKey && lake.columns.get(table)?.find(({ field }) => field === primaryKey.field)?.name;
    const test =
      key === undefined ? '' : `\n    data_tests:${uniqueYaml(['brand', 'dt', key], `${key} is not null`)}`;
    return `
  - name: ${STAGED}${table}
    description: ${yaml(`${description}: typed, with the fields that have roles under the names of the roles`)}${test}
    columns:${columnsYaml(columns, '      ')}`;
  });
  return `version: 2\nmodels:${models.join('')}\n`;
}

function uniqueYaml(columns: readonly string[], where?: string): string {
  const config = where === undefined ? '' : `, config: {where: ${yaml(where)}}`;
  return `\n      - unique_key: {arguments: {columns: [${columns.join(', ')}]}${config}}`;
}

function martsYaml(): string {
  const model = (name: string, description: string, key: readonly string[], state?: string) => `
  - name: brand_reports__${name}
    description: ${yaml(description)}
    data_tests:${uniqueYaml(['brand', 'dt', ...key])}${
      state === undefined
        ? ''
        : `
    columns:
      - name: ${state}
        data_tests:
          - accepted_values: {arguments: {values: [${STATE_WORDS.join(', ')}]}}`
    }`;
  return `version: 2
models:${[
    model('publisher_daily', publisherPerformance.description, ['publisher_id', 'currency']),
    model(
      'commission_ledger',
      'Commission by day, publisher, state and currency, bonuses included',
      ['publisher_id', 'state', 'currency'],
      'state',
    ),
    model(
      'order_states',
      'Orders, amounts and commissions by day, state and currency',
      ['status', 'currency'],
      'status',
    ),
  ].join('')}
`;
}

function profiles({ database }: DbtLake): string {
  const duckDb = `
    duckdb:
      type: duckdb
      path: dbt.duckdb
      attach:
        - {path: ${yaml(database ?? '')}, alias: brand_reports, read_only: true}`;
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
      # The Glue database that dbt writes to. Never that of the lake.
      schema: brand_reports_dbt
      threads: 4
`;
}
