import type { Catalog } from '../../shared/ports.ts';

/** A catalog that a process points through and dies at once: its pointers arrive only when they are let go. */
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
    async arrive() {
      for (const point of late.splice(0)) await point();
    },
  };
}
