/** Starts the doubles of AWS for functions, with the variables by which the SDK and the functions find them. */
import type { Access } from '../fakes/access.ts';
import { startEventsServer } from '../fakes/events-server.ts';
import { startGlueServer } from '../fakes/glue-server.ts';
import { startS3Server } from '../fakes/s3-server.ts';
import { startSecretsServer } from '../fakes/secrets-server.ts';
import { startSnsServer } from '../fakes/sns-server.ts';

/** @param access refuses requests without permission; without it everything is allowed */
export async function startAwsDoubles(access: Access = () => true) {
  const doubles = {
    s3: await startS3Server({ bucket: 'lake', pageSize: 1000, access }),
    glue: await startGlueServer('brand_reports', { access }),
    secrets: await startSecretsServer({ access }),
    sns: await startSnsServer({ access }),
    events: await startEventsServer({ access }),
  };
  return {
    ...doubles,
    /** The addresses now: a test may have replaced one. @param accessKey the name of a role */
    endpoints: (accessKey = 'test') => ({
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: accessKey,
      AWS_SECRET_ACCESS_KEY: 'test',
      AWS_ENDPOINT_URL_S3: doubles.s3.url,
      AWS_ENDPOINT_URL_GLUE: doubles.glue.url,
      AWS_ENDPOINT_URL_SECRETS_MANAGER: doubles.secrets.url,
      AWS_ENDPOINT_URL_SNS: doubles.sns.url,
      AWS_ENDPOINT_URL_EVENTBRIDGE: doubles.events.url,
    }),
    closeDoubles: () => Promise.all(Object.values(doubles).map((server) => server.close())),
  };
}
