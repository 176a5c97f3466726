import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { BrandReportsError } from '../../base/errors.ts';
import type { CredentialSource } from '../../ports.ts';
import { shownAddress } from '../../settings/base-url.ts';
import {
  CREDENTIALS_SHAPE,
  SECRETS_PREFIX,
  credentialsShape,
  noCredentials,
  parseCredentials,
} from '../credentials.ts';
import { awsClientOptions, awsError, awsFailure } from './errors.ts';

/** Without `secretName`, the name of a brand's secret is the prefix and the brand. */
interface SecretSettings {
  brands: Readonly<Record<string, { secretName?: string | undefined; baseUrl: string }>>;
}

/** Each read is a request. @param needsBaseUrl whether a secret must contain the address to which it may be sent */
export function secretsOf(
  { brands }: SecretSettings,
  needsBaseUrl: boolean,
  client = new SecretsManagerClient(awsClientOptions),
): CredentialSource {
  return {
    async read(brand) {
      const { secretName: name = `${SECRETS_PREFIX}${brand}`, baseUrl = '' } = brands[brand] ?? {};
      const text = await secretText(client, brand, name);
      const credentials = parseCredentials(text, brand, `the secret ${name}`);
      if (needsBaseUrl && credentials.baseUrl === undefined) throw withoutBaseUrl(brand, name, baseUrl);
      return credentials;
    },
  };
}

function withoutBaseUrl(brand: string, name: string, baseUrl: string): BrandReportsError {
  const address = shownAddress(baseUrl);
  const put = `aws secretsmanager put-secret-value --secret-id '${name}' --secret-string file://secret.json`;
  return noCredentials(
    brand,
    `the secret ${name}`,
    '"baseUrl" is missing: a deployment sends credentials only to the address beside them',
    `The settings have ${address}. If that is the service's address, put ${credentialsShape(address)} into secret.json and store it: ${put}`,
  );
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
  const refused = (why: string, nextStep: string) =>
    noCredentials(brand, `the secret ${name}`, why, nextStep);
  switch (awsFailure(error).name) {
    case 'ResourceNotFoundException':
      return refused(
        'it does not exist or has no value',
        `Put ${CREDENTIALS_SHAPE} into secret.json and create it: aws secretsmanager create-secret --name '${name}' --secret-string file://secret.json`,
      );
    case 'InvalidRequestException':
      return refused(
        'it is marked for deletion',
        `Restore it: aws secretsmanager restore-secret --secret-id '${name}'`,
      );
    default: {
      const nextStep = `Check the AWS credentials and the region, and grant secretsmanager:GetSecretValue on ${name}, and kms:Decrypt if the secret has its own key.`;
      return awsError(error, `Reading the secret ${name} of brand ${brand}`, nextStep);
    }
  }
}
