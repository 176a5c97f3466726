import { GetDatabaseCommand, type GlueClient } from '@aws-sdk/client-glue';
import { GetBucketTaggingCommand, type S3Client } from '@aws-sdk/client-s3';
import { inAws, unlessFailedWith } from './errors.ts';

/** Under this key a stack writes its id: in a tag of its bucket, and in a parameter of its Glue database. */
export const OWNER_KEY = 'brand-reports:stack-id';

/** @returns the id of the stack that created the bucket; `undefined` if it was not one of our stacks */
export async function ownerOfBucket(client: S3Client, bucket: string): Promise<string | undefined> {
  const tags = client.send(new GetBucketTaggingCommand({ Bucket: bucket }));
  const found = await inAws(
    `Reading the tags of the bucket ${bucket}`,
    'Check that the bucket of the prop `bucket` exists in this account, and grant s3:GetBucketTagging on it.',
    unlessFailedWith(['NoSuchTagSet'], tags),
  );
  return found?.TagSet?.find(({ Key }) => Key === OWNER_KEY)?.Value;
}

/** @returns the id of the stack that created the database; `undefined` if it was not one of our stacks */
export async function ownerOfDatabase(client: GlueClient, database: string): Promise<string | undefined> {
  const read = client.send(new GetDatabaseCommand({ Name: database }));
  const found = await inAws(
    `Reading the Glue database ${database}`,
    'Grant glue:GetDatabase on the database of the prop `database`, and on the catalog.',
    // The code that uses the database reports that it is missing.
    unlessFailedWith(['EntityNotFoundException'], read),
  );
  return found?.Database?.Parameters?.[OWNER_KEY];
}
