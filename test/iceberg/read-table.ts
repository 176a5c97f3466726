/**
 * Reads an Iceberg table as the specification says, by a decoder of Avro that follows whatever schema a file has and shares
 * nothing with the product.
 */
import type { MemoryStore } from '../fakes/memory-store.ts';

export const URL = 'file:///lake';

/** A file as an entry of a manifest names it. */
export interface Entry {
  status: number;
  path: string;
  brand: string;
  dt: string;
  rows: number;
  bytes: number;
  snapshotId: unknown;
  sequence: unknown;
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

/** The table that readers of the folder find; `undefined`: none. @throws Error for an object that is named and missing */
export function readTable(store: MemoryStore, table = 'orders'): ReadTable | undefined {
  const hint = store.objects.get(`iceberg/${table}/metadata/version-hint.text`);
  if (!hint) return undefined;
  const version = Buffer.from(hint.body).toString();
  const metadata = JSON.parse(
    Buffer.from(objectAt(store, `${URL}/iceberg/${table}/metadata/v${version}.metadata.json`)).toString(),
  );
  return { metadata, snapshots: metadata.snapshots.map((one: object) => readSnapshot(store, one)) };
}

// biome-ignore lint/suspicious/noExplicitAny: whatever the file has
function readSnapshot(store: MemoryStore, snapshot: any): ReadSnapshot {
  const manifests = decode(objectAt(store, snapshot['manifest-list'])).map((manifest) => {
    const content = objectAt(store, manifest.manifest_path);
    if (content.length !== manifest.manifest_length)
      throw new Error(`${manifest.manifest_path} has another length`);
    const entries = decode(content).map(
      ({ status, snapshot_id, sequence_number, data_file }): Entry => ({
        status,
        path: data_file.file_path,
        ...data_file.partition,
        rows: data_file.record_count,
        bytes: data_file.file_size_in_bytes,
        snapshotId: snapshot_id,
        sequence: sequence_number,
      }),
    );
    return [manifest.manifest_path, entries] as const;
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
  const live = [...manifests.values()].flat().filter(({ status }) => status !== 2);
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

/** The records of an Avro file. */
// biome-ignore lint/suspicious/noExplicitAny: whatever the file has
export function decode(file: Uint8Array): any[] {
  let at = 0;
  const take = (length: number) => Buffer.from(file.subarray(at, (at += length)));
  const long = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const [byte = 0] = take(1);
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return Number((value >> 1n) ^ -(value & 1n));
    }
  };
  // biome-ignore lint/suspicious/noExplicitAny: a schema of any kind
  const read = (type: any): unknown => {
    if (Array.isArray(type)) return read(type[long()]);
    if (type.type === 'record')
      return Object.fromEntries(
        type.fields.map((field: { name: string; type: unknown }) => [field.name, read(field.type)]),
      );
    if (type.type === 'array') {
      const items: unknown[] = [];
      for (let count = long(); count !== 0; count = long())
        for (let left = count; left > 0; left -= 1) items.push(read(type.items));
      return items;
    }
    if (type === 'null') return null;
    if (type === 'boolean') return take(1)[0] === 1;
    if (type === 'int' || type === 'long') return long();
    const bytes = take(long());
    return type === 'string' ? bytes.toString() : bytes;
  };
  if (take(4).toString('latin1') !== 'Obj\x01') throw new Error('no Avro file');
  const header = new Map<string, string>();
  for (let count = long(); count !== 0; count = long())
    for (let left = count; left > 0; left -= 1) header.set(take(long()).toString(), take(long()).toString());
  const sync = take(16);
  const records: unknown[] = [];
  while (at < file.length) {
    const count = long();
    const end = long() + at;
    for (let left = count; left > 0; left -= 1)
      records.push(read(JSON.parse(header.get('avro.schema') ?? '')));
    if (at !== end || !take(16).equals(sync)) throw new Error('a block ends elsewhere');
  }
  return records;
}
