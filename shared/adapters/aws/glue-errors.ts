import type { Table } from '@aws-sdk/client-glue';
import { BrandReportsError, configError } from '../../errors.ts';
import { awsError, awsFailure } from './errors.ts';
import { VIRTUAL_VIEW, type retypedColumns } from './glue-tables.ts';

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
  return `Check the AWS credentials and the region, and grant glue:GetTable, CreateTable, UpdateTable, GetPartition, GetPartitions, CreatePartition and UpdatePartition on the catalog, the database ${database} and its tables.`;
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

/** @throws BrandReportsError `config` if a table has the name of a view */
export function refuseTable({ Name, TableType }: Table, database: string): void {
  if (TableType === VIRTUAL_VIEW) return;
  throw configError(
    'not_a_view',
    `${Name} in the Glue database ${database} is a table (${TableType ?? 'of no type'}), but a view of that name is needed. Use another database, or drop that table.`,
  );
}
