/**
 * Fault: a process dies while it publishes, and its pointers arrive later (a zombie). `arrive()` delivers the pointers.
 */
import type { Catalog } from '../../shared/ports.ts';

/** @param from the first table whose pointers are late */
export function lateCatalog(catalog: Catalog, from?: string) {
  const late: (() => Promise<void>)[] = [];
  const dying: Catalog = {
    ...catalog,
    setSnapshot(table, partition, snapshot) {
      if (from !== undefined && table.name !== from) return catalog.setSnapshot(table, partition, snapshot);
      late.push(() => catalog.setSnapshot(table, partition, snapshot));
      return Promise.reject(new Error('the process is gone'));
    },
  };
  return {
    catalog: dying,
    /** Delivers the pointers that were sent before the death. */
    async arrive() {
      for (const point of late.splice(0)) await point();
    },
  };
}
