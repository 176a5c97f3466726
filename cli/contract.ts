/**
 * Makes the data contract of a table, in the Open Data Contract Standard 3.1: its columns with types, keys and roles, when
 * its days are complete, the queries that prove it, and where it is. It follows from the lake and the settings alone.
 */
import { isDeepStrictEqual } from 'node:util';
import { type ColumnType, SYNCED_AT, typeSpec } from '../shared/column-types.ts';
import { coverageTable } from '../shared/catalog/coverage.ts';
import { freshness } from '../shared/catalog/freshness.ts';
import { MINUTE_MS } from '../shared/days.ts';
import { hasRows } from '../shared/lake/documents/ledger.ts';
import { type ReportLedgers, committedDays } from '../shared/lake/documents/read.ts';
import { DAY_PARTITION_KEYS } from '../shared/lake/paths.ts';
import type { TableSchema } from '../shared/lake/table/columns.ts';
import { PROBLEM_STATES, gracePeriodMs } from '../shared/planning/day-state.ts';
import { enabledPolicy } from '../shared/planning/policy.ts';
import { primaryKeyField } from '../shared/planning/primary-key.ts';
import { fieldsOfKey } from '../shared/records/record-list.ts';
import type { ReportDefinition } from '../shared/reports/definition.ts';
import type { Settings } from '../shared/settings/settings.ts';
import { type DescribedColumn, describedColumns } from './table-columns.ts';

/** What a contract follows from. */
export interface ContractSource {
  report: ReportDefinition;
  schema: TableSchema;
  /** What the lake has of the report, by brand. */
  own: readonly ReportLedgers[];
  /** They decide when days are complete: without them the contract has no service level. */
  settings: Settings | undefined;
  /** Where the table is, as the standard describes a server. */
  server: { type: 'athena' | 'duckdb'; server: string; schema: string } & Readonly<Record<string, string>>;
}

/** The document, ready to be written as YAML. */
export function contractOf({ report, schema, own, settings, server }: ContractSource) {
  const columns = describedColumns(report, schema, own, settings);
  const key = keyColumns(report, schema, own, settings);
  const levels = Object.keys(settings?.brands ?? {}).flatMap((brand) => levelsOf(report, brand, settings));
  return {
    apiVersion: 'v3.1.0',
    kind: 'DataContract',
    id: `brand-reports-${report.table}`,
    name: report.table,
    // A table's columns only grow and never change their types (I7), so each version is compatible with those before.
    version: `1.${columns.length}.0`,
    status: 'active',
    description: {
      purpose: report.description,
      usage: `Closed days are re-read and may change: the table "changes" has what changed. The view "${freshness.name}" shows up to when days are complete.`,
    },
    servers: [server],
    schema: [
      {
        name: report.table,
        physicalType: 'table',
        logicalType: 'object',
        description: report.description,
        dataGranularityDescription: 'One row a record of the service, in the partition of its brand and day',
        properties: columns.map((column) => propertyOf(column, key, server.type)),
        quality: qualityOf(report),
      },
    ],
    ...(levels.length > 0 && { slaDefaultElement: `${report.table}.dt`, slaProperties: levels }),
  };
}

function propertyOf(
  { name, type, description, roles }: DescribedColumn,
  key: readonly string[],
  server: 'athena' | 'duckdb',
) {
  const partition = DAY_PARTITION_KEYS.findIndex((each) => each === name);
  const position = key.indexOf(name);
  return {
    ...{ name, logicalType: logicalType(type), description },
    physicalType: typeSpec(type)[server === 'athena' ? 'hive' : 'duckdb'],
    required: partition !== -1 || position !== -1 || name === SYNCED_AT,
    ...(position !== -1 && { primaryKey: true, primaryKeyPosition: position + 1 }),
    ...(partition !== -1 && { partitioned: true, partitionKeyPosition: partition + 1 }),
    ...(roles.length > 0 && {
      customProperties: roles.map(({ role, brands }) => {
        return { property: 'role', value: role, description: `Of ${brands.join(', ')}` };
      }),
    }),
  };
}

function logicalType(type: ColumnType) {
  if (type === 'bigint') return 'integer';
  return type === 'double' || type.startsWith('decimal') ? 'number' : type;
}

/** The columns that identify a row, with the partition columns: empty unless each row of each brand shows the same ones. */
function keyColumns(
  report: ReportDefinition,
  { columns }: TableSchema,
  own: readonly ReportLedgers[],
  settings: Settings | undefined,
): string[] {
  const keys = own
    .filter(({ ledgers }) => hasRows(ledgers.values()))
    .map((of) => {
      const key = primaryKeyField({ report, settings: settings?.brands[of.brand]?.reports[report.name] });
      const names = fieldsOfKey(key ?? []).map(
        (field) => columns.find((each) => each.field === field)?.name ?? '',
      );
      const isProven = committedDays([of]).every(({ committed: { rows, values } }) =>
        names.every((name) => rows === 0 || (!values?.keyIsNone && values?.filled?.[name] === rows)),
      );
      return isProven ? names : [];
    });
  const [first = []] = keys;
  const isShared = first.length > 0 && keys.every((each) => isDeepStrictEqual(each, first));
  return isShared ? [...DAY_PARTITION_KEYS, ...first] : [];
}

/** Queries that run on Athena and DuckDB alike. */
function qualityOf({ name }: ReportDefinition) {
  const days = PROBLEM_STATES.map((state) => `days_${state}`).join(' + ');
  const check = { type: 'sql', mustBe: 0 };
  return [
    {
      ...{ ...check, name: 'complete_until_yesterday', dimension: 'completeness', severity: 'error' },
      description: 'No day up to yesterday is missing, failed, overdue or unverified',
      query: `SELECT coalesce(sum(${days}), 0) FROM ${freshness.name} WHERE report = '${name}'`,
    },
    {
      ...{ ...check, name: 'no_open_findings', dimension: 'accuracy', severity: 'warning' },
      description: 'No day has a finding: something odd about a complete day',
      query: `SELECT count(*) FROM ${coverageTable.name} WHERE report = '${name}' AND findings IS NOT NULL`,
    },
  ];
}

/** The service levels of a brand's report, from its schedule; none while it is not enabled. */
function levelsOf(report: ReportDefinition, brand: string, settings: Settings | undefined) {
  const policy = enabledPolicy(settings, brand, report);
  const schedule = settings?.brands[brand]?.reports[report.name]?.schedule;
  if (!policy || schedule === undefined) return [];
  const minutes = policy.lateMinutes + gracePeriodMs(policy) / MINUTE_MS;
  const where = { element: `${report.table}.dt`, scheduler: 'EventBridge Scheduler', schedule };
  return [
    {
      ...{ property: 'latency', value: minutes, unit: 'minutes', ...where },
      description: `${brand}: every day since ${policy.startDate} is complete until yesterday, at most so long after the day has ended in ${policy.timeZone}`,
    },
    {
      ...{ property: 'frequency', value: policy.maxGapMs / MINUTE_MS, unit: 'minutes', ...where },
      description: `${brand}: the longest time between two runs`,
    },
  ];
}
