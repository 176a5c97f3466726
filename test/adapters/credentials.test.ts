import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { fixedCredentials, readCredentialsFile } from '../../shared/adapters/credentials.ts';
import { secretsOf } from '../../shared/adapters/aws/secrets-manager-credentials.ts';
import type { CredentialSource } from '../../shared/ports.ts';
import { AwsFault } from '../fakes/aws-json-server.ts';
import { startSecretsServer } from '../fakes/secrets-server.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';

const NAME = 'brand-reports/acme';
const GOOD = '{"bid":"b1","token":"t1","secret":"s1"}';

let server: Awaited<ReturnType<typeof startSecretsServer>>;

beforeEach(async () => {
  server = await startSecretsServer();
});
afterEach(async () => {
  server.client.destroy();
  await server.close();
});

const BASE_URL = 'https://api.example.com/acme';
const inSecret = (needsBaseUrl = false) =>
  secretsOf({ acme: { secretName: NAME, baseUrl: BASE_URL } }, { needsBaseUrl, client: server.client });

/** The same credentials, from a secret and from text by brand. */
function sourcesOf(json: string): [origin: string, source: CredentialSource][] {
  server.secrets.set(NAME, json);
  return [
    [NAME, inSecret()],
    ['the test', fixedCredentials(`{"other":${GOOD},"acme":${json}}`, 'the test')],
  ];
}

async function refusal(source: CredentialSource, brand = 'acme') {
  return source.read(brand).then(
    () => 'read',
    (error: unknown) => error,
  );
}

describe('credentials', () => {
  it.each([
    ['text', GOOD, 'b1'],
    ['a bid that is a number', '{"bid":12,"token":"t1","secret":"s1"}', '12'],
    ['a bid beyond 2^53', '{"bid":9007199254740993,"token":"t1","secret":"s1"}', '9007199254740993'],
    ['more fields than are needed', '{"bid":"b1","token":"t1","secret":"s1","note":[1]}', 'b1'],
  ])('are read from %s', async (_name, json, bid) => {
    for (const [, source] of sourcesOf(json)) {
      expect(await source.read('acme')).toEqual({ bid, token: 't1', secret: 's1' });
    }
  });

  it.each([
    ['no bid', '{"token":"hush-t","secret":"hush-s"}', '"bid" is missing'],
    ['no token', '{"bid":1,"secret":"hush-s"}', '"token" is missing'],
    ['a token that is null', '{"bid":1,"token":null,"secret":"hush-s"}', '"token" is missing'],
    ['an empty secret', '{"bid":1,"token":"hush-t","secret":""}', '"secret" is empty'],
    ['a line break', '{"bid":1,"token":"hush-t\\n","secret":"hush-s"}', '"token" holds spaces, line breaks'],
    ['a token that is a number', '{"bid":1,"token":4242,"secret":"hush-s"}', '"token" is not text'],
    [
      'a bid with cents',
      '{"bid":1.50,"token":"hush-t","secret":"hush-s"}',
      '"bid" is not text or a whole number',
    ],
    ['a bid in another notation', '{"bid":1e3,"token":"hush-t","secret":"hush-s"}', '"bid" is not text or'],
    ['a list', '["hush-t"]', '"bid" is missing'],
    ...[
      ['an address without TLS', '"http://hush.example.com/"'],
      ['an address with a user', '"https://hush@example.com/"'],
      ['an address with a token', '"https://example.com/?token=hush"'],
      ['an address that is null', 'null'],
      ['an address that is a list', '["https://hush.example.com/"]'],
    ].map(([name = '', baseUrl = '']): [string, string, string] => [
      name,
      `{"bid":1,"token":"hush-t","secret":"hush-s","baseUrl":${baseUrl}}`,
      '"baseUrl" is not an https address (http on loopback only)',
    ]),
    ['a text', '"hush-t"', '"bid" is missing'],
    ['a truncated text', '{"bid":1,"token":"hush-t', 'it is not JSON'],
    ['no JSON', 'hush-t', 'it is not JSON'],
  ])('I9: say what is wrong and never what was read: %s', async (_name, json, why) => {
    for (const [origin, source] of sourcesOf(json)) {
      const error = await refusal(source);
      expect(error).toMatchObject({ kind: 'config', code: 'bad_credentials' });
      expect(error).toMatchObject({ message: expect.stringContaining('brand acme') });
      expect(error).toMatchObject({ message: expect.stringContaining(origin) });
      expect(error).toMatchObject({ message: expect.stringContaining(why) });
      expect(inspect(error, { depth: null, showHidden: true })).not.toMatch(/hush|4242/);
    }
  });

  it.each(['acme', 'constructor', 'toString'])('are missing for an unknown brand: %s', async (brand) => {
    const error = {
      kind: 'config',
      code: 'bad_credentials',
      message: expect.stringContaining(`brand ${brand}`),
    };
    expect(await refusal(fixedCredentials('{"other":{}}', 'the test'), brand)).toMatchObject(error);
    const withoutBrands = secretsOf({}, { needsBaseUrl: false, client: server.client });
    expect(await refusal(withoutBrands, brand)).toMatchObject(error);
  });
});

describe('the address that credentials are for', () => {
  const pinned = GOOD.replace('}', `,"baseUrl":"${BASE_URL}"}`);

  it('is read with them', async () => {
    for (const [, source] of sourcesOf(pinned))
      expect(await source.read('acme')).toEqual({ bid: 'b1', token: 't1', secret: 's1', baseUrl: BASE_URL });
  });

  it('is required of a secret in a deployment, and the error has the JSON and the command', async () => {
    server.secrets.set(NAME, GOOD);
    const error = await refusal(inSecret(true));
    expect(error).toMatchObject({ kind: 'config', code: 'bad_credentials' });
    for (const part of [
      `brand acme in the secret ${NAME}: "baseUrl" is missing`,
      `put {"bid":"…","token":"…","secret":"…","baseUrl":"${BASE_URL}"} into secret.json`,
      `aws secretsmanager put-secret-value --secret-id '${NAME}' --secret-string file://secret.json`,
    ])
      expect(error).toMatchObject({ message: expect.stringContaining(part) });
    server.secrets.set(NAME, pinned);
    expect(await inSecret(true).read('acme')).toMatchObject({ baseUrl: BASE_URL });
  });
});

describe('a secret', () => {
  it.each([
    [
      'does not exist',
      undefined,
      `{"bid":"…","token":"…","secret":"…","baseUrl":"https://…"} into secret.json and create it: aws secretsmanager create-secret --name '${NAME}' --secret-string file://secret.json`,
    ],
    [
      'is being deleted',
      new AwsFault('InvalidRequestException', 'marked'),
      `restore-secret --secret-id '${NAME}'`,
    ],
    [
      'may not be read',
      new AwsFault('AccessDeniedException', 'no'),
      `secretsmanager:GetSecretValue on ${NAME}`,
    ],
    ['cannot be decrypted', new AwsFault('DecryptionFailure', 'no'), 'kms:Decrypt'],
  ])('that %s is an error with the next step', async (_name, value, nextStep) => {
    if (value !== undefined) server.secrets.set(NAME, value);
    expect(await refusal(inSecret())).toMatchObject({
      kind: 'config',
      message: expect.stringContaining(nextStep),
    });
  });

  it('that cannot be read for the moment is read by a later attempt', async () => {
    server.secrets.set(NAME, new AwsFault('InternalServiceError', 'oops', 500));
    expect(await refusal(inSecret())).toMatchObject({ kind: 'transient' });
  });

  it('I9: that AWS refuses is reported without the headers that AWS quotes', async () => {
    server.secrets.set(NAME, new AwsFault('InvalidSignatureException', 'The Canonical String … hush-token'));
    const error = await refusal(inSecret());
    expect(error).toMatchObject({
      kind: 'config',
      message: expect.stringContaining('InvalidSignatureException'),
    });
    expect(inspect(error, { depth: null, showHidden: true })).not.toContain('hush');
  });

  it('is read again each time', async () => {
    server.secrets.set(NAME, GOOD);
    const source = inSecret();
    await source.read('acme');
    server.secrets.set(NAME, GOOD.replace('t1', 't2'));
    expect(await source.read('acme')).toMatchObject({ token: 't2' });
  });
});

describe('a credentials file', () => {
  it('is read again each time, and named when it cannot be', async () => {
    const folder = await temporaryFolder();
    const path = join(folder.path, 'credentials.json');
    const source = readCredentialsFile(path);
    await writeFile(path, `{"acme":${GOOD}}`);
    expect(await source.read('acme')).toMatchObject({ token: 't1' });
    await writeFile(path, `{"acme":${GOOD.replace('t1', 't2')}}`);
    expect(await source.read('acme')).toMatchObject({ token: 't2' });
    await rm(path);
    const error = await refusal(source);
    expect(error).toMatchObject({ kind: 'config', code: 'bad_credentials' });
    expect(error).toMatchObject({ message: expect.stringMatching(/credentials\.json.*ENOENT/) });
    await folder.remove();
  });
});
