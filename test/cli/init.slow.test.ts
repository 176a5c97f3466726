import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { reports } from '../../shared/reports/index.ts';
import { loadSettings } from '../../shared/settings/settings.ts';
import { runCli } from './run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from './sample-brand.ts';

const LAUNCHER = fileURLToPath(new URL('../../cli/brand-reports.js', import.meta.url));
/** Answers each prompt of a program on a separate terminal, like a person; the first arguments are the answers. */
const PERSON = `
import os, pty, re, select, sys
answers, command = sys.argv[1].split('\\x1f'), sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0: os.execv(command[0], command)
if answers[0] == 'EARLY': os.write(terminal, b'\\r'.join(a.encode() for a in answers[1:]) + b'\\r'); answers = []
shown = b''
while select.select([terminal], [], [], 30)[0]:
    try: part = os.read(terminal, 4096)
    except OSError: break
    if not part: break
    shown += part
    if answers and re.search(rb': (\\x1b\\[\\d+G)?$', shown): os.write(terminal, answers.pop(0).encode() + b'\\r')
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;

let sample: SampleBrandForCli;
let secrets: { bid: string; token: string; secret: string };
let answers: string[];
let number = 0;

beforeAll(async () => {
  sample = await serveSampleBrand();
  const { acme } = JSON.parse(readFileSync(join(sample.folder, 'credentials.json'), 'utf8'));
  secrets = acme;
  const { bid, token, secret } = secrets;
  answers = [acme.baseUrl, sample.service.serviceName, 'acme', bid, token, secret];
});
afterAll(() => sample.close());

function newFolder(): string {
  number += 1;
  const folder = join(sample.folder, `new ${number}`);
  mkdirSync(folder);
  return folder;
}

async function atTerminal(cwd: string, lines: readonly string[]) {
  const command = ['-c', PERSON, lines.join('\x1f'), process.execPath, LAUNCHER, 'init'];
  const person = spawn('python3', command, { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(person, 'close');
  const shown = await text(person.stdout);
  const [code] = await ended;
  return { code, shown };
}

const flagsFor = (changes: Record<string, string> = {}) => {
  const [baseUrl = '', service = '', brand = ''] = answers;
  const credentials = join(sample.folder, 'credentials.json');
  const flags = { '--base-url': baseUrl, '--service': service, '--brand': brand };
  return Object.entries({ ...flags, '--credentials': credentials, ...changes }).flat();
};

describe('init at a terminal', () => {
  it('prompts, shows no secret, and writes settings and credentials with which the printed command runs', async () => {
    const cwd = newFolder();
    const wrong = ['not an address', ...answers.slice(0, 2), 'No Name', ...answers.slice(2)];
    const { code, shown } = await atTerminal(cwd, wrong);
    expect({ code, shown }).toMatchObject({
      code: 0,
      shown: expect.stringMatching(/time zone America\/New_York is proven/),
    });
    for (const hidden of [secrets.token, secrets.secret]) expect(shown).not.toContain(hidden);
    expect(shown.match(/Not allowed\. Allowed: /g)).toHaveLength(2);
    expect(statSync(join(cwd, 'credentials.json')).mode & 0o777).toBe(0o600);
    const settings = readFileSync(join(cwd, 'settings.jsonc'), 'utf8');
    expect(settings).toMatch(/\/\/ the time zone America\/New_York is proven by/);
    expect(Object.keys(loadSettings(settings, 'it', reports).brands)).toEqual(['acme']);
    const [, next = ''] = /Next: npx brand-reports ([^\r\n]+)/.exec(shown) ?? [];
    expect(next).toBe('check');
    const checked = await runCli(next.split(' '), { cwd });
    expect({ code: checked.code, stdout: checked.stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/ok\. Next: npx brand-reports sync\n$/),
    });
    const again = await atTerminal(cwd, []);
    expect(again).toMatchObject({
      code: 2,
      shown: expect.stringContaining('settings.jsonc exists and is not overwritten'),
    });
  });

  it.each<[string, (given: string[]) => string[], number, RegExp, RegExp]>([
    [
      'the service refuses them',
      (given) => given.with(1, 'OTHER'),
      ...([
        1,
        /--service OTHER/,
        /X-OTHER-DATE, from the setting service[\s\S]*No settings were written\. Perhaps mistyped: the brand id/,
      ] as const),
    ],
    [
      'the address is wrong',
      (given) => given.with(0, 'http://127.0.0.1:9/x'),
      ...([1, /:9\/x --service/, /mistyped: the service's address/] as const),
    ],
    [
      'a token was pasted too early',
      (given) => given.with(1, 'a-token-of-30-characters-which1'),
      ...([1, /acme/, /mistyped/] as const),
    ],
    [
      'Ctrl-C stops it',
      (given) => [...given.slice(0, 2), '\x03'],
      ...([130, /--service SAMPLE/, /Stopped/] as const),
    ],
  ])('keeps the visible answers for the next try if %s', async (_why, changed, ended, kept, said) => {
    const cwd = newFolder();
    const { code, shown } = await atTerminal(cwd, changed(answers));
    expect({ code, shown }).toMatchObject({ code: ended, shown: expect.stringMatching(said) });
    expect(shown).toContain('then run: sh init-answers.sh');
    expect(readdirSync(cwd)).toEqual(['init-answers.sh']);
    expect(statSync(join(cwd, 'init-answers.sh')).mode & 0o777).toBe(0o600);
    const command = readFileSync(join(cwd, 'init-answers.sh'), 'utf8');
    expect(command).toMatch(/^npx brand-reports init --base-url http\S+( --service \w+)?( --brand acme)?\n$/);
    expect(command).toMatch(kept);
    for (const hidden of [secrets.token, secrets.secret, 'a-token']) expect(command).not.toContain(hidden);
  });

  it('shows nothing that is pasted before its question, and repeats no answer', async () => {
    const { shown } = await atTerminal(newFolder(), ['EARLY', ...Object.values(secrets), ...answers]);
    const afterStart = shown.slice(shown.indexOf('The service'));
    expect(afterStart).toContain('Not allowed');
    expect(afterStart).not.toContain(secrets.secret);
  });
});

describe('init with flags', () => {
  it.each<[string, string, RegExp]>([
    ['--settings', 'none/settings.jsonc', /none\/settings\.jsonc cannot be written \(ENOENT\)/],
    ['--brand', 'No Name', /lower-case letters/],
    ['--start-date', 'soon', /startDate is "soon"; allowed: a day/],
    ['--credentials', 'none.json', /none\.json/],
  ])('refuses %s %s, and writes nothing', async (flag, value, message) => {
    const cwd = newFolder();
    const { stderr, code } = await runCli(['init', ...flagsFor({ [flag]: value })], { cwd });
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(message) });
    expect(readdirSync(cwd)).toEqual([]);
  });

  it.each<[string, string, number, RegExp]>([
    [
      '--time-zone',
      'Europe/Berlin',
      0,
      /no time of that day in Europe\/Berlin; .*proven[^/]*"timeZone": "America/,
    ],
    ['--start-date', '2999-01-01', 1, /"startDate": "2999-01-01"/],
  ])('checks %s %s as `check` does, and writes what is proven', async (flag, value, code, written) => {
    const cwd = newFolder();
    const { code: ended, stdout } = await runCli(['init', ...flagsFor({ [flag]: value })], { cwd });
    expect({ ended, stdout }).toMatchObject({ ended: code });
    expect(stdout.includes('✗ startDate (2999-01-01) is in the future')).toBe(code === 1);
    expect(readFileSync(join(cwd, 'settings.jsonc'), 'utf8')).toMatch(written);
  });

  it('lists the missing flags without a terminal', async () => {
    const { code, stderr } = await runCli(['init', '--brand', 'acme'], { cwd: newFolder() });
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining('Add: --base-url <url> --service <name>'),
    });
  });

  it('reads credentials.json of the folder, and never overwrites it', async () => {
    const cwd = newFolder();
    const own = ['init', ...flagsFor()].filter((word) => !/^--credentials$|credentials\.json$/.test(word));
    writeFileSync(join(cwd, 'credentials.json'), 'mine', { mode: 0o600 });
    expect(await runCli(own, { cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('No credentials of brand acme in the file credentials.json: it is not'),
    });
    expect(readdirSync(cwd)).toEqual(['credentials.json']);
    expect(readFileSync(join(cwd, 'credentials.json'), 'utf8')).toBe('mine');
    writeFileSync(join(cwd, 'credentials.json'), readFileSync(join(sample.folder, 'credentials.json')));
    const { code, stdout } = await runCli(own, { cwd });
    const next = /Written: settings\.jsonc\nNext: npx brand-reports check --brand acme\n$/;
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(next) });
  });
});
