/**
 * Keeps a catalog in memory: the snapshot that each partition points at, and the views in the order of their writes.
 */
import { partitionPath } from '../../shared/lake/paths.ts';
import type { Catalog } from '../../shared/ports.ts';

export function memoryCatalog(): Catalog & {
  readonly pointers: Map<string, string>;
  readonly views: string[];
} {
  const pointers = new Map<string, string>();
  const views: string[] = [];
  return {
    pointers,
    views,
    ensureTable: async () => {},
    ensureView: async ({ name }) => void views.push(name),
    setSnapshot: async (table, partition, snapshot) =>
      void pointers.set(`${table.name}/${partitionPath(partition)}`, snapshot),
    removePartition: async (table, partition) => void pointers.delete(`${table}/${partitionPath(partition)}`),
    snapshotsByPartition: async (table, leading, within) => {
      const prefix = leading.length === 0 ? `${table}/` : `${table}/${partitionPath(leading)}/`;
      const isWithin = (path: string) => {
        const [, value = ''] = path.slice(prefix.length).split('/')[0]?.split('=') ?? [];
        return !within || (within.from <= value && value <= within.to);
      };
      const found = [...pointers].filter(([path]) => `${path}/`.startsWith(prefix) && isWithin(path));
      return new Map(found.map(([path, snapshot]) => [path.slice(table.length + 1), [snapshot]]));
    },
  };
}
