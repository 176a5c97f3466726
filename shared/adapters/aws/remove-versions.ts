import { DeleteObjectsCommand, ListObjectVersionsCommand } from '@aws-sdk/client-s3';
import { awsError } from './errors.ts';
import { s3Client } from './lake-store.ts';

/**
 * Removes every version of the objects below a prefix: a bucket with versions is empty, and can be deleted, only then.
 * @param url the lake: `s3://bucket`
 * @param owner the account that the bucket has to belong to
 */
export async function removeVersions(url: string, owner: string, prefix: string): Promise<void> {
  const [client, Bucket] = [s3Client(owner), new URL(url).host];
  try {
    for (let isMore = true; isMore; ) {
      const listed = await client.send(new ListObjectVersionsCommand({ Bucket, Prefix: prefix }));
      const { Versions = [], DeleteMarkers = [], IsTruncated = false } = listed;
      const Objects = [...Versions, ...DeleteMarkers].map(({ Key, VersionId }) => ({ Key, VersionId }));
      if (Objects.length > 0)
        await client.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects, Quiet: true } }));
      isMore = IsTruncated && Objects.length > 0;
    }
  } catch (error) {
    const nextStep = 'Grant s3:ListBucketVersions on the bucket and s3:DeleteObjectVersion on these objects.';
    throw awsError(error, `Removing ${url}/${prefix}`, nextStep);
  } finally {
    client.destroy();
  }
}
