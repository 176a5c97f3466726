import { GlueClient } from '@aws-sdk/client-glue';
import type { Lake } from '../../ports.ts';
import { awsClientOptions } from './errors.ts';
import { createGlueCatalog } from './glue-catalog.ts';
import { openLakeStore } from './lake-store.ts';
import { leaseOnlyRuns } from './s3-store.ts';

/**
 * Opens a lake at `s3://bucket/prefix`, with a Glue database as its catalog where one is named.
 * @throws BrandReportsError `config` for any other address
 */
export function openS3Lake(url: string, database?: string): Lake {
  const store = openLakeStore(url);
  if (database === undefined) return { store, runs: leaseOnlyRuns };
  const client = new GlueClient(awsClientOptions);
  const catalog = createGlueCatalog({ client, database, lakeUrl: store.url });
  return { store, runs: leaseOnlyRuns, catalog };
}
