import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { AwsFault, startAwsJsonServer, stringOf } from './aws-json-server.ts';
import { awsTestOptions } from './aws-test-options.ts';

/** Secrets Manager's GetSecretValue. */
export async function startSecretsServer() {
  /** By name: its text, or the fault that reading it answers. */
  const secrets = new Map<string, string | AwsFault>();
  const server = await startAwsJsonServer({
    GetSecretValue: ({ SecretId }) => {
      const value = secrets.get(stringOf(SecretId));
      if (value instanceof AwsFault) throw value;
      if (value !== undefined) return { Name: stringOf(SecretId), SecretString: value };
      throw new AwsFault('ResourceNotFoundException', "Secrets Manager can't find the specified secret.");
    },
  });
  return { ...server, secrets, client: new SecretsManagerClient(awsTestOptions(server.url)) };
}
