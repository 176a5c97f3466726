/**
 * Tests that the commands of `verify` heal: a lake is damaged in one way, `verify` reports it with a command, a shell runs
 * exactly that command, and the lake matches its ledgers again. The path of the lake needs quotes.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addDays } from '../../shared/base/days.ts';
import { runCli } from './run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from './sample-brand.ts';

const LAUNCHER = fileURLToPath(new URL('../../cli/brand-reports.js', import.meta.url));

let sample: SampleBrandForCli;
/** A closed day with a change and an older version, the day after it, and their month. */
let [day, other, month] = ['', '', ''];
/** The original, which is copied for each damage. */
let whole: string;
let lake: string;
let flags: string[];
let bin: string;
/** Somebody else's folder. */
let elsewhere: string;

beforeAll(async () => {
  sample = await serveSampleBrand();
  [day, other, month] = [sample.firstDay, addDays(sample.firstDay, 1), sample.firstDay.slice(0, 7)];
  whole = join(sample.folder, 'whole');
  lake = join(sample.folder, "a shop's lake");
  flags = [...sample.flags.slice(0, -2), '--lake', lake];
  bin = join(sample.folder, 'bin');
  mkdirSync(bin);
  elsewhere = join(sample.folder, 'elsewhere');
  writeFileSync(join(bin, 'npx'), `#!/bin/sh\nshift\nexec '${process.execPath}' '${LAUNCHER}' "$@"\n`);
  chmodSync(join(bin, 'npx'), 0o755);
  const sync = ['sync', 'order_list', ...sample.flags.slice(0, -2), '--lake', whole];
  expect((await runCli(sync)).code).toBe(0);
  sample.alter('order_list', day, () => ({ status: 'restated' }));
  expect((await runCli([...sync, '--from', day, '--to', day])).code).toBe(0);
});
afterAll(() => sample.close());

function partition(of: string): string {
  return `brand=acme/dt=${of}`;
}

/** The objects of the versions of a day, the oldest first. */
function versions(of: string, folder = 'snapshots/orders'): string[] {
  const root = join(lake, folder, partition(of));
  const files = readdirSync(root).map((id) => join(root, id, 'part-0000.parquet'));
  return files.sort((a, b) => statSync(a).mtimeMs - statSync(b).mtimeMs);
}

const current = (of = day) => versions(of).at(-1) ?? '';
const older = () => versions(day)[0] ?? '';
const before = () => versions(day, 'snapshots/orders_before').at(-1) ?? '';
const beforeLink = () =>
  join(lake, 'current/orders_before', partition(day), `${basename(dirname(before()))}.parquet`);
const linksOf = (of: string) => join(lake, 'current/orders', partition(of));
const link = (of = day) => join(linksOf(of), readdirSync(linksOf(of))[0] ?? '');
const document = (key: string) => join(lake, key);
const ledger = () => document(`ledger/order_list/acme/${month}.json`);

/** Makes it a separate file: a copy of a lake has no links. */
function overwrite(path: string, content: string | Buffer): void {
  rmSync(path, { force: true });
  writeFileSync(path, content);
}

function lose(snapshot: string): void {
  rmSync(snapshot);
  rmSync(link());
}

/** Changes the current snapshot and its link, as if they were one file. */
function spoil(change: (path: string) => void): void {
  for (const path of [current(), link()]) {
    chmodSync(path, 0o644);
    change(path);
  }
}

function middleChanged(path: string): void {
  const bytes = readFileSync(path);
  bytes.fill(0, 8, bytes.length - 8);
  overwrite(path, bytes);
}

function linkedElsewhere(folder: string): void {
  cpSync(join(lake, folder), elsewhere, { recursive: true });
  rmSync(join(lake, folder), { recursive: true });
  symlinkSync(elsewhere, join(lake, folder));
}

function rawFiles(name: RegExp): string[] {
  const root = join(lake, 'raw/order_list', partition(day));
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' });
  return files.filter((file) => name.test(file)).map((file) => join(root, file));
}

function replaced(path: string, by: (path: string) => void): void {
  rmSync(path, { recursive: true });
  by(path);
}

function fileIn(folder: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'part.parquet'), '');
}

const WRONG = /is missing or is not the current snapshot/;
const STRAY = /is named by no ledger/;
const BOTH = /is named by no ledger\n.* is missing or is not the current snapshot/;

/** `rounds`: how often `verify` has to print commands; 1 if it is missing. */
const DAMAGES: [name: string, damage: () => void, message: RegExp, rounds?: number][] = [
  ['a ledger that is not JSON', () => writeFileSync(ledger(), '{"version":'), /is not JSON/],
  ['a ledger that is lost', () => rmSync(ledger()), /is missing, but the lake has snapshots of/],
  [
    'a schema that is lost',
    () => rmSync(document('schema/orders.json')),
    /is missing, but the lake has snapshots of its table/,
    2,
  ],
  ['a snapshot that is missing, but for its link', () => rmSync(current()), /the snapshot is missing/],
  [
    'a missing file of orders_before, by its link',
    () => rmSync(before()),
    /what its records were before .* is missing/,
  ],
  [
    'an altered file of orders_before',
    () => [before(), beforeLink()].forEach(middleChanged),
    /what its records were before/,
  ],
  ['a snapshot that is missing, with its link', () => lose(current()), /the snapshot is missing/],
  [
    'a snapshot that is cut off, with its link',
    () => spoil((path) => truncateSync(path, 100)),
    /cannot read/,
  ],
  [
    'the snapshot of another day',
    () => spoil((path) => copyFileSync(current(other), path)),
    /the ledger has|digest/,
  ],
  [
    'a snapshot with damaged raw records',
    () => {
      lose(current());
      for (const file of rawFiles(/\.zst$/)) overwrite(file, 'none');
    },
    /the snapshot is missing/,
  ],
  ['a link that is missing', () => rmSync(link()), WRONG],
  ['a folder of links', () => rmSync(join(lake, 'current'), { recursive: true }), WRONG],
  ['a link to another file', () => overwrite(link(), readFileSync(current(other))), WRONG],
  ['a link that leads nowhere', () => replaced(link(), (path) => symlinkSync('nowhere', path)), WRONG],
  [
    'a link to the folder of another day',
    () => symlinkSync(partition(day).slice('brand=acme/'.length), linksOf('2020-01-01')),
    STRAY,
  ],
  [
    'a link in the place of a day’s folder',
    () => replaced(linksOf(day), (path) => symlinkSync(linksOf(other), path)),
    BOTH,
  ],
  [
    'a file in the place of a brand’s folder',
    () => replaced(join(lake, 'current/orders/brand=acme'), (path) => writeFileSync(path, '')),
    BOTH,
  ],
  [
    'a link to the folder of a brand',
    () => symlinkSync('brand=acme', join(lake, 'current/orders/brand=zz')),
    STRAY,
  ],
  ['a link in the place of the table’s folder', () => linkedElsewhere('current/orders'), BOTH],
  [
    'a stale link',
    () => {
      rmSync(link());
      copyFileSync(older(), join(linksOf(day), `${dirname(older()).split('/').at(-1)}.parquet`));
    },
    BOTH,
  ],
  [
    "a file that somebody put beside a day's link",
    () => writeFileSync(join(linksOf(day), "some body's; file.parquet"), ''),
    STRAY,
  ],
  ['the file of a day that no ledger has', () => fileIn(linksOf('2020-01-01')), STRAY],
  ['a file beside the brands', () => fileIn(join(lake, 'current/orders')), STRAY],
];

async function shell(command: string): Promise<{ code: number; output: string }> {
  const child = spawn('sh', ['-c', command], {
    cwd: sample.folder,
    env: { ...process.env, NODE_OPTIONS: '', PATH: `${bin}:${process.env.PATH}` },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const [code] = await once(child, 'close');
  return { code: Number(code), output };
}

interface Finding {
  message: string;
  advice: string;
}

async function findings(): Promise<{ code: number; found: Finding[] }> {
  const { code, stdout, stderr } = await runCli(['verify', '--json', ...flags]);
  if (code > 1) throw new Error(stderr);
  const found: { tables: { mismatches: Finding[] }[]; documents?: { problem: string; advice: string }[] } =
    JSON.parse(stdout);
  const documents = (found.documents ?? []).map(({ problem: message, advice }) => ({ message, advice }));
  return { code, found: [...documents, ...found.tables.flatMap(({ mismatches }) => mismatches)] };
}

function copyLake(): void {
  for (const folder of [lake, elsewhere]) rmSync(folder, { recursive: true, force: true });
  cpSync(whole, lake, { recursive: true, preserveTimestamps: true });
}

describe('the command that verify prints', () => {
  it('is not needed for a copy of a lake, whose files are no longer links', async () => {
    copyLake();
    expect(await findings()).toEqual({ code: 0, found: [] });
  });

  it.each(DAMAGES)('heals %s', async (_name, damage, message, rounds = 1) => {
    copyLake();
    damage();
    const { code, found } = await findings();
    expect([code, found.map((finding) => finding.message).join('\n')]).toEqual([
      1,
      expect.stringMatching(message),
    ]);
    const said: string[] = [];
    // A schema without its last columns is put back first; then the days that have these columns are found.
    for (let round = 1, left = found; round <= rounds; round += 1, left = (await findings()).found)
      for (const advice of new Set(left.map((finding) => finding.advice)))
        said.push(advice, (await shell(advice)).output);
    expect([await findings(), said]).toEqual([{ code: 0, found: [] }, said]);
  });

  it('rebuilds a lost version, and equal records are no change', async () => {
    copyLake();
    lose(current());
    await shell((await findings()).found[0]?.advice ?? '');
    const changes = 'SELECT dt, count(DISTINCT place) AS times FROM changes GROUP BY dt';
    const { stdout } = await runCli(['query', '--json', '--lake', lake, changes]);
    expect(JSON.parse(stdout)).toEqual([{ dt: day, times: 1 }]);
  });

  it('finishes an erasure that has died', async () => {
    copyLake();
    const [path, bytes] = [link(), readFileSync(link())];
    const range = ['--brand', 'acme', '--from', day, '--to', day];
    const erasing = ['erase', 'orders', ...range, '--yes', '--lake', lake];
    expect(await runCli(erasing)).toMatchObject({ code: 0 });
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, bytes);
    const { found } = await findings();
    expect(found.map(({ advice }) => advice)).toEqual([
      expect.stringMatching(`^npx brand-reports erase order_list ${range.join(' ')} `),
    ]);
    await shell(`${found[0]?.advice} --yes`);
    expect(await findings()).toEqual({ code: 0, found: [] });
  });

  it('removes a link to a folder, and no file in that folder', async () => {
    copyLake();
    mkdirSync(join(elsewhere, 'dt=2020-01-01'), { recursive: true });
    writeFileSync(join(elsewhere, 'dt=2020-01-01/precious.parquet'), '');
    const path = join(lake, 'current/orders/brand=zz');
    symlinkSync(elsewhere, path);
    const { found } = await findings();
    expect(found.map(({ advice }) => advice)).toEqual([`rm -- '${path.replace("'", "'\\''")}'`]);
    await shell(found[0]?.advice ?? '');
    expect(await findings()).toEqual({ code: 0, found: [] });
    expect(readdirSync(elsewhere, { recursive: true })).toContain('dt=2020-01-01/precious.parquet');
  });

  it('is printed once, below the findings that it heals', async () => {
    copyLake();
    rmSync(link());
    writeFileSync(ledger().replace(month, '2020-01'), '{');
    writeFileSync(document('ledger/acme/state.json'), '{');
    const { code, stdout } = await runCli(['verify', ...flags]);
    expect(code).toBe(1);
    expect(stdout.split('\n').filter((line) => line.startsWith('npx') || line.startsWith('mkdir'))).toEqual([
      `npx brand-reports verify --restore --lake '${lake.replace("'", "'\\''")}' ${sample.flags.slice(0, 4).join(' ')}`,
      expect.stringMatching(/^mkdir -p '.*' && ln -f '.*' '.*'$/),
    ]);
    expect(stdout).not.toMatch(/<\w+>|REPORT|DAY|NAME/);
  });
});

describe('a lake without anything to verify', () => {
  it.each<[string, () => string[]]>([
    ['is an empty folder', () => ['--lake', bin]],
    ['has no day in the range', () => [...flags, '--from', '2020-01-01', '--to', '2020-01-02']],
    ['has no such brand', () => [...flags, '--brand', 'acne']],
  ])('is an error that names the next step: it %s', async (_name, given) => {
    copyLake();
    const { code, stderr, stdout } = await runCli(['verify', ...given()]);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/There is nothing to verify in \S.* npx brand-reports sync .*--lake /);
    const json = await runCli(['verify', '--json', ...given()]);
    expect(JSON.parse(json.stdout)).toMatchObject({ status: 'failed', error: { code: 'nothing_to_verify' } });
  });
});
