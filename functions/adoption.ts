/*
 * Without it, a stack that adopts its own bucket or database would leave it to CloudFormation to delete: what a template
 * no longer has goes at the end of the very deployment that adopts it. Bucket and database know which stack created
 * them, so the deployment fails before that, and is rolled back.
 */
import { GlueClient } from '@aws-sdk/client-glue';
import { awsClientOptions } from '../shared/adapters/aws/errors.ts';
import { s3Client } from '../shared/adapters/aws/lake-store.ts';
import { ownerOfBucket, ownerOfDatabase } from '../shared/adapters/aws/owner.ts';
import { BrandReportsError } from '../shared/errors.ts';
import { environment } from './function-context.ts';

/** What the settings say to adopt. */
export interface Adopted {
  bucket?: string | undefined;
  database?: string | undefined;
}

/** @throws BrandReportsError `config` for this stack's own bucket, and for the database of any stack */
export async function refuseOwned({ bucket, database }: Adopted, stackId: string): Promise<void> {
  // A bucket may be what an earlier stack of the same name left. A database never outlives its stack.
  if (bucket !== undefined && (await ownerOfBucket(s3Client(environment('LAKE_OWNER')), bucket)) === stackId)
    throw owned('adoptBucket', bucket, stackId);
  const owner =
    database === undefined ? undefined : await ownerOfDatabase(new GlueClient(awsClientOptions), database);
  if (owner !== undefined) throw owned('adoptDatabase', database, owner);
}

function owned(setting: string, name: string | undefined, stackId: string): BrandReportsError {
  return new BrandReportsError(
    'config',
    'adopts_own',
    `${setting} is "${name}", which the stack ${stackId} has created and may delete. Leave ${setting} out, or name what no stack owns.`,
  );
}
