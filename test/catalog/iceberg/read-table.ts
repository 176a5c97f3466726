/**
 * Reads an Iceberg table by the specification, with an Avro decoder that follows the schema of each file and shares no
 * code with the product.
 */
import { inflateRawSync } from 'node:zlib';
import type { MemoryStore } from '../../fakes/memory-store.ts';

export const URL = 'file:///lake';

export interface Entry {
  path: string;
  brand: string;
  dt: string;
  rows: number;
  bytes: number;
}

/** A snapshot with the names of its manifests, and the entries of each. */
export interface ReadSnapshot {
  id: number;
  atMs: number;
  schemaId: number;
  manifests: Map<string, Entry[]>;
}

export interface ReadTable {
  metadata: Record<string, unknown>;
  /** The oldest first. */
  snapshots: ReadSnapshot[];
}

/**
 * The table that readers of the folder find; `undefined` if there is no table.
 * @throws Error for a named object that is missing
 */
export function readTable(store: MemoryStore, table = 'orders'): ReadTable | undefined {
  const hint = store.objects.get(`iceberg/${table}/metadata/version-hint.text`);
  if (!hint) return undefined;
  const version = Buffer.from(hint.body).toString();
  const metadata = JSON.parse(
    Buffer.from(objectAt(store, `${URL}/iceberg/${table}/metadata/v${version}.metadata.json`)).toString(),
  );
  return { metadata, snapshots: metadata.snapshots.map((one: SnapshotJson) => readSnapshot(store, one)) };
}

interface SnapshotJson {
  'snapshot-id': number;
  'timestamp-ms': number;
  'schema-id': number;
  'manifest-list': string;
}

interface EntryRecord {
  data_file: {
    file_path: string;
    record_count: number;
    file_size_in_bytes: number;
    partition: { brand: string; dt: string };
  };
}

function readSnapshot(store: MemoryStore, snapshot: SnapshotJson): ReadSnapshot {
  const list = decode<{ manifest_path: string; manifest_length: number }>(
    objectAt(store, snapshot['manifest-list']),
  );
  const manifests = list.map(({ manifest_path, manifest_length }) => {
    const content = objectAt(store, manifest_path);
    if (content.length !== manifest_length) throw new Error(`${manifest_path} has another length`);
    const entries = decode<EntryRecord>(content).map(
      ({ data_file }): Entry => ({
        path: data_file.file_path,
        ...data_file.partition,
        rows: data_file.record_count,
        bytes: data_file.file_size_in_bytes,
      }),
    );
    return [manifest_path, entries] as const;
  });
  return {
    id: snapshot['snapshot-id'],
    atMs: snapshot['timestamp-ms'],
    schemaId: snapshot['schema-id'],
    manifests: new Map(manifests),
  };
}

/** The paths that a snapshot's readers open. @throws Error for a path that is named twice, or a file that is missing */
export function filesOf(store: MemoryStore, { manifests }: ReadSnapshot): Entry[] {
  const live = [...manifests.values()].flat();
  if (new Set(live.map(({ path }) => path)).size < live.length) throw new Error('a file is named twice');
  for (const { path, bytes } of live)
    if (objectAt(store, path).length !== bytes) throw new Error(`${path} has another length`);
  return live.sort((a, b) => (a.path < b.path ? -1 : 1));
}

function objectAt({ objects }: MemoryStore, address: string): Uint8Array {
  const found = objects.get(address.slice(URL.length + 1));
  if (!found || !address.startsWith(`${URL}/`)) throw new Error(`${address} is missing`);
  return found.body;
}

export function decode<T>(file: Uint8Array): T[] {
  let [at, bytes] = [0, file];
  const take = (length: number) => {
    at += length;
    return Buffer.from(bytes.subarray(at - length, at));
  };
  const long = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const [byte = 0] = take(1);
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return Number((value >> 1n) ^ -(value & 1n));
    }
  };
  const read = (schema: unknown): unknown => {
    if (schema === 'null') return null;
    if (schema === 'boolean') return take(1)[0] === 1;
    if (schema === 'int' || schema === 'long') return long();
    if (schema === 'string') return take(long()).toString();
    if (schema === 'bytes') return take(long());
    if (Array.isArray(schema)) return read(schema[long()]);
    const { fields, items } = Object(schema);
    if (fields)
      return Object.fromEntries(
        fields.map(({ name, type }: { name: string; type: unknown }) => [name, read(type)]),
      );
    const values: unknown[] = [];
    for (let count = long(); count !== 0; count = long())
      for (let left = count; left > 0; left -= 1) values.push(read(items));
    return values;
  };
  if (take(4).toString('latin1') !== 'Obj\x01') throw new Error('no Avro file');
  const header = new Map<string, string>();
  for (let count = long(); count !== 0; count = long())
    for (let left = count; left > 0; left -= 1) header.set(take(long()).toString(), take(long()).toString());
  const schema: unknown = JSON.parse(header.get('avro.schema') ?? '');
  const sync = take(16);
  const records: T[] = [];
  while (at < file.length) {
    const count = long();
    const block = inflateRawSync(take(long()));
    const end = at;
    [at, bytes] = [0, block];
    for (let left = count; left > 0; left -= 1) records.push(Object(read(schema)));
    if (at !== block.length) throw new Error('a block ends elsewhere');
    [at, bytes] = [end, file];
    if (!take(16).equals(sync)) throw new Error('the end of a block is missing');
  }
  return records;
}
