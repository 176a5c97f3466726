import { S3Client } from '@aws-sdk/client-s3';
import { inOurFormat } from '../../lake/documents/lake-format.ts';
import type { ObjectStore } from '../../ports.ts';
import { badLake } from '../bad-lake.ts';
import { awsClientOptions } from './errors.ts';
import { openS3Store } from './s3-store.ts';

/**
 * Opens the object store of a lake at `s3://bucket/prefix`, without its catalog.
 * @throws BrandReportsError `config` for any other address
 */
export function openLakeStore(url: string): ObjectStore {
  return inOurFormat(openBucket(url));
}

/**
 * The same store for a lake of any format: for what is not part of a lake's layout.
 * @throws BrandReportsError `config` for any other address
 */
export function openBucket(url: string): ObjectStore {
  const [, bucket, prefix = ''] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/.exec(url) ?? [];
  const trimmed = prefix.replace(/\/$/, '');
  if (bucket === undefined || /(^|\/)(\.|\/|$)|[\0\\]/.test(trimmed.replace(/^$/, 'none'))) {
    throw badLake(`"${url}" is not a lake`);
  }
  return openS3Store({ client: new S3Client(awsClientOptions), bucket, prefix: trimmed });
}
