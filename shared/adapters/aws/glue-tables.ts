import { isDeepStrictEqual } from 'node:util';
import type {
  Column as GlueColumn,
  PartitionIndex,
  PartitionInput,
  StorageDescriptor,
  Table,
  TableInput,
} from '@aws-sdk/client-glue';
import { typeSpec } from '../../base/column-types.ts';
import { BrandReportsError, configError } from '../../base/errors.ts';
import { textOfDerived } from '../../lake/described-columns.ts';
import type { Partition, TableColumn, TableShape } from '../../ports.ts';
import { isNewer } from '../../base/program-version.ts';
import type { View } from '../../reports/definition.ts';
import { withDay } from '../../reports/views/typed-day.ts';
import { awsError, awsFailure } from './errors.ts';

export const VIRTUAL_VIEW = 'VIRTUAL_VIEW';

/** Glue's limit for the comment of a column. */
const MAX_COMMENT_BYTES = 255;

/** A comment that Glue accepts: one line without control characters. Names of fields come from outside. */
function commentOf(text: string): string {
  const line = text.toWellFormed().replaceAll(/\p{C}/gu, '\uFFFD');
  const { read } = new TextEncoder().encodeInto(line, new Uint8Array(MAX_COMMENT_BYTES));
  return line.slice(0, read);
}

function partitionKey(name: string): TableColumn {
  return { name, type: 'string', description: textOfDerived(name) ?? '' };
}

function typesIn({ StorageDescriptor, PartitionKeys }: Table): Map<string | undefined, string> {
  const all = [...(StorageDescriptor?.Columns ?? []), ...(PartitionKeys ?? [])];
  return new Map(
    all.map(({ Name, Type }) => [Name?.toLowerCase(), Type?.toLowerCase().replaceAll(' ', '') ?? '']),
  );
}

/** I7: the columns that have another type in Glue. */
export function retypedColumns(table: Table, { columns }: TableShape) {
  const types = typesIn(table);
  return columns.flatMap(({ name, type }) => {
    const found = types.get(name.toLowerCase());
    const wanted = typeSpec(type).hive;
    return found === undefined || found === wanted ? [] : [{ name, found, wanted }];
  });
}

export function newTable(
  { name, description, partitionKeys, columns }: TableShape,
  location: string,
): TableInput {
  return {
    Name: name,
    Description: description,
    TableType: 'EXTERNAL_TABLE',
    // With this parameter, Athena requests only the partitions of a query, through the indexes.
    Parameters: { EXTERNAL: 'TRUE', classification: 'parquet', 'partition_filtering.enabled': 'true' },
    PartitionKeys: glueColumns(partitionKeys.map(partitionKey)),
    StorageDescriptor: parquetAt(location, columns),
  };
}

/** An index over all keys serves queries of one brand; one over the day, queries of all brands. */
export function partitionIndexes(keys: readonly string[]): PartitionIndex[] {
  const all = { IndexName: 'all', Keys: [...keys] };
  return keys.length === 1 ? [all] : [all, { IndexName: 'time', Keys: keys.slice(-1) }];
}

/**
 * The table with the missing columns, our descriptions and our parameters, as a new table would have them. UpdateTable
 * replaces the whole table, so every other field that an input can have is copied (I7: columns are only added).
 * @returns `undefined` if the table has all of it
 */
export function updatedTable(
  found: Table,
  shape: TableShape,
  { Description, Parameters = {} }: TableInput,
): TableInput | undefined {
  const types = typesIn(found);
  const wanted = glueColumns(shape.columns);
  const comments = new Map(wanted.map(({ Name, Comment }) => [Name, Comment]));
  const present = (found.StorageDescriptor?.Columns ?? []).map((column) => {
    const Comment = comments.get(column.Name);
    return Comment === undefined ? column : { ...column, Comment };
  });
  const missing = wanted.filter(({ Name }) => !types.has(Name?.toLowerCase()));
  const { Name, Owner, LastAccessTime, LastAnalyzedTime, Retention, PartitionKeys, TableType } = found;
  const kept = { Name, Owner, LastAccessTime, LastAnalyzedTime, Retention, PartitionKeys, TableType };
  const changed = {
    Description,
    Parameters: { ...found.Parameters, ...Parameters },
    StorageDescriptor: { ...found.StorageDescriptor, Columns: [...present, ...missing] },
  };
  return isDeepStrictEqual({ ...found, ...changed }, found) ? undefined : { ...kept, ...changed };
}

/** Trino and Athena treat a table as their view if its comment is this text. */
const VIEW_COMMENT = 'Presto View';

/**
 * A view in the form that Athena writes: Hive's types in the storage descriptor, Trino's types in the encoded text. It has
 * no `Description`: Trino reads that as the comment of the table, which has to be `VIEW_COMMENT`. So the description is a
 * parameter for people, and part of the text for Trino. `runAsInvoker` is set because without an owner Trino has no other
 * user to run the query.
 * @param program the version that writes it
 */
export function prestoView(view: View, database: string, program: string): TableInput {
  const { name, description, columns, sql } = withDay(view);
  const inside = {
    originalSql: sql,
    catalog: 'awsdatacatalog',
    schema: database,
    columns: columns.map(([column, type, comment]) => ({
      name: column,
      type: typeSpec(type).trino,
      comment,
    })),
    comment: description,
    runAsInvoker: true,
  };
  return {
    Name: name,
    TableType: VIRTUAL_VIEW,
    Parameters: { presto_view: 'true', comment: VIEW_COMMENT, description, [PROGRAM]: program },
    PartitionKeys: [],
    StorageDescriptor: {
      Columns: columns.map(([Name, type, Comment]) => ({ Name, Type: typeSpec(type).hive, Comment })),
      Location: '',
      SerdeInfo: { Name: '-', SerializationLibrary: '-' },
    },
    ViewOriginalText: `/* ${VIEW_COMMENT}: ${Buffer.from(JSON.stringify(inside)).toString('base64')} */`,
    ViewExpandedText: `/* ${VIEW_COMMENT} */`,
  };
}

const PROGRAM = 'brand-reports:program';

/** Whether a later program wrote the view: during an upgrade, or after a rollback, both versions may run. */
export function isOfLaterProgram({ Parameters }: Table, program: string): boolean {
  return isNewer(Parameters?.[PROGRAM] ?? '0', program);
}

export function newPartition(
  { columns }: TableShape,
  partition: Partition,
  location: string,
): PartitionInput {
  return {
    Values: partition.map(([, value]) => value),
    Parameters: { classification: 'parquet' },
    StorageDescriptor: parquetAt(location, columns),
  };
}

function parquetAt(location: string, columns: TableShape['columns']): StorageDescriptor {
  return {
    Columns: glueColumns(columns),
    Location: location,
    InputFormat: 'org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat',
    OutputFormat: 'org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat',
    SerdeInfo: {
      SerializationLibrary: 'org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe',
      Parameters: { 'serialization.format': '1' },
    },
  };
}

export function glueColumns(columns: TableShape['columns']): GlueColumn[] {
  return columns.map(({ name, type, description }) => ({
    ...{ Name: name, Type: typeSpec(type).hive },
    ...(description && { Comment: commentOf(description) }),
  }));
}

export const MISSING = 'EntityNotFoundException';
export const EXISTS = 'AlreadyExistsException';
export const RACED = 'ConcurrentModificationException';

/** The error after too many lost races: other writers keep changing it, so this run stops waiting. */
export function contended(what: string, database: string): BrandReportsError {
  return new BrandReportsError(
    'transient',
    'catalog_contended',
    `Others keep changing the ${what} in the Glue database ${database}. Run again later.`,
  );
}

function databaseMissing(database: string, doing: string): BrandReportsError {
  return new BrandReportsError(
    'config',
    'database_missing',
    `${doing} failed: the Glue database ${database} or the table in it does not exist. Deploy the stack, or create it: aws glue create-database --database-input '{"Name":"${database}"}'`,
    { context: { database } },
  );
}

export async function inGlue<T>(database: string, doing: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (awsFailure(error).name === MISSING) throw databaseMissing(database, doing);
    throw awsError(error, `${doing} in the Glue database ${database}`, grantFor(error, database));
  }
}

function grantFor(error: unknown, database: string): string {
  if (/lake ?formation/i.test(awsFailure(error).message)) return lakeFormationGrant(database);
  return `Check the AWS credentials and the region, and grant glue:GetTable, CreateTable, UpdateTable, GetPartition, GetPartitions, CreatePartition, UpdatePartition and DeletePartition on the catalog, the database ${database} and its tables.`;
}

function lakeFormationGrant(database: string): string {
  const command = (permissions: string, resource: object) =>
    `aws lakeformation grant-permissions --principal DataLakePrincipalIdentifier=ROLE_ARN --permissions ${permissions} --resource '${JSON.stringify(resource)}'`;
  return `Lake Formation governs the database: with the ARN of the role that this runs as in place of ROLE_ARN, run ${command(
    'CREATE_TABLE DESCRIBE',
    { Database: { Name: database } },
  )} and ${command('ALTER INSERT DESCRIBE', { Table: { DatabaseName: database, TableWildcard: {} } })}; if the bucket is registered with Lake Formation, also grant DATA_LOCATION_ACCESS on it.`;
}

/** @throws BrandReportsError `config` if the table is at another location than this lake's */
export function refuseOtherLake(
  { Name, StorageDescriptor }: Table,
  location: string,
  database: string,
): void {
  const found = StorageDescriptor?.Location ?? '';
  if (`${found.replace(/\/$/, '')}/` === location) return;
  throw configError(
    'other_lake',
    `The table ${Name} in the Glue database ${database} is at "${found}", not at ${location}: it belongs to another lake. Use another database, or drop that table.`,
  );
}

/** I7. @throws BrandReportsError `config` if columns have other types than in the lake */
export function refuseRetyped(
  { Name }: Table,
  retyped: ReturnType<typeof retypedColumns>,
  { database, lakeUrl }: { database: string; lakeUrl: string },
): void {
  if (retyped.length === 0) return;
  const columns = retyped.map(({ name, found, wanted }) => `${name} is ${found} and not ${wanted}`);
  throw new BrandReportsError(
    'config',
    'column_types',
    `The table ${Name} in the Glue database ${database} has other types than the lake ${lakeUrl} (${columns.join(', ')}), so queries of it would fail: the lake was emptied while its tables were kept, or somebody changed the table. Drop the table; no record is lost: aws glue delete-table --database-name ${database} --name ${Name}; then test the function watch with the event {"rebuildCatalog": true}, which recreates it.`,
    { context: { database } },
  );
}

/** The bytes that Glue accepts as the text of a view. */
const MAX_VIEW_BYTES = 409_600;

/** @throws BrandReportsError `config` `view_too_large` for a view that Glue would refuse without the reason */
export function refuseLargeView({ Name, ViewOriginalText = '' }: TableInput): void {
  const { length } = ViewOriginalText;
  if (length <= MAX_VIEW_BYTES) return;
  throw configError(
    'view_too_large',
    `The view ${Name} would have ${length} bytes; Glue accepts ${MAX_VIEW_BYTES}. Brands with the same fields, kinds and states share one part of the view. Give brands the same, or deploy some of the brands as a second stack.`,
  );
}

/** @throws BrandReportsError `config` if a table has the name of a view */
export function refuseTable({ Name, TableType }: Table, database: string): void {
  if (TableType === VIRTUAL_VIEW) return;
  throw configError(
    'not_a_view',
    `${Name} in the Glue database ${database} is a table (${TableType ?? 'of no type'}), but a view of that name is needed. Use another database, or drop that table.`,
  );
}
