import { S3Client } from '@aws-sdk/client-s3';
import type { Lake, ObjectStore } from '../../ports.ts';
import { badLake } from '../lake-errors.ts';
import { awsClientOptions } from './errors.ts';
import { openGlueCatalog } from './glue-catalog.ts';
import { openGlueIceberg } from './glue-iceberg.ts';
import { leaseOnlyRuns, openS3Store } from './s3-store.ts';

/**
 * An S3 client whose every request names the owner of the bucket, including the requests of the SDK's upload. After a
 * bucket is deleted, anybody may take its name: without the owner, reports would go to whoever takes it.
 */
function s3Client(owner: string | undefined): S3Client {
  const client = new S3Client(awsClientOptions);
  if (owner !== undefined)
    client.middlewareStack.add(
      (next) => (args) => next({ ...args, input: { ...args.input, ExpectedBucketOwner: owner } }),
      { step: 'initialize' },
    );
  return client;
}

/** For a lake of any format. @throws BrandReportsError `config` unless the address is `s3://bucket/prefix` */
export function openBucket(url: string, owner: string | undefined): ObjectStore {
  const [, bucket, prefix = ''] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/.exec(url) ?? [];
  const trimmed = prefix.replace(/\/$/, '');
  if (bucket === undefined || /(^|\/)(\.|\/|$)|[\0\\]/.test(trimmed.replace(/^$/, 'none'))) {
    throw badLake(`"${url}" is not a lake`);
  }
  return openS3Store({ client: s3Client(owner), bucket, prefix: trimmed, owner });
}

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
  const store = openBucket(url, owner);
  if (database === undefined) return { store, runs: leaseOnlyRuns };
  const catalog = openGlueCatalog(database, store.url, undefined, program);
  return {
    store,
    runs: leaseOnlyRuns,
    catalog: program === undefined ? { ...catalog, ensureView: async () => {} } : catalog,
    iceberg: openGlueIceberg(database, store),
  };
}
