/**
 * The Glue catalog publishes the lake to Athena. Each table is a Parquet table over `<lakeUrl>/snapshots/<table>/`, and the
 * location of each partition is the prefix of its current snapshot. Publishing a day is therefore one request, and a query
 * sees either the old or the new snapshot (I3). Without the checks here, a table of another lake would be adopted and its
 * partitions moved. Glue has no transactions, so every change is retried until the table is as intended (I5).
 */
import {
  CreatePartitionCommand,
  CreateTableCommand,
  DeletePartitionCommand,
  GetTableCommand,
  GlueClient,
  type PartitionIndex,
  paginateGetPartitions,
  type Table,
  type TableInput,
  UpdatePartitionCommand,
  UpdateTableCommand,
} from '@aws-sdk/client-glue';
import { partitionPath, snapshotPrefix, tablePrefix } from '../../lake/paths.ts';
import type { Catalog, Partition, TableShape, ValueRange } from '../../ports.ts';
import type { View } from '../../reports/definition.ts';
import { awsClientOptions, unlessFailedWith } from './errors.ts';
import {
  EXISTS,
  MISSING,
  RACED,
  contended,
  inGlue,
  isOfLaterProgram,
  newPartition,
  newTable,
  partitionIndexes,
  prestoView,
  refuseLargeView,
  refuseOtherLake,
  refuseRetyped,
  refuseTable,
  retypedColumns,
  updatedTable,
} from './glue-tables.ts';
import { sleepWithJitter } from '../system-clock.ts';
import { checkedKey } from '../keys.ts';

const GLUE_RETRY = { maxAttempts: 10, baseMs: 20, capMs: 1000 };

/** @param lakeUrl without `/` at its end @param program the version that writes views: a view of a later version stays */
export function openGlueCatalog(
  database: string,
  lakeUrl: string,
  client = new GlueClient(awsClientOptions),
  program = '0',
): Catalog {
  const inDatabase = { DatabaseName: database };
  /** By table: how many columns it certainly has; a schema only grows. */
  const ensured = new Map<string, number>();
  const locationOf = (table: string) => `${lakeUrl}/${tablePrefix(checkedKey(table))}`;

  async function findTable(name: string): Promise<Table | undefined> {
    const read = client.send(new GetTableCommand({ ...inDatabase, Name: name }));
    return (await unlessFailedWith([MISSING], read))?.Table;
  }

  /** I5: creates a missing table, or updates an existing table until it is as intended; lost races are retried. */
  async function converge(
    created: TableInput,
    changed: (found: Table) => TableInput | undefined,
    PartitionIndexes?: PartitionIndex[],
  ): Promise<void> {
    const name = created.Name ?? '';
    for (let round = 0; round < GLUE_RETRY.maxAttempts; round++) {
      const found = await findTable(name);
      if (found === undefined) {
        const wanted = { TableInput: created, ...(PartitionIndexes && { PartitionIndexes }) };
        const create = client.send(new CreateTableCommand({ ...inDatabase, ...wanted }));
        await unlessFailedWith([EXISTS], create);
        continue;
      }
      const TableInput = changed(found);
      if (TableInput === undefined) return;
      const version = { VersionId: found.VersionId, SkipArchive: true };
      const update = client.send(new UpdateTableCommand({ ...inDatabase, TableInput, ...version }));
      await unlessFailedWith([RACED], update);
      await sleepWithJitter(round, GLUE_RETRY);
    }
    throw contended(`table ${name}`, database);
  }

  async function ensureTable(shape: TableShape): Promise<void> {
    const location = locationOf(shape.name);
    const created = newTable(shape, location);
    const changed = (found: Table) => {
      refuseOtherLake(found, location, database);
      refuseRetyped(found, retypedColumns(found, shape), { database, lakeUrl });
      return updatedTable(found, shape, created);
    };
    await converge(created, changed, partitionIndexes(shape.partitionKeys));
    ensured.set(shape.name, shape.columns.length);
  }

  async function ensureView(view: View): Promise<void> {
    const wanted = prestoView(view, database, program);
    refuseLargeView(wanted);
    return converge(wanted, (found) => {
      refuseTable(found, database);
      // The encoded text contains SQL, columns, types and descriptions.
      const isSame = found.ViewOriginalText === wanted.ViewOriginalText;
      return isSame || isOfLaterProgram(found, program) ? undefined : wanted;
    });
  }

  async function setSnapshot(shape: TableShape, partition: Partition, snapshot: string): Promise<void> {
    // A single partition with a type that its table lacks would make every query of the table fail.
    if ((ensured.get(shape.name) ?? 0) < shape.columns.length) await ensureTable(shape);
    const prefix = snapshotPrefix(shape.name, partition, snapshot);
    // Refuses an id that no object key can have.
    checkedKey(prefix.slice(0, -1));
    const PartitionInput = newPartition(shape, partition, `${lakeUrl}/${prefix}`);
    const target = { ...inDatabase, TableName: shape.name, PartitionInput };
    const PartitionValueList = PartitionInput.Values;
    for (let round = 0; round < GLUE_RETRY.maxAttempts; round++) {
      const update = client.send(new UpdatePartitionCommand({ ...target, PartitionValueList }));
      if (await unlessFailedWith([MISSING], update)) return;
      const create = client.send(new CreatePartitionCommand(target));
      if (await unlessFailedWith([EXISTS], create)) return;
      await sleepWithJitter(round, GLUE_RETRY);
    }
    throw contended(`partition ${partitionPath(partition)} of table ${shape.name}`, database);
  }

  async function removePartition(TableName: string, partition: Partition): Promise<void> {
    const target = { ...inDatabase, TableName, PartitionValues: partition.map(([, value]) => value) };
    await unlessFailedWith([MISSING], client.send(new DeletePartitionCommand(target)));
  }

  async function snapshotsByPartition(
    table: string,
    leading: Partition,
    within?: ValueRange,
  ): Promise<Map<string, string[]>> {
    const byPartition = new Map<string, string[]>();
    const found = await findTable(table);
    if (found === undefined) return byPartition;
    const keys = (found.PartitionKeys ?? []).map(({ Name = '' }) => Name);
    const ranged = keys[leading.length];
    const conditions = [
      ...leading.map(([key, value]) => `${key} = ${quoted(value)}`),
      ...(within ? [`${ranged} >= ${quoted(within.from)}`, `${ranged} <= ${quoted(within.to)}`] : []),
    ];
    const Expression = conditions.join(' AND ');
    const filter = { ExcludeColumnSchema: true, ...(Expression && { Expression }) };
    for await (const page of paginateGetPartitions(
      { client },
      { ...inDatabase, TableName: table, ...filter },
    )) {
      for (const { Values = [], StorageDescriptor } of page.Partitions ?? []) {
        const snapshot = StorageDescriptor?.Location?.split('/').findLast((part) => part !== '');
        const path = partitionPath(keys.map((key, index) => [key, Values[index] ?? '']));
        if (snapshot !== undefined) byPartition.set(path, [snapshot]);
      }
    }
    return byPartition;
  }

  return {
    ensureTable: (shape) => inGlue(database, `Preparing the table ${shape.name}`, ensureTable(shape)),
    ensureView: (view) => inGlue(database, `Preparing the view ${view.name}`, ensureView(view)),
    setSnapshot: (shape, partition, snapshot) =>
      inGlue(database, `Publishing a partition of ${shape.name}`, setSnapshot(shape, partition, snapshot)),
    removePartition: (table, partition) =>
      inGlue(database, `Removing a partition of ${table}`, removePartition(table, partition)),
    snapshotsByPartition: (table, leading, within) =>
      inGlue(database, `Reading the partitions of ${table}`, snapshotsByPartition(table, leading, within)),
  };
}

function quoted(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}
