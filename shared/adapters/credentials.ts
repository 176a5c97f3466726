import { readFile } from 'node:fs/promises';
import { GetSecretValueCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { BrandReportsError } from '../errors.ts';
import { isCanonicalInteger, isJsonObject, type Json, numberText, parseJson } from '../json.ts';
import type { CredentialSource, Credentials } from '../ports.ts';
import { awsError, awsFailure } from './aws/errors.ts';
import { errorCode } from './local/disk-errors.ts';

const SHAPE = '{"bid":"…","token":"…","secret":"…"}';

/** Credentials from AWS Secrets Manager, one secret per brand: `{"bid":…,"token":…,"secret":…}`. Each read is a request. */
export function secretsManagerCredentials({
  client,
  secretNames,
}: {
  client: SecretsManagerClient;
  /** By brand. */
  secretNames: Readonly<Record<string, string>>;
}): CredentialSource {
  return {
    async read(brand) {
      const name = Object.hasOwn(secretNames, brand) ? secretNames[brand] : undefined;
      if (name === undefined)
        throw refused(
          brand,
          'the settings',
          'they name no secret for it',
          'Add the brand with its secretName.',
        );
      const text = await secretText(client, brand, name);
      const origin = `the secret ${name}`;
      return credentialsFrom(parsed(text, brand, origin, SHAPE), brand, origin, SHAPE);
    },
  };
}

/**
 * Credentials from JSON by brand: `{"acme":{"bid":…,"token":…,"secret":…}}`.
 * @param origin where the text comes from, for messages
 */
export function fixedCredentials(text: string, origin: string): CredentialSource {
  return { read: async (brand) => brandIn(text, brand, origin) };
}

/** Credentials from a file of that shape, read again each time: it may change while a run works. */
export function readCredentialsFile(path: string): CredentialSource {
  const origin = `the file ${path}`;
  return {
    async read(brand) {
      const text = await readFile(path, 'utf8').catch((error: unknown) => {
        throw refused(brand, origin, `it cannot be read (${errorCode(error)})`, 'Check --credentials.');
      });
      return brandIn(text, brand, origin);
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
  throw refused(brand, `the secret ${name}`, 'it is binary', `Store it as text: ${SHAPE}`);
}

function secretError(error: unknown, brand: string, name: string): BrandReportsError {
  switch (awsFailure(error).name) {
    case 'ResourceNotFoundException': {
      const create = `aws secretsmanager create-secret --name '${name}' --secret-string file://secret.json`;
      return refused(
        brand,
        `the secret ${name}`,
        'it does not exist or has no value',
        `Put ${SHAPE} into secret.json and create it: ${create}`,
      );
    }
    case 'InvalidRequestException': {
      const restore = `aws secretsmanager restore-secret --secret-id '${name}'`;
      return refused(brand, `the secret ${name}`, 'it is marked for deletion', `Restore it: ${restore}`);
    }
    default: {
      const nextStep = `Check the AWS credentials and the region, and grant secretsmanager:GetSecretValue on ${name}, and kms:Decrypt where it has a key of its own.`;
      return awsError(error, `Reading the secret ${name} of brand ${brand}`, nextStep);
    }
  }
}

function brandIn(text: string, brand: string, origin: string): Credentials {
  const shape = `{"${brand}":${SHAPE}}`;
  const brands = parsed(text, brand, origin, shape);
  const found = isJsonObject(brands) && Object.hasOwn(brands, brand) ? brands[brand] : undefined;
  if (found === undefined) throw refused(brand, origin, 'the brand is not in it', `Allowed: ${shape}`);
  return credentialsFrom(found, brand, origin, shape);
}

/** I9: a SyntaxError quotes the text, so it is not included as the cause. */
function parsed(text: string, brand: string, origin: string, shape: string): Json {
  try {
    return parseJson(text);
  } catch {
    throw refused(brand, origin, 'it is not JSON', `Allowed: ${shape}`);
  }
}

function credentialsFrom(value: Json, brand: string, origin: string, shape: string): Credentials {
  const field = (name: keyof Credentials, number?: string) => {
    const found = number ?? (isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined);
    if (typeof found === 'string' && /^[!-~]+$/.test(found)) return found;
    throw refused(brand, origin, wrong(name, found), `Allowed: ${shape}`);
  };
  const bid = isJsonObject(value) ? numberText(value.bid) : undefined;
  return {
    bid: field('bid', bid !== undefined && isCanonicalInteger(bid) ? bid : undefined),
    token: field('token'),
    secret: field('secret'),
  };
}

function wrong(name: string, found: Json | undefined): string {
  if (found === undefined || found === null) return `"${name}" is missing`;
  if (found === '') return `"${name}" is empty`;
  if (typeof found === 'string') return `"${name}" holds spaces, line breaks or characters beyond ASCII`;
  return `"${name}" is not ${name === 'bid' ? 'text or a whole number' : 'text'}`;
}

function refused(brand: string, origin: string, why: string, nextStep: string): BrandReportsError {
  return new BrandReportsError(
    'config',
    'bad_credentials',
    `No credentials of brand ${brand} in ${origin}: ${why}. ${nextStep}`,
    { context: { brand } },
  );
}
