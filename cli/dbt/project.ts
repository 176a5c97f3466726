/** Marts and `query` read the same views, so their numbers agree. Each text from outside passes `jinja`, and in YAML `yaml`. */
import { closesTable } from '../../shared/catalog/closes-table.ts';
import { coverageTable } from '../../shared/catalog/coverage.ts';
import { freshness } from '../../shared/catalog/freshness.ts';
import type { TableRoles } from '../../shared/catalog/view-roles.ts';
import type { Column } from '../../shared/base/column-types.ts';
import { chosenFields, tableColumns } from '../../shared/lake/described-columns.ts';
import type { TableColumn } from '../../shared/ports.ts';
import { CLICK_ONCE_SQL } from '../../shared/reports/attribution.ts';
import { type ReportDefinition, type ReportRegistry, allViews } from '../../shared/reports/definition.ts';
import { withDay } from '../../shared/reports/views/typed-day.ts';
import * as files from './files.ts';

export interface DbtLake {
  reports: ReportRegistry;
  columns: ReadonlyMap<string, readonly Column[]>;
  roles: TableRoles;
  /** The enabled reports that have days in the lake: tests expect them to be complete. */
  read: ReadonlySet<string>;
  /** Hours from the end of a day in UTC until it should be complete. */
  graceHours: number;
  /** The absolute path of `brand_reports.duckdb`; `undefined` for a lake in S3. */
  database: string | undefined;
}

/** The base views apply the roles of the current settings; other tables have the records as they are. */
const STAGED: Readonly<Record<string, string>> = {
  orders: files.currentSql('order_history'),
  transactions: files.currentSql('transaction_history'),
  attribution: `select *, ${CLICK_ONCE_SQL} as click_once from {{ source('brand_reports', 'attribution') }}`,
};

/** By name, the view that has its rows. */
const MARTS = {
  publisher_daily: 'publisher_performance',
  orders_daily: 'orders_daily',
  commission_due: 'commission_due',
};

export function dbtProject(lake: DbtLake): Map<string, string> {
  const all = Object.values(lake.reports);
  const marts = Object.entries(MARTS).map(
    ([name, view]) => [`models/marts/brand_reports__${name}.sql`, files.viewSql(view)] as const,
  );
  return new Map([
    ['dbt_project.yml', files.PROJECT],
    ['profiles.yml', files.profiles(lake.database === undefined ? undefined : yaml(lake.database))],
    ['.gitignore', files.GITIGNORE],
    ['macros/tests.sql', files.tests(lake.graceHours)],
    ['models/sources.yml', sourcesYaml(lake)],
    ['models/models.yml', `version: 2\nmodels:${files.MARTS}`],
    ...all.map(
      ({ table }) =>
        [`models/staging/${files.STAGED}${table}.sql`, STAGED[table] ?? files.viewSql(table)] as const,
    ),
    ...marts,
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
    const described = columnsYaml(tableColumns(report, { columns }, chosen));
    return source(report.table, report.description, `${keyYaml(report, columns)}${described}`);
  });
  const ofViews = allViews(lake.reports).map((view) => {
    const columns = withDay(view).columns.map(([name, type, description]) => ({ name, type, description }));
    return source(view.name, view.description, columnsYaml(columns));
  });
  const others = [coverageTable, closesTable].map(({ name, description }) => source(name, description));
  const tests = `\n        data_tests:${read.map(files.testsOf).join('')}`;
  return `${files.SOURCE}${[...tables, ...ofViews, ...others, source(freshness.name, freshness.description, tests)].join('')}\n`;
}

/** A test of the documented key. Records without the key are left out. */
function keyYaml({ primaryKey }: ReportDefinition, columns: readonly Column[]): string {
  const key = primaryKey && columns.find(({ field }) => field === primaryKey.field);
  return key === undefined ? '' : files.keyOf(key.name);
}
