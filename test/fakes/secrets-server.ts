/**
 * Serves Secrets Manager's GetSecretValue over real HTTP.
 * Fault: a secret may be an `AwsFault`, which is then the answer.
 */
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { JsonObject } from '../../shared/base/json.ts';
import { type Access, PLACE } from './access.ts';
import { AwsFault, type Needed, startAwsJsonServer, stringOf } from './aws-json-server.ts';
import { awsTestOptions } from './aws-test-options.ts';

export async function startSecretsServer({ access }: { access?: Access } = {}) {
  /** By name: the text of a secret, or the fault that is the answer. */
  const secrets = new Map<string, string | AwsFault>();
  const operations = {
    GetSecretValue: ({ SecretId }: JsonObject) => {
      const value = secrets.get(stringOf(SecretId));
      if (value instanceof AwsFault) throw value;
      if (value !== undefined) return { Name: stringOf(SecretId), SecretString: value };
      throw new AwsFault('ResourceNotFoundException', "Secrets Manager can't find the specified secret.");
    },
  };
  const server = await startAwsJsonServer(operations, neededInSecrets, access);
  return { ...server, secrets, client: new SecretsManagerClient(awsTestOptions(server.url)) };
}

function neededInSecrets(operation: string, { SecretId }: JsonObject): Needed {
  return {
    action: `secretsmanager:${operation}`,
    // AWS adds six characters to the name.
    resources: [`arn:aws:secretsmanager:${PLACE}:secret:${stringOf(SecretId)}-AbCdEf`],
  };
}
