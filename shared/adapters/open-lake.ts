import { resolve } from 'node:path';
import { GlueClient } from '@aws-sdk/client-glue';
import type { Lake } from '../ports.ts';
import { awsClientOptions } from './aws/errors.ts';
import { createGlueCatalog } from './aws/glue-catalog.ts';
import { badLake, openLakeStore } from './aws/lake-store.ts';
import { createLocalCatalog } from './local/catalog.ts';
import { createLocalRunRegistry } from './local/runs.ts';
import { openLocalStore } from './local/store.ts';
import { leaseOnlyRuns } from './aws/s3-store.ts';

/**
 * Opens a lake: a folder, or `s3://bucket/prefix`, with a Glue database as its catalog where one is named.
 * @throws BrandReportsError `config` for anything else
 */
export function openLake(url: string, { database }: { database?: string } = {}): Lake {
  if (!/^[a-z0-9+.-]+:\/\//i.test(url)) return openFolder(url, database);
  const store = openLakeStore(url);
  if (database === undefined) return { store, runs: leaseOnlyRuns };
  const catalog = createGlueCatalog({
    client: new GlueClient(awsClientOptions),
    database,
    lakeUrl: store.url,
  });
  return { store, runs: leaseOnlyRuns, catalog };
}

function openFolder(folder: string, database: string | undefined): Lake {
  if (folder === '') throw badLake('The name of the lake is empty');
  if (database !== undefined) {
    throw badLake(
      `The database ${database} cannot hold the folder ${resolve(folder)}: Glue reads lakes in S3 only`,
    );
  }
  return {
    store: openLocalStore(folder),
    runs: createLocalRunRegistry(folder),
    catalog: createLocalCatalog(folder),
  };
}
