import { DeleteObjectsCommand, ListObjectVersionsCommand } from '@aws-sdk/client-s3';
import { awsError } from './errors.ts';
import { s3Client } from './lake-store.ts';

/**
 * Removes every version of up to 1,000 objects under a prefix. Without this, a bucket with versions cannot be deleted.
 * @param url the lake: `s3://bucket`
 * @param owner the account that the bucket has to belong to
 */
export async function removeVersions(url: string, owner: string, prefix: string): Promise<void> {
  const [client, Bucket] = [s3Client(owner), new URL(url).host];
  try {
    const found = await client.send(new ListObjectVersionsCommand({ Bucket, Prefix: prefix }));
    const versions = [...(found.Versions ?? []), ...(found.DeleteMarkers ?? [])];
    const Objects = versions.map(({ Key, VersionId }) => ({ Key, VersionId }));
    if (Objects.length > 0) await client.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }));
  } catch (error) {
    const nextStep = 'Grant s3:ListBucketVersions on the bucket and s3:DeleteObjectVersion on these objects.';
    throw awsError(error, `Removing ${url}/${prefix}`, nextStep);
  }
}
