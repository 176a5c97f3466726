/** Marts and `query` read the same views, so their numbers agree. Each text from outside passes `jinja`, and in YAML `yaml`. */
import { closesTable } from '../../shared/catalog/closes-table.ts';
import { coverageTable } from '../../shared/catalog/coverage.ts';
import { freshness } from '../../shared/catalog/freshness.ts';
import { type TableRoles, viewOver } from '../../shared/catalog/view-roles.ts';
import type { Column } from '../../shared/column-types.ts';
import { chosenFields, tableColumns } from '../../shared/lake/documents/described-columns.ts';
import type { TableColumn } from '../../shared/ports.ts';
import { CLICK_ONCE_SQL } from '../../shared/reports/attribution.ts';
import { type ReportDefinition, type ReportRegistry, allViews } from '../../shared/reports/definition.ts';
import { withDay } from '../../shared/reports/views/typed-day.ts';
import { inDuckDb } from '../../shared/reports/views/view-sql.ts';
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

/** By table, the columns that have the value of a role, whatever the name of its field. */
const ROLES: Readonly<Record<string, readonly string[]>> = {
  clicks: ['publisher_id', 'channel_id'],
  orders: [
    ...['order_id', 'publisher_id', 'publisher_name', 'channel_id', 'state', 'currency'],
    ...['amount', 'commission', 'kind'],
  ],
  transactions: ['order_id', 'publisher_id', 'product', 'currency', 'amount', 'commission', 'kind'],
};
/** By table, the SQL of columns that replace the table's columns of the same name in a staging model. */
const TYPED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  transactions: { state: 'COALESCE({transactions.line_state}, {transactions.state})' },
  attribution: { click: CLICK_ONCE_SQL },
};

const MARTS = {
  publisher_daily: files.viewSql('publisher_performance'),
  orders_daily: files.viewSql('orders_daily'),
  commission_ledger: files.LEDGER_SQL,
};

export function dbtProject(lake: DbtLake): Map<string, string> {
  const all = Object.values(lake.reports);
  const marts = Object.entries(MARTS).map(
    ([name, sql]) => [`models/marts/brand_reports__${name}.sql`, sql] as const,
  );
  return new Map([
    ['dbt_project.yml', files.PROJECT],
    ['profiles.yml', files.profiles(lake.database === undefined ? undefined : yaml(lake.database))],
    ['.gitignore', files.GITIGNORE],
    ['macros/tests.sql', files.tests(lake.graceHours)],
    ['models/sources.yml', sourcesYaml(lake)],
    [
      'models/models.yml',
      `version: 2\nmodels:${all.map((report) => keyYaml(report, lake)).join('')}${files.MARTS}`,
    ],
    ...all.map(
      ({ table }) => [`models/staging/${files.STAGED}${table}.sql`, stagingSql(table, lake)] as const,
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

function stagingSql(table: string, { columns, roles }: DbtLake): string {
  const own = (columns.get(table) ?? []).map(({ name }) => [name, `"${name}"`]);
  const day = { brand: 'CAST(brand AS varchar)', dt: 'CAST(dt AS varchar)', day: 'TRY_CAST(dt AS date)' };
  const ofRoles = (ROLES[table] ?? []).map((role) => [role, `{${table}.${role}}`]);
  const all: Record<string, string> = {
    ...day,
    ...Object.fromEntries(own),
    ...day,
    ...Object.fromEntries(ofRoles),
    ...TYPED[table],
  };
  const values = Object.entries(all).map(([name, value]) => `  ${value} AS "${name}"`);
  const sql = `select\n${values.join(',\n')}\nfrom ${SOURCE}`;
  const view = { name: table, description: '', columns: [], tables: [table], sql };
  const schemas = new Map([...columns].map(([name, of]) => [name, { columns: [...of] }]));
  const athena = viewOver(view, schemas, roles).sql;
  const text = (model: string) =>
    jinja(model).replaceAll(SOURCE, `{{ source('brand_reports', '${table}') }}`);
  const duckDb = inDuckDb(athena);
  const both = `{% if target.type == 'duckdb' %}${text(duckDb)}{% else %}${text(athena)}{% endif %}`;
  return `${duckDb === athena ? text(athena) : both}\n`;
}

/** Stands for the source until the text is escaped. */
const SOURCE = 'source_of_model';

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
  const ofViews = allViews(lake.reports).map((view) => {
    const columns = withDay(view).columns.map(([name, type, description]) => ({ name, type, description }));
    return source(view.name, view.description, columnsYaml(columns));
  });
  const others = [coverageTable, closesTable].map(({ name, description }) => source(name, description));
  const tests = `\n        data_tests:${read.map(files.testsOf).join('')}`;
  return `${files.SOURCE}${[...tables, ...ofViews, ...others, source(freshness.name, freshness.description, tests)].join('')}\n`;
}

/** A test of the documented key. Records without the key are left out. */
function keyYaml({ table, primaryKey }: ReportDefinition, { columns }: DbtLake): string {
  const key = primaryKey && columns.get(table)?.find(({ field }) => field === primaryKey.field);
  return key === undefined ? '' : files.keyOf(`${files.STAGED}${table}`, key.name);
}
