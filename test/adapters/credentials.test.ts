import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, chown, lchown, mkdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inspect, promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
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
  secretsOf({ brands: { acme: { secretName: NAME, baseUrl: BASE_URL } } }, needsBaseUrl, server.client);

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
    ['a key twice', '{"token":"hush-t",\n"token":"hush-u"}', 'token twice (lines 1 and 2)'],
    ['UTF-16', Buffer.from('{"token":"hush"}', 'utf16le').toString(), 'it is'],
    [
      'a credential as a key twice',
      '{"hush-0123456789abcdef-t":1,"hush-0123456789abcdef-t":1}',
      '… twice (lines 1 and 1)',
    ],
  ])('I9: have errors that explain the fault and never quote the text: %s', async (_name, json, why) => {
    for (const [origin, source] of sourcesOf(json)) {
      const error = await refusal(source);
      expect(error).toMatchObject({ kind: 'config', code: 'bad_credentials' });
      expect(error).toMatchObject({ message: expect.stringContaining('brand acme') });
      expect(error).toMatchObject({ message: expect.stringContaining(origin) });
      expect(error).toMatchObject({ message: expect.stringContaining(why) });
      expect(inspect(error, { depth: null, showHidden: true })).not.toMatch(/hush|4242/);
    }
  });

  it('are refused for every brand of a file that has a brand twice', async () => {
    const source = fixedCredentials(
      `\ufeff{"acme":${GOOD},\n"globex":${GOOD},\n"globex":${GOOD}}`,
      'the test',
    );
    expect(await refusal(source)).toMatchObject({
      kind: 'config',
      message: expect.stringContaining('it has globex twice (lines 2 and 3): remove one of them. Allowed: {'),
    });
  });

  it.each(['acme', 'constructor', 'toString'])('are missing for an unknown brand: %s', async (brand) => {
    const error = {
      kind: 'config',
      code: 'bad_credentials',
      message: expect.stringContaining(`brand ${brand}`),
    };
    expect(await refusal(fixedCredentials('{"other":{}}', 'the test'), brand)).toMatchObject(error);
    const withoutBrands = secretsOf({ brands: {} }, false, server.client);
    expect(await refusal(withoutBrands, brand)).toMatchObject(error);
  });
});

it('a brand without secretName uses the secret named by the prefix and the brand', async () => {
  server.secrets.set('brand-reports/acme', GOOD);
  const source = secretsOf({ brands: { acme: { baseUrl: BASE_URL } } }, false, server.client);
  expect(await source.read('acme')).toMatchObject({ bid: 'b1' });
  server.secrets.delete('brand-reports/acme');
  await expect(source.read('acme')).rejects.toThrow("create-secret --name 'brand-reports/acme'");
});

describe('the address that credentials are for', () => {
  const pinned = GOOD.replace('}', `,"baseUrl":"${BASE_URL}"}`);

  it('is read with the credentials', async () => {
    for (const [, source] of sourcesOf(pinned))
      expect(await source.read('acme')).toEqual({ bid: 'b1', token: 't1', secret: 's1', baseUrl: BASE_URL });
  });

  it('is required in the secret of a deployment, and the error has the JSON and the command', async () => {
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

  it('that cannot be read temporarily is read by a later attempt', async () => {
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
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  let path: string;
  let warnings: string[];
  const source = (of = path) => readCredentialsFile(of, (message) => warnings.push(message));

  beforeEach(async () => {
    folder = await temporaryFolder();
    path = join(folder.path, 'credentials.json');
    warnings = [];
    await writeFile(path, `{"acme":${GOOD}}`, { mode: 0o600 });
  });
  afterEach(() => {
    jest.restoreAllMocks();
    return folder.remove();
  });

  it('is read again each time, also with a byte order mark, and named if it cannot be read', async () => {
    const file = source();
    expect(await file.read('acme')).toMatchObject({ token: 't1' });
    await writeFile(path, `\ufeff{"acme":${GOOD.replace('t1', 't2')}}`);
    expect(await file.read('acme')).toMatchObject({ token: 't2' });
    await rm(path);
    const error = await refusal(file);
    expect(error).toMatchObject({ kind: 'config', code: 'bad_credentials' });
    expect(error).toMatchObject({ message: expect.stringMatching(/credentials\.json.*ENOENT/) });
    expect(warnings).toEqual([]);
  });

  it.each([0o660, 0o602, 0o620, 0o666])('that others may change is refused: mode %i', async (mode) => {
    await chmod(path, mode);
    expect(await refusal(source())).toMatchObject({
      kind: 'config',
      code: 'bad_credentials',
      message: expect.stringMatching(
        /other users may change it \(owner \d+, mode \d+\)\. Check its contents, then run: chmod 600 \S+credentials\.json$/,
      ),
    });
  });

  it('of another user is refused, and stays that user’s', async () => {
    const { uid } = await stat(path);
    if (uid === 0) await chown(path, 4242, 0);
    jest.spyOn(process, 'getuid').mockReturnValue(4243);
    const message = expect.stringMatching(/other users may change it .* use a copy that belongs to you/);
    expect(await refusal(source())).toMatchObject({ message });
  });

  it('of another user is read by root, as in a container with files of the host', async () => {
    if (process.getuid?.() === 0) {
      await chown(path, 4242, 4242);
      await chown(folder.path, 4242, 4242);
    }
    jest.spyOn(process, 'getuid').mockReturnValue(0);
    expect(await source().read('acme')).toMatchObject({ token: 't1' });
    expect(warnings).toEqual([]);
    await chmod(path, 0o620);
    const message = expect.stringMatching(/other users may change it .* then run: chmod 600 \S+$/);
    expect(await refusal(source())).toMatchObject({ message });
  });

  it.each([0o640, 0o604, 0o644])(
    'that others may read is read, with a single warning: mode %i',
    async (mode) => {
      await chmod(path, mode);
      const file = source();
      await Promise.all([file.read('acme'), file.read('acme')]);
      await file.read('acme');
      expect(warnings).toEqual([`other users may read ${path}. Keep them out: chmod go= ${path}`]);
    },
  );

  describe.each([
    ['its folder', ''],
    ['a folder further up', 'further/down'],
  ])('if others may write into %s', (_name, below) => {
    const copy = async () => {
      await mkdir(join(folder.path, below), { recursive: true, mode: 0o755 });
      const name = join(folder.path, below, 'copy.json');
      await writeFile(name, `{"acme":${GOOD}}`, { mode: 0o600 });
      return name;
    };

    it.each([
      ['refused: everybody', 0o777, /other users may replace it, because .* is 777\. .* run: chmod o-w \S+$/],
      ['read: everybody, but they may remove only their own files', 0o1777, undefined],
      ['read with a warning: a group, which may be the user’s own', 0o775, undefined],
    ])('is %s', async (_who, mode, refused) => {
      const name = await copy();
      await chmod(folder.path, mode);
      const message = refused && expect.stringMatching(refused);
      expect(await refusal(source(name))).toEqual(message ? expect.objectContaining({ message }) : 'read');
      expect(warnings).toEqual(
        mode === 0o775 ? [expect.stringMatching(/^a group may replace \S+copy.json, .* chmod g-w \S+$/)] : [],
      );
    });

    it.each([0o755, 0o1777])('is refused: its owner is neither root nor me; mode %i', async (mode) => {
      const name = await copy();
      await chmod(folder.path, mode);
      // Only root can give a folder away.
      if (process.getuid?.() !== 0) return;
      await chown(folder.path, 4242, 0);
      await chown(name, 4243, 0);
      if (below) for (const part of ['further', below]) await chown(join(folder.path, part), 4243, 0);
      jest.spyOn(process, 'getuid').mockReturnValue(4243);
      const message = expect.stringMatching(/may replace it, because \S+ belongs to the user 4242/);
      expect(await refusal(source(name))).toMatchObject({ message });
    });
  });

  it.each([
    ['a link', 'open/link', '../credentials.json'],
    ['a folder that is a link', 'open/link/credentials.json', '..'],
    ['a link to a link', 'link', 'open/link'],
  ])('is refused if others may replace %s on the way to it', async (_name, through, target) => {
    const open = join(folder.path, 'open');
    await mkdir(open);
    await symlink(through === 'link' ? '../credentials.json' : target, join(open, 'link'));
    if (through === 'link') await symlink(target, join(folder.path, 'link'));
    expect(await source(join(folder.path, through)).read('acme')).toMatchObject({ token: 't1' });
    await chmod(open, 0o777);
    const message = expect.stringContaining(`because the mode of ${open} is 777`);
    expect(await refusal(source(join(folder.path, through)))).toMatchObject({ message });
  });

  it('is refused if another user made the link in a folder for everybody, such as /tmp', async () => {
    const open = join(folder.path, 'open');
    await mkdir(open);
    await chmod(open, 0o1777);
    await symlink(path, join(open, 'link'));
    expect(await source(join(open, 'link')).read('acme')).toMatchObject({ token: 't1' });
    if (process.getuid?.() !== 0) return;
    await lchown(join(open, 'link'), 4242, 0);
    const message = expect.stringMatching(/because a link in \S+open belongs to the user 4242/);
    // The system may refuse first (fs.protected_symlinks).
    expect(await refusal(source(join(open, 'link')))).toMatchObject(
      readFileSync('/proc/sys/fs/protected_symlinks', 'utf8').startsWith('1')
        ? { code: 'bad_credentials' }
        : { message },
    );
  });

  it('may be a link, as Kubernetes mounts secrets; the target file counts', async () => {
    await mkdir(join(folder.path, '..data'));
    const file = join(folder.path, '..data', 'acme.json');
    await writeFile(file, `{"acme":${GOOD}}`, { mode: 0o600 });
    await symlink('..data/acme.json', join(folder.path, 'acme.json'));
    const linked = source(join(folder.path, 'acme.json'));
    expect(await linked.read('acme')).toMatchObject({ token: 't1' });
    await chmod(file, 0o666);
    expect(await refusal(linked)).toMatchObject({ message: expect.stringContaining('may change it') });
  });

  it.each([
    ['a pipe of the shell', '<(cat credentials.json)'],
    ['standard input that is piped', '/dev/stdin < <(cat credentials.json)'],
    ['standard input that is a file', '/dev/stdin < credentials.json'],
    ['standard input that is a text', '/dev/stdin <<< "$(cat credentials.json)"'],
  ])('may be %s, which is read for every brand and again', async (_name, argument) => {
    const module = fileURLToPath(new URL('../../shared/adapters/credentials.ts', import.meta.url));
    const script = `
      import { readCredentialsFile } from '${module}';
      const source = readCredentialsFile(process.argv[1], console.log);
      await Promise.all([source.read('acme'), source.read('acme')]);
      console.log((await source.read('acme')).token);`;
    const command = `exec '${process.execPath}' --input-type=module -e "$SCRIPT" ${argument}`;
    const env = { ...process.env, NODE_OPTIONS: '', SCRIPT: script };
    const { stdout } = await promisify(execFile)('bash', ['-c', command], { cwd: folder.path, env });
    expect(stdout).toBe('t1\n');
  });
});
