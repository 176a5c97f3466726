import { GetDatabaseCommand, type GlueClient } from '@aws-sdk/client-glue';
import { GetBucketTaggingCommand, type S3Client } from '@aws-sdk/client-s3';
import { awsError, awsFailure } from './errors.ts';

/** Under this key a stack writes its id: in a tag of its bucket, and in a parameter of its Glue database. */
export const OWNER_KEY = 'brand-reports:stack-id';

/** @returns the id of the stack that created the bucket; `undefined` if it was not one of our stacks */
export async function ownerOfBucket(client: S3Client, bucket: string): Promise<string | undefined> {
  try {
    const { TagSet = [] } = await client.send(new GetBucketTaggingCommand({ Bucket: bucket }));
    return TagSet.find(({ Key }) => Key === OWNER_KEY)?.Value;
  } catch (error) {
    if (awsFailure(error).name === 'NoSuchTagSet') return undefined;
    throw awsError(
      error,
      `Reading the tags of the bucket ${bucket}`,
      'Check that the bucket of the setting adoptBucket exists in this account, and grant s3:GetBucketTagging on it.',
    );
  }
}

/** @returns the id of the stack that created the database; `undefined` if it was not one of our stacks */
export async function ownerOfDatabase(client: GlueClient, database: string): Promise<string | undefined> {
  try {
    const { Database } = await client.send(new GetDatabaseCommand({ Name: database }));
    return Database?.Parameters?.[OWNER_KEY];
  } catch (error) {
    // The code that uses the database reports that it is missing.
    if (awsFailure(error).name === 'EntityNotFoundException') return undefined;
    throw awsError(
      error,
      `Reading the Glue database ${database}`,
      'Grant glue:GetDatabase on the database of the setting adoptDatabase, and on the catalog.',
    );
  }
}
