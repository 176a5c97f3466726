/*
 * Refuses to adopt a bucket or database that a stack owns. If a stack adopted its own bucket, its template would no
 * longer contain the bucket, so CloudFormation would delete it at the end of the same deployment. A tag of the bucket
 * and a parameter of the database name the stack that created them, so the deployment fails before that and is rolled
 * back.
 */
import { GlueClient } from '@aws-sdk/client-glue';
import { awsClientOptions } from '../shared/adapters/aws/errors.ts';
import { s3Client } from '../shared/adapters/aws/lake-store.ts';
import { ownerOfBucket, ownerOfDatabase } from '../shared/adapters/aws/owner.ts';
import { BrandReportsError } from '../shared/errors.ts';
import { environment } from './function-context.ts';

/** The bucket and the database that the app gives to the construct. */
export interface Adopted {
  bucket?: string | undefined;
  database?: string | undefined;
}

/** @throws BrandReportsError `config` for this stack's own bucket, and for the database of any stack */
export async function refuseOwned({ bucket, database }: Adopted, stackId: string): Promise<void> {
  // An earlier stack of the same name may have left the bucket. A database never outlives its stack.
  if (bucket !== undefined && (await ownerOfBucket(s3Client(environment('LAKE_OWNER')), bucket)) === stackId)
    throw owned('bucket', bucket, stackId);
  const owner =
    database === undefined ? undefined : await ownerOfDatabase(new GlueClient(awsClientOptions), database);
  if (owner !== undefined) throw owned('database', database, owner);
}

function owned(prop: string, name: string | undefined, stackId: string): BrandReportsError {
  return new BrandReportsError(
    'config',
    'adopts_own',
    `the prop ${prop} of BrandReports is "${name}", which the stack ${stackId} has created and may delete. Leave ${prop} out, or name one that no stack owns.`,
  );
}
