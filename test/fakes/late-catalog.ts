/**
 * Fault: a process that dies as it publishes, and whose pointers arrive later (a zombie).
 * `arrive()` lets them arrive.
 */
import type { Catalog } from '../../shared/ports.ts';

export function lateCatalog(catalog: Catalog) {
  const late: (() => Promise<void>)[] = [];
  const dying: Catalog = {
    ...catalog,
    setSnapshot(table, partition, snapshot) {
      late.push(() => catalog.setSnapshot(table, partition, snapshot));
      return Promise.reject(new Error('the process is gone'));
    },
  };
  return {
    catalog: dying,
    /** Lets the pointers that were sent before the death take effect. */
    async arrive() {
      for (const point of late.splice(0)) await point();
    },
  };
}
