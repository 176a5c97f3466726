import { inOurFormat } from '../../lake/documents/lake-format.ts';
import type { Catalog, IcebergCatalog, Lake, ObjectStore } from '../../ports.ts';
import { openBucket } from './lake-store.ts';
import { leaseOnlyRuns } from './s3-store.ts';

/**
 * Opens a lake at `s3://bucket/prefix`. If a Glue database is given, it is the lake's catalog.
 * @param program the version of a deployed function, which writes views; missing: views stay as they are
 * @param owner the account that the bucket has to belong to; `undefined`: any
 * @throws BrandReportsError `config` for any other address
 */
export function openS3Lake(
  url: string,
  owner: string | undefined,
  database?: string,
  program?: string,
): Lake {
  const store = inOurFormat(openBucket(url, owner));
  if (database === undefined) return { store, runs: leaseOnlyRuns };
  return {
    store,
    runs: leaseOnlyRuns,
    catalog: glueCatalogWhenUsed(database, store.url, program),
    iceberg: glueIcebergWhenUsed(database, store),
  };
}

function glueIcebergWhenUsed(database: string, store: ObjectStore): IcebergCatalog {
  let opened: Promise<IcebergCatalog> | undefined;
  const open = async () => (await import('./glue-iceberg.ts')).openGlueIceberg(database, store);
  const iceberg = () => (opened ??= open());
  return { url: store.url, load: async (table) => (await iceberg()).load(table) };
}

/** Loads Glue's SDK on the first use, so that a run sends its first request without waiting for it. */
function glueCatalogWhenUsed(database: string, lakeUrl: string, program: string | undefined): Catalog {
  let opened: Promise<Catalog> | undefined;
  const open = async () =>
    (await import('./glue-catalog.ts')).openGlueCatalog(database, lakeUrl, undefined, program);
  const catalog = () => (opened ??= open());
  return {
    ensureTable: async (table) => (await catalog()).ensureTable(table),
    ensureView: async (view) => (program === undefined ? undefined : (await catalog()).ensureView(view)),
    setSnapshot: async (table, partition, id) => (await catalog()).setSnapshot(table, partition, id),
    removePartition: async (table, partition) => (await catalog()).removePartition(table, partition),
    snapshotsByPartition: async (table, leading, within) =>
      (await catalog()).snapshotsByPartition(table, leading, within),
  };
}
