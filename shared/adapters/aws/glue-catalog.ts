import {
  CreatePartitionCommand,
  CreateTableCommand,
  GetPartitionCommand,
  GetTableCommand,
  type GlueClient,
  type Column as GlueColumn,
  type PartitionInput,
  paginateGetPartitions,
  type StorageDescriptor,
  type Table,
  type TableInput,
  UpdatePartitionCommand,
  UpdateTableCommand,
} from '@aws-sdk/client-glue';
import { BrandReportsError } from '../../errors.ts';
import { typeSpec } from '../../column-types.ts';
import { partitionPath, snapshotPrefix } from '../../lake/paths.ts';
import type { Catalog, Partition, TableShape } from '../../ports.ts';
import type { View } from '../../reports/definition.ts';
import { awsError, awsFailure } from './errors.ts';
import { sleepWithJitter } from '../sleep-with-jitter.ts';
import { checkedKey } from '../keys.ts';

/** Of a change that lost the race against another writer. */
const GLUE_RETRY = { maxAttempts: 10, baseMs: 20, capMs: 1000 };

/**
 * A Glue database as the catalog: each table a Parquet table over `<lakeUrl>/snapshots/<table>/`, the location of
 * each partition the prefix of its current snapshot.
 */
export function openGlueCatalog({
  client,
  database,
  lakeUrl,
}: {
  client: GlueClient;
  database: string;
  lakeUrl: string;
}): Catalog {
  const inDatabase = { DatabaseName: database };
  const locationOf = (table: string) => `${lakeUrl}/snapshots/${checkedKey(table)}/`;

  async function findTable(name: string): Promise<Table | undefined> {
    const found = await orRefused(client.send(new GetTableCommand({ ...inDatabase, Name: name })), [MISSING]);
    return found === 'refused' ? undefined : found.Table;
  }

  /** Creates what is not there, and changes what is until there is nothing to change. Races are tried again. */
  async function converge(
    created: TableInput,
    changed: (found: Table) => TableInput | undefined,
  ): Promise<void> {
    const name = created.Name ?? '';
    for (let round = 0; round < GLUE_RETRY.maxAttempts; round++) {
      const found = await findTable(name);
      if (found === undefined) {
        await orRefused(client.send(new CreateTableCommand({ ...inDatabase, TableInput: created })), [
          EXISTS,
        ]);
        continue;
      }
      const TableInput = changed(found);
      if (TableInput === undefined) return;
      const version = { VersionId: found.VersionId, SkipArchive: true };
      await orRefused(client.send(new UpdateTableCommand({ ...inDatabase, TableInput, ...version })), [
        RACED,
      ]);
      await sleepWithJitter(round, GLUE_RETRY);
    }
    throw contended(`table ${name}`);
  }

  function ensureTable(shape: TableShape): Promise<void> {
    const location = locationOf(shape.name);
    return converge(newTable(shape, location), (found) => {
      refuseOtherLake(found, location, database);
      const lacking = missingColumns(found, shape);
      return lacking.length === 0 ? undefined : grownTable(found, lacking);
    });
  }

  function ensureView(view: View): Promise<void> {
    const wanted = prestoView(view, database);
    return converge(wanted, (found) => {
      refuseTable(found, database);
      return isSameView(found, wanted) ? undefined : wanted;
    });
  }

  async function current(table: string, partition: Partition): Promise<string | undefined> {
    const PartitionValues = partition.map(([, value]) => value);
    const found = await orRefused(
      client.send(new GetPartitionCommand({ ...inDatabase, TableName: table, PartitionValues })),
      [MISSING],
    );
    const location = found === 'refused' ? undefined : found.Partition?.StorageDescriptor?.Location;
    const snapshot = location === undefined ? undefined : lastFolder(location);
    if (location === undefined || snapshot === undefined) return undefined;
    const expected = `${lakeUrl}/${snapshotPrefix(table, partition, snapshot)}`;
    return `${location.replace(/\/$/, '')}/` === expected ? snapshot : undefined;
  }

  async function point(shape: TableShape, partition: Partition, snapshot: string): Promise<void> {
    const PartitionInput = newPartition(
      shape,
      partition,
      `${lakeUrl}/${checkedPrefixOf(shape.name, partition, snapshot)}`,
    );
    const target = { ...inDatabase, TableName: shape.name, PartitionInput };
    const PartitionValueList = PartitionInput.Values;
    for (let round = 0; round < GLUE_RETRY.maxAttempts; round++) {
      const update = client.send(new UpdatePartitionCommand({ ...target, PartitionValueList }));
      if ((await orRefused(update, [MISSING])) !== 'refused') return;
      const create = client.send(new CreatePartitionCommand(target));
      if ((await orRefused(create, [EXISTS])) !== 'refused') return;
      await sleepWithJitter(round, GLUE_RETRY);
    }
    throw contended(`partition ${partitionPath(partition)} of table ${shape.name}`);
  }

  async function pointedAt(table: string, leading: Partition): Promise<Map<string, string[]>> {
    const pointed = new Map<string, string[]>();
    const found = await findTable(table);
    if (found === undefined) return pointed;
    const keys = (found.PartitionKeys ?? []).map(({ Name = '' }) => Name);
    const Expression = leading
      .map(([key, value]) => `${key} = '${value.replaceAll("'", "''")}'`)
      .join(' AND ');
    const which = { ExcludeColumnSchema: true, ...(Expression && { Expression }) };
    for await (const page of paginateGetPartitions(
      { client },
      { ...inDatabase, TableName: table, ...which },
    )) {
      for (const { Values = [], StorageDescriptor } of page.Partitions ?? []) {
        const snapshot = lastFolder(StorageDescriptor?.Location ?? '');
        const path = partitionPath(keys.map((key, index) => [key, Values[index] ?? '']));
        if (snapshot !== undefined) pointed.set(path, [snapshot]);
      }
    }
    return pointed;
  }

  const contended = (what: string) =>
    new BrandReportsError(
      'transient',
      'catalog_unsteady',
      `Others keep changing the ${what} in the Glue database ${database}. Run again later.`,
    );

  return {
    ensureTable: (shape) => inGlue(database, `Preparing the table ${shape.name}`, ensureTable(shape)),
    ensureView: (view) => inGlue(database, `Preparing the view ${view.name}`, ensureView(view)),
    snapshotOf: (table, partition) =>
      inGlue(database, `Reading a partition of ${table}`, current(table, partition)),
    setSnapshot: (shape, partition, snapshot) =>
      inGlue(database, `Switching a partition of ${shape.name}`, point(shape, partition, snapshot)),
    snapshotsByPartition: (table, leading) =>
      inGlue(database, `Reading the partitions of ${table}`, pointedAt(table, leading)),
  };
}

const VIEW = 'VIRTUAL_VIEW';
const MISSING = 'EntityNotFoundException';
const EXISTS = 'AlreadyExistsException';
const RACED = 'ConcurrentModificationException';

async function orRefused<T>(answer: Promise<T>, refusals: readonly string[]): Promise<T | 'refused'> {
  try {
    return await answer;
  } catch (error) {
    if (refusals.includes(awsFailure(error).name)) return 'refused';
    throw error;
  }
}

async function inGlue<T>(database: string, doing: string, act: Promise<T>): Promise<T> {
  try {
    return await act;
  } catch (error) {
    if (awsFailure(error).name === MISSING) throw databaseMissing(database, doing);
    throw awsError(error, `${doing} in the Glue database ${database}`, grant(error, database));
  }
}

function databaseMissing(database: string, doing: string): BrandReportsError {
  return new BrandReportsError(
    'config',
    'database_missing',
    `${doing} failed: the Glue database ${database} or the table in it does not exist. Deploy the stack, or create it: aws glue create-database --database-input '{"Name":"${database}"}'`,
    { context: { database } },
  );
}

function grant(error: unknown, database: string): string {
  if (/lake ?formation/i.test(awsFailure(error).message)) return lakeFormationGrant(database);
  return `Check the AWS credentials and the region, and grant glue:GetTable, CreateTable, UpdateTable, GetPartition, GetPartitions, CreatePartition and UpdatePartition on the catalog, the database ${database} and its tables.`;
}

function lakeFormationGrant(database: string): string {
  const command = (permissions: string, resource: object) =>
    `aws lakeformation grant-permissions --principal DataLakePrincipalIdentifier=ROLE_ARN --permissions ${permissions} --resource '${JSON.stringify(resource)}'`;
  return `Lake Formation governs the database: with the ARN of the role that this runs as, ${command(
    'CREATE_TABLE DESCRIBE',
    { Database: { Name: database } },
  )} and ${command('ALTER INSERT DESCRIBE', { Table: { DatabaseName: database, TableWildcard: {} } })}; where the bucket is registered, DATA_LOCATION_ACCESS on it as well.`;
}

function refuseOtherLake({ Name, StorageDescriptor }: Table, location: string, database: string): void {
  const found = StorageDescriptor?.Location ?? '';
  if (`${found.replace(/\/$/, '')}/` === location) return;
  throw new BrandReportsError(
    'config',
    'other_lake',
    `The table ${Name} in the Glue database ${database} lies at "${found}", not at ${location}: it belongs to another lake. Use another database, or drop that table.`,
  );
}

function refuseTable({ Name, TableType }: Table, database: string): void {
  if (TableType === VIEW) return;
  throw new BrandReportsError(
    'config',
    'not_a_view',
    `${Name} in the Glue database ${database} is a table (${TableType ?? 'of no type'}), and a view is to have its name. Use another database, or drop that table.`,
  );
}

function missingColumns({ StorageDescriptor, PartitionKeys }: Table, { columns }: TableShape): GlueColumn[] {
  const known = [...(StorageDescriptor?.Columns ?? []), ...(PartitionKeys ?? [])].map(({ Name }) =>
    Name?.toLowerCase(),
  );
  return glueColumns(columns).filter(({ Name }) => !known.includes(Name?.toLowerCase()));
}

function newTable({ name, partitionKeys, columns }: TableShape, location: string): TableInput {
  return {
    Name: name,
    TableType: 'EXTERNAL_TABLE',
    Parameters: { EXTERNAL: 'TRUE', classification: 'parquet' },
    PartitionKeys: partitionKeys.map((Name) => ({ Name, Type: 'string' })),
    StorageDescriptor: parquetAt(location, columns),
  };
}

/** UpdateTable replaces the table: everything that an input can hold is taken over. */
function grownTable(found: Table, lacking: readonly GlueColumn[]): TableInput {
  const Columns = [...(found.StorageDescriptor?.Columns ?? []), ...lacking];
  return {
    Name: found.Name,
    Description: found.Description,
    Owner: found.Owner,
    LastAccessTime: found.LastAccessTime,
    LastAnalyzedTime: found.LastAnalyzedTime,
    Retention: found.Retention,
    PartitionKeys: found.PartitionKeys,
    TableType: found.TableType,
    Parameters: found.Parameters,
    StorageDescriptor: { ...found.StorageDescriptor, Columns },
  };
}

/** As Athena writes views: Hive's types outside, the text with Trino's types inside. */
function prestoView({ name, description, columns, sql }: View, database: string): TableInput {
  const inside = {
    originalSql: sql,
    catalog: 'awsdatacatalog',
    schema: database,
    columns: columns.map(([column, type]) => ({ name: column, type: typeSpec(type).trino })),
  };
  return {
    Name: name,
    Description: description,
    TableType: VIEW,
    Parameters: { presto_view: 'true', comment: 'Presto View' },
    PartitionKeys: [],
    StorageDescriptor: {
      Columns: columns.map(([Name, type]) => ({ Name, Type: typeSpec(type).hive })),
      Location: '',
      SerdeInfo: { Name: '-', SerializationLibrary: '-' },
    },
    ViewOriginalText: `/* Presto View: ${Buffer.from(JSON.stringify(inside)).toString('base64')} */`,
    ViewExpandedText: '/* Presto View */',
  };
}

/** The text holds SQL, columns and types. */
function isSameView(found: Table, wanted: TableInput): boolean {
  return found.ViewOriginalText === wanted.ViewOriginalText && found.Description === wanted.Description;
}

function newPartition({ columns }: TableShape, partition: Partition, location: string): PartitionInput {
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

function glueColumns(columns: TableShape['columns']): GlueColumn[] {
  return columns.map(({ name, type }) => ({ Name: name, Type: typeSpec(type).hive }));
}

function checkedPrefixOf(table: string, partition: Partition, snapshot: string): string {
  const prefix = snapshotPrefix(table, partition, snapshot);
  checkedKey(prefix.slice(0, -1));
  return prefix;
}

function lastFolder(location: string): string | undefined {
  return location.split('/').findLast((part) => part !== '');
}
