import { resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { openLake } from '../../shared/adapters/open-lake.ts';

describe('a lake', () => {
  it.each([
    ['a relative folder', './lake', resolve('lake')],
    ['an absolute folder', '/data/lake', '/data/lake'],
    ['a bucket', 's3://my-bucket', 's3://my-bucket'],
    ['a bucket with a slash', 's3://my-bucket/', 's3://my-bucket'],
    ['a prefix', 's3://my.bucket/team/lake/', 's3://my.bucket/team/lake'],
  ])('is opened by its URL: %s', async (_name, url, expected) => {
    expect((await openLake(url)).store.url).toBe(expected);
  });

  it.each([
    ['nothing', '', {}],
    ['another scheme', 'https://my-bucket/lake', {}],
    ['an unknown scheme', 'gs://my-bucket/lake', {}],
    ['no bucket', 's3://', {}],
    ['a bucket in capitals', 's3://MyBucket/lake', {}],
    ['an empty part of the prefix', 's3://my-bucket/a//b', {}],
    ['a prefix that climbs', 's3://my-bucket/../other', {}],
    ['a folder with a database', './lake', { database: 'reports' }],
  ])('is refused with the allowed names: %s', async (_name, url, options) => {
    await expect(openLake(url, options)).rejects.toThrow(
      expect.objectContaining({ kind: 'config', message: expect.stringContaining('s3://bucket/prefix') }),
    );
  });
});
