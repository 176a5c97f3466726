/**
 * Passes every operation of a lake through one function, which decides what happens before and after the operation.
 * Most faults of this folder are such functions.
 */
import type { Catalog, ObjectStore, ObjectWriter } from '../../shared/ports.ts';

/** An operation of the ports and its key, prefix or table. `write`, `finish` and `abort` belong to a streamed object. */
export interface Operation {
  name: 'get' | 'range' | 'put' | 'list' | 'delete' | keyof ObjectWriter | keyof Catalog;
  on: string;
}

export type Around = <Result>(operation: Operation, act: () => Promise<Result>) => Promise<Result>;

export function storeAround(store: ObjectStore, around: Around): ObjectStore {
  return {
    url: store.url,
    ...(store.localFolder !== undefined && { localFolder: store.localFolder }),
    ...(store.noncurrent && { noncurrent: store.noncurrent }),
    get: (key) => around({ name: 'get', on: key }, () => store.get(key)),
    range: (key, start, end) => around({ name: 'range', on: key }, () => store.range(key, start, end)),
    put: (key, body, precondition) =>
      around({ name: 'put', on: key }, () => store.put(key, body, precondition)),
    async *list(prefix) {
      yield* await around({ name: 'list', on: prefix }, () => Array.fromAsync(store.list(prefix)));
    },
    delete: (keys) => around({ name: 'delete', on: keys.join() }, () => store.delete(keys)),
    create(key) {
      const writer = store.create(key);
      return {
        write: (bytes) => around({ name: 'write', on: key }, () => writer.write(bytes)),
        finish: () => around({ name: 'finish', on: key }, () => writer.finish()),
        abort: () => around({ name: 'abort', on: key }, () => writer.abort()),
      };
    },
  };
}

export function catalogAround(catalog: Catalog, around: Around): Catalog {
  return {
    ensureTable: (table) => around({ name: 'ensureTable', on: table.name }, () => catalog.ensureTable(table)),
    ensureView: (view) => around({ name: 'ensureView', on: view.name }, () => catalog.ensureView(view)),
    setSnapshot: (table, partition, snapshot) =>
      around({ name: 'setSnapshot', on: table.name }, () => catalog.setSnapshot(table, partition, snapshot)),
    removePartition: (table, partition) =>
      around({ name: 'removePartition', on: table }, () => catalog.removePartition(table, partition)),
    snapshotsByPartition: (table, leading, within) =>
      around(
        { name: 'snapshotsByPartition', on: `${table} ${within ? `${within.from}..${within.to}` : 'all'}` },
        () => catalog.snapshotsByPartition(table, leading, within),
      ),
  };
}
