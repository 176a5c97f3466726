/**
 * Prints the data contract of tables, in the Open Data Contract Standard 3.1. It contains columns with types, keys and roles,
 * the hour by which days are complete, queries that prove it, and the location of the table. Everything follows from the lake
 * and the settings.
 */
import { isDeepStrictEqual } from 'node:util';
import { SYNCED_AT, typeSpec } from '../../shared/column-types.ts';
import { MINUTE_MS } from '../../shared/days.ts';
import {
  type ReportLedgers,
  committedDays,
  readLedgers,
  readSchema,
} from '../../shared/lake/documents/read.ts';
import { type DescribedColumn, columnsOfShape } from '../../shared/lake/documents/described-columns.ts';
import { hasRows } from '../../shared/lake/documents/ledger.ts';
import { DAY_PARTITION_KEYS, QUERY_RESULTS_PREFIX } from '../../shared/lake/paths.ts';
import type { StoredSchema } from '../../shared/lake/documents/schema.ts';
import { lifecycleTables } from '../../shared/lifecycle/index.ts';
import { PROBLEM_STATES, gracePeriodMs } from '../../shared/planning/day-state.ts';
import { enabledPolicy } from '../../shared/planning/policy.ts';
import { primaryKeyField } from '../../shared/planning/primary-key.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import { fieldsOfKey } from '../../shared/records/record-list.ts';
import type { ReportDefinition } from '../../shared/reports/definition.ts';
import { reports } from '../../shared/reports/index.ts';
import type { Settings } from '../../shared/settings/settings.ts';
import { databaseFile } from '../open-database.ts';
import type { CliCommand, SharedFlags } from '../options.ts';
import { print } from '../output.ts';
import { reportNamed, sqlLake } from '../run-options.ts';
import { literal } from '../sql-tables.ts';
import { columnsWithRoles } from '../table-columns.ts';

/** YAML reads the escapes that `print` writes for control characters only in double quotes. */
const QUOTED = { defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'PLAIN', lineWidth: 0 } as const;

export function addContract(program: CliCommand): void {
  program
    .command('contract')
    .description('print the data contract of tables: columns, keys, roles, freshness (ODCS 3.1, YAML)')
    .argument('[table...]', 'reports or their tables, e.g. orders (default: every table)')
    .takes('lake', 'settings', 'environment', 'database')
    .example('contract orders > orders.odcs.yaml')
    .action(async (names: readonly string[], flags: SharedFlags) => {
      // Only the promise of freshness needs settings.
      const { store, settings, nowMs } = await sqlLake(flags);
      const ledgers = await readLedgers(store, reports, {}, nowMs);
      const { stringify } = await import('yaml');
      for (const report of names.length > 0 ? new Set(names.map(reportNamed)) : Object.values(reports)) {
        const own = ledgers.filter((each) => each.report === report);
        const server = serverOf(store, flags.database);
        const contract = contractOf(report, await readSchema(store, report), own, settings, server);
        // A document begins with `---`, so that the documents of several tables can follow each other.
        print(`---\n${stringify(contract, QUOTED).trimEnd()}`);
      }
    });
}

/** @param database of Glue; missing: the default database of a deployment */
function serverOf({ url, localFolder }: ObjectStore, database = 'brand_reports') {
  if (localFolder !== undefined)
    return { server: 'duckdb', type: 'duckdb', database: databaseFile(localFolder), schema: 'main' };
  const stagingDir = `${url}/${QUERY_RESULTS_PREFIX}`;
  return { server: 'athena', type: 'athena', catalog: 'awsdatacatalog', schema: database, stagingDir };
}

/** The contract of a table. @param own the ledgers of the report, by brand */
function contractOf(
  report: ReportDefinition,
  schema: StoredSchema,
  own: readonly ReportLedgers[],
  settings: Settings | undefined,
  server: ReturnType<typeof serverOf>,
) {
  const { name, table, description } = report;
  const engine = server.type === 'athena' ? 'hive' : 'duckdb';
  const key = keyColumns(report, schema, own, settings);
  const properties = columnsWithRoles(report, schema, own, settings).map((column) =>
    propertyOf(column, key, engine),
  );
  const ofLifecycle = lifecycleTables({ [name]: report }).map((shape) => ({
    ...{ name: shape.name, physicalType: 'table', description: shape.description },
    properties: columnsOfShape(shape).map((column) => propertyOf(column, [], engine)),
  }));
  const all = Object.keys(settings?.brands ?? {});
  const brands = all.filter((brand) => enabledPolicy(settings, brand, report));
  const levels = brands.flatMap((brand) => levelsOf(report, brand, settings));
  return {
    ...{
      apiVersion: 'v3.1.0',
      kind: 'DataContract',
      id: `brand-reports-${table}`,
      name: table,
      status: 'active',
    },
    // Columns only grow and never change their types (I7), so each version is compatible with the earlier versions.
    version: `1.${properties.length}.0`,
    description: {
      purpose: description,
      usage: 'Closed days may change: the table "changes" lists the changes.',
    },
    servers: [server],
    schema: [
      { name: table, physicalType: 'table', description, properties, quality: qualityOf(name, brands) },
      ...ofLifecycle,
    ],
    ...(levels.length > 0 && { slaDefaultElement: `${table}.dt`, slaProperties: levels }),
  };
}

/** @param key the columns that identify a row */
function propertyOf(column: DescribedColumn, key: readonly string[], engine: 'hive' | 'duckdb') {
  const [position, partition] = [key.indexOf(column.name), PARTITION_KEYS.indexOf(column.name)];
  const roles = column.roles.map(({ role, brands }) => {
    return { property: 'role', value: role, description: `Of ${brands.join(', ')}` };
  });
  return {
    ...{ name: column.name, description: column.description, physicalType: typeSpec(column.type)[engine] },
    logicalType: LOGICAL_TYPES.get(column.type.replace(/\(.*/, '')) ?? column.type,
    required: position !== -1 || partition !== -1 || column.name === SYNCED_AT,
    ...(position !== -1 && { primaryKey: true, primaryKeyPosition: position + 1 }),
    ...(partition !== -1 && { partitioned: true, partitionKeyPosition: partition + 1 }),
    ...(roles.length > 0 && { customProperties: roles }),
  };
}

const PARTITION_KEYS: readonly string[] = DAY_PARTITION_KEYS;
const LOGICAL_TYPES = new Map([
  ['bigint', 'integer'],
  ['double', 'number'],
  ['decimal', 'number'],
]);

/** The columns that identify a row: the partition, and the key if it identifies the rows of every brand. */
function keyColumns(
  report: ReportDefinition,
  { columns }: StoredSchema,
  own: readonly ReportLedgers[],
  settings: Settings | undefined,
): string[] {
  const withRows = own.filter(({ ledgers }) => hasRows(ledgers.values()));
  const [first, ...others] = withRows.map(({ brand }) => {
    const key = primaryKeyField({ report, settings: settings?.brands[brand]?.reports[report.name] });
    return fieldsOfKey(key ?? []).map((field) => columns.find((each) => each.field === field)?.name ?? '');
  });
  const isProven = committedDays(withRows).every(({ committed: { rows, values } }) =>
    first?.every((name) => rows === 0 || (!values?.keyIsNone && values?.filled?.[name] === rows)),
  );
  const isKey =
    first && first.length > 0 && isProven && others.every((each) => isDeepStrictEqual(each, first));
  return isKey ? [...PARTITION_KEYS, ...first] : [];
}

/** Queries for Athena and DuckDB that return 0 while the promises hold. @param brands the promises are about them */
function qualityOf(report: string, brands: readonly string[]) {
  const days = PROBLEM_STATES.map((state) => `days_${state}`).join(' + ');
  // `freshness` has no row for a brand whose days were never read, and counts days from the first day that was read.
  const begun = `CASE WHEN brand IN (${brands.map(literal).join(', ')}) AND complete_until IS NOT NULL THEN 1 END`;
  const others = brands.length > 0 ? `${brands.length} - count(${begun}) + ` : '';
  const complete = `SELECT ${others}coalesce(sum(${days}), 0) FROM freshness WHERE report = '${report}'`;
  const findings = `SELECT count(*) FROM coverage WHERE report = '${report}' AND findings IS NOT NULL`;
  return [
    { name: 'complete_until_yesterday', type: 'sql', dimension: 'completeness', mustBe: 0, query: complete },
    { name: 'no_open_findings', type: 'sql', dimension: 'accuracy', mustBe: 0, query: findings },
  ];
}

/** The time by which days of a brand are complete, by its schedule; empty while the report is not enabled. */
function levelsOf(report: ReportDefinition, brand: string, settings: Settings | undefined) {
  const policy = enabledPolicy(settings, brand, report);
  const schedule = settings?.brands[brand]?.reports[report.name]?.schedule ?? '';
  if (!policy) return [];
  const { lateMinutes, startDate, timeZone } = policy;
  const value = lateMinutes + gracePeriodMs(policy) / MINUTE_MS;
  const description = `${brand}: each day from ${startDate} to yesterday is complete, at most so long after its end in ${timeZone}`;
  return [
    {
      property: 'latency',
      value,
      unit: 'minutes',
      scheduler: 'EventBridge Scheduler',
      schedule,
      description,
    },
  ];
}
