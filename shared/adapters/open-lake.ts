import { resolve } from 'node:path';
import { configError } from '../base/errors.ts';
import type { Lake } from '../ports.ts';
import { badLake } from './lake-errors.ts';
import { createLocalCatalog } from './local/catalog.ts';
import { createFolderIceberg } from './local/iceberg.ts';
import { createLocalRunRegistry } from './local/lock.ts';
import { openLocalStore } from './local/store.ts';

/** @param url a folder, or `s3://bucket/prefix` with or without a database @throws BrandReportsError `config` for others */
export async function openLake(url: string, { database }: { database?: string } = {}): Promise<Lake> {
  if (!/^[a-z0-9+.-]+:\/\//i.test(url)) return openFolder(url, database);
  // A folder needs nothing from AWS, whose SDK takes longer to load than a small run takes.
  const { openS3Lake } = await import('./aws/s3-lake.ts');
  return openS3Lake(url, ownerInEnvironment(), database);
}

/** @throws BrandReportsError `config` if the value is not an AWS account */
function ownerInEnvironment(): string | undefined {
  const { BRAND_REPORTS_LAKE_OWNER: owner } = process.env;
  if (owner === undefined || /^\d{12}$/.test(owner)) return owner;
  throw configError(
    'bad_lake_owner',
    `The environment variable BRAND_REPORTS_LAKE_OWNER is "${owner}"; allowed: the 12 digits of the AWS account that owns the bucket. Correct it, or unset it to take a bucket of any account.`,
  );
}

function openFolder(folder: string, database: string | undefined): Lake {
  if (folder === '') throw badLake('The name of the lake is empty');
  if (database !== undefined)
    throw badLake(
      `The database ${database} cannot hold the folder ${resolve(folder)}: Glue reads lakes in S3 only`,
    );
  const store = openLocalStore(folder);
  return {
    store,
    runs: createLocalRunRegistry(folder),
    catalog: createLocalCatalog(folder),
    // The path is not URL-encoded, because no reader decodes it.
    iceberg: createFolderIceberg(store, `file://${store.url}`),
  };
}
