/*
 * Makes a dbt project for the columns and roles of a lake. It runs the SQL of the lake's own views, with models in place
 * of tables, so that a mart and `query` have the same numbers. Names of fields and words of states come from outside:
 * each text passes `jinja`, and in YAML `yaml`.
 */
import { coverageTable } from '../../shared/catalog/coverage.ts';
import { freshness } from '../../shared/catalog/freshness.ts';
import { type TableColumns, type TableRoles, viewOver, withKnown } from '../../shared/catalog/view-roles.ts';
import type { Column } from '../../shared/column-types.ts';
import { changeViews, changesTable } from '../../shared/history/index.ts';
import { chosenFields, tableColumns } from '../../shared/lake/documents/described-columns.ts';
import { lifecycleTables } from '../../shared/lifecycle/index.ts';
import type { TableColumn } from '../../shared/ports.ts';
import { CLICK_ONCE_SQL } from '../../shared/reports/attribution.ts';
import type { ReportDefinition, ReportRegistry, ReportView } from '../../shared/reports/definition.ts';
import { withDay } from '../../shared/reports/views/typed-day.ts';
import * as sql from '../../shared/reports/views/view-sql.ts';
import { ROLES } from '../../shared/roles/index.ts';
import * as files from './files.ts';

export interface DbtLake {
  reports: ReportRegistry;
  columns: TableColumns;
  roles: TableRoles;
  /** The enabled reports that have days in the lake: tests expect them to be complete. */
  read: ReadonlySet<string>;
  /** Hours from the end of a day in UTC until it should be complete. */
  graceHours: number;
  /** The absolute path of `brand_reports.duckdb`; `undefined` for a lake in S3. */
  database: string | undefined;
}

/** By table, the SQL of columns that replace the table's columns of the same name in a staging model. */
const TYPED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  clicks: typed('clicks', 'publisher_id', 'channel_id'),
  orders: {
    ...typed('orders', 'order_id', 'publisher_id', 'publisher_name', 'channel_id', 'state'),
    ...typed('orders', 'currency', 'amount', 'commission', 'kind'),
  },
  transactions: {
    ...typed('transactions', 'order_id', 'publisher_id', 'product', 'currency', 'amount', 'commission'),
    ...typed('transactions', 'state', 'kind'),
  },
  attribution: { click: CLICK_ONCE_SQL },
};

function typed(table: Parameters<typeof sql.fieldSql>[0], ...fields: readonly string[]) {
  return Object.fromEntries(fields.map((field) => [field, sql.fieldSql(table, field)]));
}

const VIEWS: Readonly<Record<string, string>> = {
  publisher_performance: 'publisher_daily',
  orders_daily: 'orders_daily',
};

export function dbtProject(lake: DbtLake): Map<string, string> {
  const all = Object.values(lake.reports);
  const reportsOf = (tables: readonly string[]) => all.filter(({ table }) => tables.includes(table));
  const marts = all
    .flatMap(({ views }) => views)
    .filter(({ name }) => Object.hasOwn(VIEWS, name))
    .map((view) => [VIEWS[view.name], files.mart(martSql(view, lake), reportsOf(view.tables))] as const);
  const ledgerSql = withKnown(files.LEDGER_SQL, lake.columns, lake.roles);
  const ledger = ['commission_ledger', files.mart(ledgerSql, reportsOf(['transactions']))] as const;
  return new Map([
    ['dbt_project.yml', files.PROJECT],
    ['profiles.yml', files.profiles(lake.database === undefined ? undefined : yaml(lake.database))],
    ['.gitignore', files.GITIGNORE],
    ['macros/tests.sql', files.tests(lake.graceHours)],
    ['macros/versions.sql', files.VERSIONS],
    ['models/sources.yml', sourcesYaml(lake)],
    [
      'models/models.yml',
      `version: 2\nmodels:${all.map((report) => keyYaml(report, lake)).join('')}${files.MARTS}`,
    ],
    ...all.map(
      ({ table }) => [`models/staging/${files.STAGED}${table}.sql`, stagingSql(table, lake)] as const,
    ),
    ...[...marts, ledger].map(([name, text]) => [`models/marts/brand_reports__${name}.sql`, text] as const),
  ]);
}

/** Escapes a text for Jinja, whose expressions, statements and comments all begin with `{`. */
export function jinja(text: string): string {
  return text.replaceAll('{', "{{ '{' }}");
}

/** Escapes a text from outside for YAML, which dbt renders as Jinja: no character steers YAML, Jinja or a terminal. */
export function yaml(text: string): string {
  const escaped = (code: string) => `\\U${(code.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`;
  return JSON.stringify(jinja(text.toWellFormed())).replaceAll(/[^\x20-\x7e]/gu, escaped);
}

function stagingColumns(table: string, { columns }: DbtLake): Record<string, string> {
  const own = (columns.get(table) ?? []).map(({ name }) => [name, `"${name}"`]);
  const day = { brand: 'CAST(brand AS varchar)', dt: 'CAST(dt AS varchar)', day: 'TRY_CAST(dt AS date)' };
  return { ...day, ...Object.fromEntries(own), ...day, ...TYPED[table] };
}

function stagingSql(table: string, lake: DbtLake): string {
  const values = Object.entries(stagingColumns(table, lake)).map(([name, value]) => {
    const view = { name, description: '', columns: [], tables: [table], sql: value };
    const athena = viewOver(view, lake.columns, lake.roles).sql;
    const duckDb = sql.inDuckDb(athena);
    const both = `{% if target.type == 'duckdb' %}${jinja(duckDb)}{% else %}${jinja(athena)}{% endif %}`;
    return `  ${duckDb === athena ? jinja(athena) : both} AS "${name}"`;
  });
  return `select\n${values.join(',\n')}\nfrom {{ source('brand_reports', '${table}') }}\n`;
}

/** The SQL of a lake's view over the staging models; their columns have the names of roles. */
function martSql(view: ReportView, lake: DbtLake): string {
  const fields = Object.fromEntries(ROLES.map((role) => [role, role]));
  const staged = { staged: { fields, words: {} } };
  const columnsOf = (table: string) =>
    Object.keys(stagingColumns(table, lake)).map((name): Column => ({ name, type: 'string' }));
  const columns = new Map(view.tables.map((table) => [table, columnsOf(table)]));
  const known = { ...view, sql: withKnown(view.sql, lake.columns, lake.roles) };
  return withDay(viewOver(known, columns, new Map(view.tables.map((table) => [table, staged])))).sql;
}

function sourcesYaml(lake: DbtLake): string {
  const all = Object.values(lake.reports);
  const read = all.filter(({ name }) => lake.read.has(name));
  const source = (name: string, description: string, more = '') =>
    `\n      - name: ${name}\n        description: ${yaml(description)}${more}`;
  const columnsYaml = (columns: readonly TableColumn[]) => {
    // YAML reads the name 1_0 as a number.
    const described = columns.map(
      ({ name, description = '' }) =>
        `\n          - {name: ${yaml(name)}, quote: true, description: ${yaml(description)}}`,
    );
    return `\n        columns:${described.join('')}`;
  };
  const tables = all.map((report) => {
    const columns = lake.columns.get(report.table) ?? [];
    const chosen = chosenFields(columns, lake.roles.get(report.table) ?? {});
    const expected = read.includes(report) ? files.freshnessOf(report.name, lake.graceHours) : '';
    const described = columnsYaml(tableColumns(report, { columns }, chosen));
    return source(report.table, report.description, `${expected}${described}`);
  });
  const lifecycle = lifecycleTables(lake.reports);
  const ofLifecycle = lifecycle.map(({ name, description, columns }) =>
    source(name, description, columnsYaml(columns)),
  );
  // These views are sources, not marts: their rows depend on days of other months, or on closes.
  const overLifecycle = all
    .flatMap(({ views }) => views)
    .filter(({ tables: from }) => lifecycle.some(({ name }) => from.includes(name)));
  const others = [coverageTable, ...changeViews(lake.reports), changesTable, ...overLifecycle].map(
    ({ name, description }) => source(name, description),
  );
  const tests = `\n        data_tests:${read.map(files.testsOf).join('')}`;
  return `${files.SOURCE}${[...tables, ...ofLifecycle, ...others, source(freshness.name, freshness.description, tests)].join('')}\n`;
}

/** A test of the documented key. Records without the key are left out. */
function keyYaml({ table, primaryKey }: ReportDefinition, { columns }: DbtLake): string {
  const key = primaryKey && columns.get(table)?.find(({ field }) => field === primaryKey.field);
  return key === undefined ? '' : files.keyOf(`${files.STAGED}${table}`, key.name);
}
