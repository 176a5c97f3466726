import { resolve } from 'node:path';
import { GlueClient } from '@aws-sdk/client-glue';
import { S3Client } from '@aws-sdk/client-s3';
import { BrandReportsError } from '../errors.ts';
import type { Catalog, ObjectStore, RunRegistry } from '../ports.ts';
import { awsClientOptions } from './aws.ts';
import { openGlueCatalog } from './glue-catalog.ts';
import { openLocalCatalog } from './local-catalog.ts';
import { openLocalRuns } from './local-runs.ts';
import { openLocalStore } from './local-store.ts';
import { neverGone, openS3Store } from './s3-store.ts';

export interface Lake {
  store: ObjectStore;
  runs: RunRegistry;
  /** Missing for a lake in S3 without a database: the ledger alone tells what is current. */
  catalog?: Catalog;
}

/**
 * Opens a lake: a folder, or `s3://bucket/prefix` with a Glue database where one is named.
 * @throws BrandReportsError `config` for anything else
 */
export function openLake(url: string, { database }: { database?: string } = {}): Lake {
  if (!/^[a-z0-9+.-]+:\/\//i.test(url)) return openFolder(url, database);
  const [, bucket, prefix = ''] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/.exec(url) ?? [];
  const trimmed = prefix.replace(/\/$/, '');
  if (bucket === undefined || /(^|\/)(\.|\/|$)|[\0\\]/.test(trimmed.replace(/^$/, 'none'))) {
    throw badLake(`"${url}" is no lake`);
  }
  const store = openS3Store({ client: new S3Client(awsClientOptions), bucket, prefix: trimmed });
  if (database === undefined) return { store, runs: neverGone };
  const catalog = openGlueCatalog({ client: new GlueClient(awsClientOptions), database, lakeUrl: store.url });
  return { store, runs: neverGone, catalog };
}

function openFolder(folder: string, database: string | undefined): Lake {
  if (folder === '') throw badLake('The lake has no name');
  if (database !== undefined) {
    throw badLake(
      `The database ${database} cannot hold the folder ${resolve(folder)}: Glue reads lakes in S3 only`,
    );
  }
  return { store: openLocalStore(folder), runs: openLocalRuns(folder), catalog: openLocalCatalog(folder) };
}

function badLake(why: string): BrandReportsError {
  return new BrandReportsError(
    'config',
    'bad_lake',
    `${why}. Name a folder, or s3://bucket/prefix with a database or without.`,
  );
}
