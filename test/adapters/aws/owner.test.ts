import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ownerOfBucket, ownerOfDatabase } from '../../../shared/adapters/aws/owner.ts';
import { startGlueServer } from '../../fakes/glue-server.ts';
import { startS3Server } from '../../fakes/s3-server.ts';

let s3: Awaited<ReturnType<typeof startS3Server>>;
let glue: Awaited<ReturnType<typeof startGlueServer>>;

beforeEach(async () => {
  [s3, glue] = [await startS3Server(), await startGlueServer('reports')];
});
afterEach(async () => {
  for (const server of [s3, glue]) {
    server.client.destroy();
    await server.close();
  }
});

describe('the stack that owns a bucket or a database', () => {
  it('cannot be found without a permission, which the error names', async () => {
    s3.faults.refuseAll = true;
    glue.faults.deny = 'not authorized';
    await expect(ownerOfBucket(s3.client, 'lake')).rejects.toThrow('grant s3:GetBucketTagging');
    await expect(ownerOfDatabase(glue.client, 'reports')).rejects.toThrow('Grant glue:GetDatabase');
  });

  it('is unknown for a database that does not exist', async () => {
    expect(await ownerOfDatabase(glue.client, 'nowhere')).toBeUndefined();
  });
});
