/**
 * Serves the part of Glue that the lake uses, over real HTTP: tables with versions, partitions, lists in small pages.
 * Faults: `deny` refuses every call; `beforeWrite` runs code just before the next write, such as the write of another run.
 */
import { GlueClient } from '@aws-sdk/client-glue';
import { isJsonObject, type Json, type JsonObject } from '../../shared/base/json.ts';
import { type Access, PLACE } from './access.ts';
import { AwsFault, type Needed, startAwsJsonServer, stringOf } from './aws-json-server.ts';
import { icebergDatabase } from '../../shared/lake/paths.ts';
import { awsTestOptions } from './aws-test-options.ts';

interface StoredTable {
  table: JsonObject;
  version: number;
  /** Partitions by their values, joined by `/`. */
  partitions: Map<string, JsonObject>;
  /** In the order of the requests. */
  indexes?: Json;
}

const PAGE = 2;

export async function startGlueServer(database: string, { access }: { access?: Access } = {}) {
  const tables = new Map<string, StoredTable>();
  /** Of the database beside it. */
  const icebergTables = new Map<string, StoredTable>();
  const faults: {
    /** Every call is refused with this message. */
    deny?: string;
    /** Runs just before the next table or partition is written. */
    beforeWrite?: (() => void) | undefined;
  } = {};

  function tableOf(input: JsonObject, name: Json | undefined): StoredTable {
    const found = tablesIn(input).get(stringOf(name));
    if (found === undefined) throw missing('Table');
    return found;
  }

  function tablesIn({ DatabaseName }: JsonObject): typeof tables {
    if (faults.deny !== undefined) throw new AwsFault('AccessDeniedException', faults.deny);
    if (DatabaseName === icebergDatabase(database)) return icebergTables;
    if (DatabaseName !== database) throw missing(`Database ${stringOf(DatabaseName)}`);
    return tables;
  }

  function interfere(): void {
    const { beforeWrite } = faults;
    faults.beforeWrite = undefined;
    beforeWrite?.();
  }

  const operations: Parameters<typeof startAwsJsonServer>[0] = {
    GetTable: (input) => {
      const { table, version } = tableOf(input, input.Name);
      return { Table: { ...table, DatabaseName: input.DatabaseName ?? null, VersionId: String(version) } };
    },
    CreateTable: (input) => {
      const found = tablesIn(input);
      interfere();
      const table = objectIn(input, 'TableInput');
      const name = stringOf(table.Name);
      if (found.has(name)) throw new AwsFault('AlreadyExistsException', 'Table already exists.');
      const { PartitionIndexes } = input;
      const indexes = PartitionIndexes === undefined ? {} : { indexes: PartitionIndexes };
      found.set(name, { table, version: 0, partitions: new Map(), ...indexes });
      return {};
    },
    UpdateTable: (input) => {
      interfere();
      const table = objectIn(input, 'TableInput');
      const stored = tableOf(input, table.Name);
      if (input.VersionId !== undefined && input.VersionId !== String(stored.version)) {
        throw new AwsFault('ConcurrentModificationException', 'Update table failed: concurrent modification');
      }
      Object.assign(stored, { table, version: stored.version + 1 });
      return {};
    },
    GetPartitions: (input) => {
      const { table, partitions } = tableOf(input, input.TableName);
      const keys = Array.isArray(table.PartitionKeys) ? table.PartitionKeys : [];
      const names = keys.map((key) => (isJsonObject(key) ? stringOf(key.Name) : ''));
      const conditions = [...stringOf(input.Expression).matchAll(/(\w+) (=|>=|<=) '([^']*)'/g)];
      const found = [...partitions].filter(([path]) =>
        conditions.every(([, key = '', operator = '', wanted = '']) => {
          const value = path.split('/')[names.indexOf(key)] ?? '';
          return operator === '=' ? value === wanted : operator === '>=' ? value >= wanted : value <= wanted;
        }),
      );
      const from = Number(input.NextToken ?? 0);
      const page = found.slice(from, from + PAGE).map(([, partition]) => partition);
      return { Partitions: page, ...(from + PAGE < found.length && { NextToken: String(from + PAGE) }) };
    },
    CreatePartition: (input) => {
      interfere();
      const { partitions } = tableOf(input, input.TableName);
      const partition = objectIn(input, 'PartitionInput');
      const path = valuesIn(partition.Values);
      if (partitions.has(path)) throw new AwsFault('AlreadyExistsException', 'Partition already exists.');
      partitions.set(path, partition);
      return {};
    },
    DeletePartition: (input) => {
      const { partitions } = tableOf(input, input.TableName);
      if (!partitions.delete(valuesIn(input.PartitionValues))) throw missing('Partition');
      return {};
    },
    UpdatePartition: (input) => {
      const { partitions } = tableOf(input, input.TableName);
      const path = valuesIn(input.PartitionValueList);
      if (!partitions.has(path)) throw missing('Partition');
      partitions.set(path, objectIn(input, 'PartitionInput'));
      return {};
    },
  };
  const server = await startAwsJsonServer(operations, neededInGlue, access);
  return {
    ...server,
    tables,
    icebergTables,
    faults,
    client: new GlueClient(awsTestOptions(server.url)),
  };
}

/** Glue requires permission for every action on a table also on the catalog and on the database. */
function neededInGlue(operation: string, input: JsonObject): Needed {
  const { Name } = isJsonObject(input.TableInput) ? input.TableInput : input;
  const database = stringOf(input.DatabaseName);
  const table = `table/${database}/${stringOf(input.TableName ?? Name)}`;
  const resources = ['catalog', `database/${database}`, table];
  return {
    action: `glue:${operation}`,
    resources: resources.map((resource) => `arn:aws:glue:${PLACE}:${resource}`),
  };
}

function missing(what: string): AwsFault {
  return new AwsFault('EntityNotFoundException', `${what} not found.`);
}

function objectIn(input: JsonObject, name: string): JsonObject {
  const value = input[name];
  if (isJsonObject(value)) return value;
  throw new AwsFault('InvalidInputException', `${name} is missing`);
}

function valuesIn(values: Json | undefined): string {
  return Array.isArray(values) ? values.map(stringOf).join('/') : '';
}
