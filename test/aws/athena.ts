import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parquetMetadata } from 'hyparquet';
import { isJsonObject, type Json, type JsonObject } from '../../shared/base/json.ts';
import { stringOf } from '../fakes/aws-json-server.ts';
import type { startGlueServer } from '../fakes/glue-server.ts';
import type { startS3Server } from '../fakes/s3-server.ts';

type Tables = Awaited<ReturnType<typeof startGlueServer>>['tables'];
type Objects = Awaited<ReturnType<typeof startS3Server>>['objects'];

interface Named {
  table: string;
  /** `brand=acme/dt=2026-01-31` */
  path: string;
  /** The location of its objects: `s3://bucket/…/`. */
  location: string;
}

interface Column {
  name: string;
  /** The type in Hive's words. */
  type: string;
}

export function catalogued(tables: Tables): Named[] {
  return [...tables].flatMap(([table, { table: described, partitions }]) => {
    const keys = listIn(described, 'PartitionKeys').map(({ Name }) => stringOf(Name));
    return [...partitions.values()].map((partition) => {
      const values = Array.isArray(partition.Values) ? partition.Values.map(stringOf) : [];
      const path = keys.map((key, index) => `${key}=${values[index]}`).join('/');
      return { table, path, location: stringOf(storageOf(partition).Location) };
    });
  });
}

/** Copies all objects at a partition's location to the folder in which a reader of Hive partitions expects them. */
export async function bringDown(named: Named, objects: Objects, folder: string): Promise<void> {
  const to = join(folder, 'current', named.table, named.path);
  await mkdir(to, { recursive: true });
  for (const [index, { body }] of objectsAt(named, objects).entries())
    await writeFile(join(to, `${index}.parquet`), body);
}

/**
 * Finds what would keep Athena from reading all rows of the snapshots. A location may be no folder, or an empty one. A
 * column of a file may be missing in its partition or table, or may have another type there.
 */
export function hindrances(tables: Tables, objects: Objects): string[] {
  return catalogued(tables).flatMap(({ table, path, location }) => {
    const at = `${table} ${path}`;
    const stored = tables.get(table);
    const ofTable = stored ? columnsOf(stored.table) : [];
    const partition = stored?.partitions.get(path.replaceAll(/[^/=]*=/g, '')) ?? {};
    const ofPartition = columnsOf(partition);
    const found = objectsAt({ location }, objects);
    return [
      ...(location.endsWith('/') ? [] : [`${at}: ${location} is not a folder`]),
      ...(found.length === 1 ? [] : [`${at}: ${found.length} objects`]),
      ...lacking(`${at}: its table`, ofPartition, ofTable),
      ...found.flatMap(({ body }) => lacking(`${at}: its partition`, columnsIn(body), ofPartition)),
    ];
  });
}

/** Columns of the first list that the second list lacks, or has at another place. */
function lacking(where: string, needed: readonly Column[], there: readonly Column[]): string[] {
  const text = ({ name, type }: Column) => `${name} ${type}`;
  return needed
    .filter((column, place) => text(column) !== text(there[place] ?? { name: 'nothing', type: '' }))
    .map((column) => `${where} has no ${text(column)}`);
}

/** All objects at the location of a partition. */
export function objectsAt({ location }: Pick<Named, 'location'>, objects: Objects) {
  const [, prefix = location] = /^s3:\/\/[^/]+\/(.+)$/.exec(location) ?? [];
  return [...objects].filter(([key]) => key.startsWith(prefix)).map(([, object]) => object);
}

/** The columns of a Parquet file, with the types under which Athena reads them. */
function columnsIn(body: Buffer): Column[] {
  const { schema } = parquetMetadata(new Uint8Array(body).buffer);
  return schema.slice(1).map(({ name, type, converted_type: converted, precision, scale }) => ({
    name,
    type:
      converted === 'DECIMAL' ? `decimal(${precision},${scale})` : (hiveTypes[converted ?? type ?? ''] ?? ''),
  }));
}

const hiveTypes: Record<string, string> = {
  UTF8: 'string',
  DATE: 'date',
  TIMESTAMP_MICROS: 'timestamp',
  INT_64: 'bigint',
  INT64: 'bigint',
  DOUBLE: 'double',
  BOOLEAN: 'boolean',
};

export function columnsOf(described: JsonObject): Column[] {
  return listIn(storageOf(described), 'Columns').map(({ Name, Type }) => ({
    name: stringOf(Name),
    type: stringOf(Type),
  }));
}

const storageOf = (described: JsonObject): JsonObject => objectIn(described, 'StorageDescriptor');

function objectIn(value: Json, name: string): JsonObject {
  const inner = isJsonObject(value) ? value[name] : undefined;
  return isJsonObject(inner) ? inner : {};
}

function listIn(value: JsonObject, name: string): JsonObject[] {
  const inner = value[name];
  return Array.isArray(inner) ? inner.filter(isJsonObject) : [];
}
