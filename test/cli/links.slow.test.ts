/** R13: folders of a lake that are links, as another user may plant them, with each command of the command line. */
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { runCli } from './run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from './sample-brand.ts';

const OLD = new Date(Date.now() - 40 * 24 * 60 * 60 * 1000);

let sample: SampleBrandForCli;
let lake: string;
let docs: string;
let whole: string;

beforeAll(async () => {
  sample = await serveSampleBrand();
  lake = sample.lake;
  [docs, whole] = [join(sample.folder, 'docs'), join(sample.folder, 'whole')];
  expect((await runCli(['sync', ...sample.flags])).code).toBe(0);
  expect((await runCli(['open', '--lake', lake])).code).toBe(0);
  renameSync(lake, whole);
});
afterAll(() => sample.close());

beforeEach(() => {
  for (const folder of [lake, docs]) rmSync(folder, { recursive: true, force: true });
  cpSync(whole, lake, { recursive: true, preserveTimestamps: true });
  mkdirSync(docs);
});

const settings = () => sample.flags.slice(0, 2);
const inLake = () => ['--lake', lake];
const COMMANDS: Record<string, () => string[]> = {
  sync: () => ['sync', ...sample.flags],
  'sync of a range': () => ['sync', ...sample.flags, '--from', sample.firstDay, '--to', sample.firstDay],
  rebuild: () => [
    ...['rebuild', 'order_list', '--from', sample.firstDay, '--to', sample.firstDay],
    ...settings(),
    ...inLake(),
  ],
  rollback: () => ['rollback', 'order_list', sample.firstDay, '--to', 'x', ...settings(), ...inLake()],
  erase: () => ['erase', '--brand', 'acme', '--yes', ...settings(), ...inLake()],
  open: () => ['open', ...inLake()],
  verify: () => ['verify', ...inLake()],
  query: () => ['query', ...inLake(), 'SELECT count(*) FROM orders'],
};

/** Replaces a name of the lake by a link to a folder with old files, of which some have names like those of the lake. */
function plant(name: string): string {
  const link = join(lake, name);
  if (lstatSync(link, { throwIfNoEntry: false })) renameSync(link, join(docs, 'moved'));
  symlinkSync(docs, link);
  const moved = join(docs, 'moved');
  if (lstatSync(moved, { throwIfNoEntry: false })?.isDirectory())
    cpSync(moved, docs, { recursive: true, preserveTimestamps: true });
  for (const file of ['thesis.doc', randomUUID(), 'part-0000.parquet'])
    writeFileSync(join(docs, file), 'mine');
  const entries = readdirSync(docs, { recursive: true, encoding: 'utf8' });
  for (const entry of entries) utimesSync(join(docs, entry), OLD, OLD);
  return link;
}

function contents(folder: string): Record<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return Object.fromEntries(
    entries.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return [path, entry.isFile() ? readFileSync(path, 'base64') : ''];
    }),
  );
}

const NAMES = [
  ...['.tmp', '.runs', '.lock', 'query-results', 'snapshots', 'raw', 'ledger', 'schema'],
  ...['current', 'closes', 'iceberg', 'status'],
];

it.each([
  ...NAMES.map((name) => ['erase', name] as const),
  ...Object.keys(COMMANDS).map((command) => [command, '.tmp'] as const),
])('%s names the link %s, and changes nothing behind the link', async (command, name) => {
  const link = plant(name);
  const before = contents(docs);
  const { code, stdout, stderr } = await runCli(COMMANDS[command]?.() ?? []);
  expect([code === 0, stdout + stderr]).toEqual([false, expect.stringContaining(`rm -- ${link}.`)]);
  expect(contents(docs)).toEqual(before);
});

it.each([
  ['sync of a range', 'snapshots/orders'],
  ['erase', 'snapshots/orders/brand=acme'],
  ['sync of a range', 'raw/order_list'],
  ['rebuild', 'ledger/order_list/acme'],
  ['erase', 'current/orders'],
  ['query', 'snapshots/orders'],
  ['open', 'snapshots/orders'],
])('%s names the link %s in a folder of the lake', async (command, name) => {
  const link = plant(name);
  const before = contents(docs);
  const { code, stdout, stderr } = await runCli(COMMANDS[command]?.() ?? []);
  expect([code === 0, stdout + stderr]).toEqual([false, expect.stringContaining(link)]);
  expect(contents(docs)).toEqual(before);
});

it('erase leaves a folder query-results, which belongs to no local lake', async () => {
  mkdirSync(join(lake, 'query-results'));
  writeFileSync(join(lake, 'query-results/mine.csv'), '');
  expect((await runCli(COMMANDS.erase?.() ?? [])).code).toBe(0);
  expect(readdirSync(join(lake, 'query-results'))).toEqual(['mine.csv']);
});

describe('a lake that others may change', () => {
  const writing = ['sync', 'rebuild', 'erase', 'open'];

  it.each(writing)('is refused by %s if all users may', async (command) => {
    chmodSync(lake, 0o777);
    const before = contents(lake);
    const { code, stdout, stderr } = await runCli(COMMANDS[command]?.() ?? []);
    const said = expect.stringContaining(`run: chmod o-w ${lake}`);
    expect([code === 0, stdout + stderr]).toEqual([false, said]);
    expect(contents(lake)).toEqual(before);
  });

  it('is named by sync if a group may, and used', async () => {
    chmodSync(lake, 0o2775);
    const { code, stderr } = await runCli(COMMANDS.sync?.() ?? []);
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining(
        `warning: a group may change ${lake}, because the mode of ${lake} is 2775. Unless you share it, run: chmod g-w ${lake}`,
      ),
    ]);
  });
});
