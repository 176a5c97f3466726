import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { BrandReportsError } from '../../errors.ts';
import type { CredentialSource } from '../../ports.ts';
import { CREDENTIALS_SHAPE, noCredentials, parseCredentials } from '../credentials.ts';
import { awsClientOptions, awsError, awsFailure } from './errors.ts';

/**
 * Credentials from AWS Secrets Manager, from the secrets that the settings name: `{"bid":…,"token":…,"secret":…}` in the
 * one of each brand. Each read is a request.
 */
export function secretsOf(
  brands: Readonly<Record<string, { secretName: string }>>,
  client = new SecretsManagerClient(awsClientOptions),
): CredentialSource {
  return {
    async read(brand) {
      const name = Object.hasOwn(brands, brand) ? brands[brand]?.secretName : undefined;
      if (name === undefined)
        throw noCredentials(
          brand,
          'the settings',
          'they name no secret for it',
          'Add the brand with its secretName.',
        );
      const text = await secretText(client, brand, name);
      return parseCredentials(text, brand, `the secret ${name}`);
    },
  };
}

async function secretText(client: SecretsManagerClient, brand: string, name: string): Promise<string> {
  try {
    const { SecretString } = await client.send(new GetSecretValueCommand({ SecretId: name }));
    if (SecretString !== undefined) return SecretString;
  } catch (error) {
    throw secretError(error, brand, name);
  }
  throw noCredentials(brand, `the secret ${name}`, 'it is binary', `Store it as text: ${CREDENTIALS_SHAPE}`);
}

function secretError(error: unknown, brand: string, name: string): BrandReportsError {
  switch (awsFailure(error).name) {
    case 'ResourceNotFoundException': {
      const create = `aws secretsmanager create-secret --name '${name}' --secret-string file://secret.json`;
      return noCredentials(
        brand,
        `the secret ${name}`,
        'it does not exist or has no value',
        `Put ${CREDENTIALS_SHAPE} into secret.json and create it: ${create}`,
      );
    }
    case 'InvalidRequestException': {
      const restore = `aws secretsmanager restore-secret --secret-id '${name}'`;
      return noCredentials(
        brand,
        `the secret ${name}`,
        'it is marked for deletion',
        `Restore it: ${restore}`,
      );
    }
    default: {
      const nextStep = `Check the AWS credentials and the region, and grant secretsmanager:GetSecretValue on ${name}, and kms:Decrypt where it has a key of its own.`;
      return awsError(error, `Reading the secret ${name} of brand ${brand}`, nextStep);
    }
  }
}
