/**
 * The S3 store keeps a lake in a bucket. Every `put` is a conditional write, because otherwise two runs would overwrite each
 * other's documents (I5). S3 returns 409 if two such writes race; the SDK does not retry it, so this module does. Streamed
 * objects appear whole at `finish` or not at all (I4). Every failure names the key, and the missing permissions or setting.
 */
import { PassThrough } from 'node:stream';
import {
  DeleteObjectsCommand,
  GetObjectCommand,
  type GetObjectCommandInput,
  PutObjectCommand,
  ListObjectVersionsCommand,
  type ObjectIdentifier,
  paginateListObjectsV2,
  type S3Client,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { BrandReportsError } from '../../base/errors.ts';
import type {
  ListedObject,
  NoncurrentVersion,
  ObjectStore,
  ObjectWriter,
  Precondition,
  PutOutcome,
  RunRegistry,
  StoredObject,
} from '../../ports.ts';
import { awsError, awsFailure } from './errors.ts';
import { sleepWithJitter } from '../system-clock.ts';
import { checkedKey, checkedPrefix, isKey } from '../keys.ts';
import { objectNotFound } from '../lake-errors.ts';

const S3_WRITE_RETRY = { maxAttempts: 6, baseMs: 50, capMs: 1000 };
const MAX_KEYS_PER_DELETE = 1000;

const PERMISSIONS = {
  Reading:
    's3:GetObject, and s3:ListBucket without a prefix condition: without it S3 refuses a missing key instead of reporting it as missing',
  Writing: 's3:PutObject, s3:GetObject and s3:AbortMultipartUpload',
  Listing: 's3:ListBucket',
  Deleting: 's3:DeleteObject',
  'Listing the versions of': 's3:ListBucketVersions',
  'Reading a version of': 's3:GetObjectVersion',
  'Deleting versions of':
    's3:DeleteObjectVersion, which no role of the stack has: use the credentials of an administrator',
};

/** Runs on a lake in S3 cannot see each other's processes: only leases show which runs are alive. */
export const leaseOnlyRuns: RunRegistry = {
  register: async () => async () => {},
  isDead: async () => false,
};

interface Place {
  client: S3Client;
  bucket: string;
  /** Without `/` at either end; `''` is the whole bucket. */
  prefix: string;
  /** Of the bucket, whom messages name. */
  owner?: string | undefined;
}

export function openS3Store({ client, bucket, prefix, owner }: Place): ObjectStore {
  const base = prefix === '' ? '' : `${checkedKey(prefix)}/`;
  const url = `s3://${bucket}/${base}`.replace(/\/$/, '');
  const object = (key: string) => ({ Bucket: bucket, Key: `${base}${checkedKey(key)}` });
  // Without the content type, a browser would save the page instead of showing it.
  const typed = (key: string) => ({
    ...object(key),
    ...(key.endsWith('.html') && { ContentType: 'text/html; charset=utf-8' }),
  });
  const failure = (error: unknown, doing: keyof typeof PERMISSIONS, key: string) =>
    awsError(error, `${doing} ${url}/${key}`, nextStep(error, bucket, owner, PERMISSIONS[doing]));

  /** @returns `undefined` if it does not exist */
  async function find(
    key: string,
    doing: 'Reading' | 'Reading a version of',
    VersionId?: string,
  ): Promise<StoredObject | undefined> {
    try {
      return await download(client, { ...object(key), VersionId });
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw failure(error, doing, key);
    }
  }

  async function range(key: string, start: number, end: number): Promise<Uint8Array> {
    if (start >= end) return new Uint8Array();
    try {
      return (await download(client, { ...object(key), Range: `bytes=${start}-${end - 1}` })).body;
    } catch (error) {
      if (isMissing(error)) throw objectNotFound(`${url}/${key}`);
      if (awsFailure(error).status === 416) return new Uint8Array();
      throw failure(error, 'Reading', key);
    }
  }

  async function put(key: string, body: Uint8Array, precondition: Precondition): Promise<PutOutcome> {
    const condition = 'ifMatch' in precondition ? { IfMatch: precondition.ifMatch } : { IfNoneMatch: '*' };
    for (let raced = 0; raced < S3_WRITE_RETRY.maxAttempts; raced++) {
      try {
        const { ETag } = await client.send(
          new PutObjectCommand({ ...object(key), Body: body, ...condition }),
        );
        return { etag: present(ETag, key) };
      } catch (error) {
        if (awsFailure(error).status === 412 || isMissing(error)) return 'conflict';
        if (awsFailure(error).status !== 409) throw failure(error, 'Writing', key);
      }
      await sleepWithJitter(raced, S3_WRITE_RETRY);
    }
    return 'conflict';
  }

  async function* list(begin: string): AsyncGenerator<ListedObject> {
    try {
      const input = { Bucket: bucket, Prefix: `${base}${checkedPrefix(begin)}` };
      for await (const page of paginateListObjectsV2({ client }, input)) {
        for (const { Key, Size, LastModified } of page.Contents ?? []) {
          const key = present(Key, begin).slice(base.length);
          if (isKey(key)) yield { key, bytes: present(Size, key), modifiedAt: present(LastModified, key) };
        }
      }
    } catch (error) {
      throw failure(error, 'Listing', begin);
    }
  }

  async function* listNoncurrent(begin: string): AsyncGenerator<NoncurrentVersion> {
    let next: { KeyMarker?: string | undefined; VersionIdMarker?: string | undefined } = {};
    do {
      const input = { Bucket: bucket, Prefix: `${base}${checkedPrefix(begin)}`, ...next };
      const page = await client.send(new ListObjectVersionsCommand(input)).catch((error: unknown) => {
        throw failure(error, 'Listing the versions of', begin);
      });
      const { Versions = [], DeleteMarkers = [], IsTruncated, NextKeyMarker, NextVersionIdMarker } = page;
      for (const { Key, VersionId, Size, LastModified } of [
        ...Versions.filter((each) => !each.IsLatest),
        ...DeleteMarkers.map((marker) => ({ ...marker, Size: 0 })),
      ]) {
        const key = present(Key, begin).slice(base.length);
        const modifiedAt = present(LastModified, begin);
        if (isKey(key)) yield { key, version: present(VersionId, begin), bytes: Size ?? 0, modifiedAt };
      }
      next = { KeyMarker: IsTruncated ? NextKeyMarker : undefined, VersionIdMarker: NextVersionIdMarker };
    } while (next.KeyMarker !== undefined);
  }

  async function remove(
    objects: readonly ObjectIdentifier[],
    doing: 'Deleting' | 'Deleting versions of',
  ): Promise<void> {
    for (let from = 0; from < objects.length; from += MAX_KEYS_PER_DELETE) {
      const Objects = objects.slice(from, from + MAX_KEYS_PER_DELETE);
      const keyOf = ({ Key = '' }: { Key?: string | undefined } = {}) => Key.slice(base.length);
      const { Errors: [refused] = [] } = await client
        .send(new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects, Quiet: true } }))
        .catch((error: unknown) => {
          throw failure(error, doing, keyOf(Objects[0]));
        });
      if (refused !== undefined) {
        const error = Object.assign(new Error(refused.Message), { name: refused.Code ?? 'Error' });
        throw failure(error, doing, keyOf(refused));
      }
    }
  }

  return {
    url,
    get: (key) => find(key, 'Reading'),
    range,
    put,
    list,
    delete: (keys) =>
      remove(
        keys.map((key) => ({ Key: object(key).Key })),
        'Deleting',
      ),
    noncurrent: {
      list: listNoncurrent,
      get: async ({ key, version }) => (await find(key, 'Reading a version of', version))?.body,
      delete: (versions) =>
        remove(
          versions.map(({ key, version }) => ({ Key: object(key).Key, VersionId: version })),
          'Deleting versions of',
        ),
    },
    create: (key) => create(client, typed(key), (error) => failure(error, 'Writing', key)),
  };
}

async function download(client: S3Client, input: GetObjectCommandInput): Promise<StoredObject> {
  const { Body, ETag } = await client.send(new GetObjectCommand(input));
  const key = input.Key ?? '';
  return { body: await present(Body, key).transformToByteArray(), etag: present(ETag, key) };
}

/** I4: parts are uploaded while the next parts are written; an object that fits into one part takes one request. */
function create(
  client: S3Client,
  object: { Bucket: string; Key: string; ContentType?: string },
  failure: (error: unknown) => BrandReportsError,
): ObjectWriter {
  const body = new PassThrough();
  // The upload reports the failure; without a listener the stream's error would end the process.
  body.on('error', () => {});
  const uploaded = new Upload({ client, params: { ...object, Body: body }, queueSize: 2 }).done();
  uploaded.catch(() => body.destroy());
  return {
    write: (bytes) =>
      new Promise<void>((resolve, reject) => {
        body.write(bytes, (error) => {
          if (error)
            uploaded.then(
              () => reject(error),
              (cause: unknown) => reject(failure(cause)),
            );
          else resolve();
        });
      }),
    finish: async () => {
      body.end();
      await uploaded.catch((error: unknown) => {
        throw failure(error);
      });
    },
    abort: async () => {
      // A destroyed stream makes the upload remove its parts; the upload's own abort() does not wait for that.
      body.destroy(new Error('aborted'));
      await uploaded.catch(() => {});
    },
  };
}

function isMissing(error: unknown): boolean {
  const { name, status } = awsFailure(error);
  return status === 404 && name !== 'NoSuchBucket';
}

function nextStep(error: unknown, bucket: string, owner: string | undefined, permissions: string): string {
  const owned = owner === undefined ? '' : ` that the account ${owner} owns the bucket,`;
  return awsFailure(error).name === 'NoSuchBucket'
    ? `Create the bucket ${bucket} or name another lake.`
    : `Check${owned} the AWS credentials and the region, and grant on ${bucket}: ${permissions}.`;
}

function present<T>(value: T | undefined, key: string): T {
  if (value !== undefined) return value;
  throw new BrandReportsError('bug', 'aws_unexpected', `S3's response about ${key} lacks a documented field`);
}
