import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runCli } from './run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from './sample-brand.ts';

let sample: SampleBrandForCli;
let document: string;
beforeAll(async () => {
  sample = await serveSampleBrand();
  document = join(sample.lake, 'ledger/format.json');
  expect((await runCli(['sync', ...sample.flags])).code).toBe(0);
});
afterAll(() => sample.close());

/** Every file of the lake with its bytes. */
function files(): Record<string, string> {
  const found = readdirSync(sample.lake, { recursive: true, withFileTypes: true });
  return Object.fromEntries(
    found
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => [
        join(parentPath, name),
        readFileSync(join(parentPath, name), 'base64'),
      ]),
  );
}

const commands: Record<string, () => { args: string[]; code: number }> = {
  sync: () => ({ args: ['sync', ...sample.flags], code: 1 }),
  'sync of a range': () => ({ args: ['sync', ...sample.flags, '--from', sample.firstDay], code: 1 }),
  status: () => ({ args: ['status', ...settingsAndLake()], code: 2 }),
  query: () => ({ args: ['query', ...inLake(), 'SELECT count(*) FROM orders'], code: 2 }),
  verify: () => ({ args: ['verify', ...inLake()], code: 2 }),
  diff: () => ({ args: ['diff', 'orders', sample.firstDay, ...inLake()], code: 2 }),
  rollback: () => ({
    args: ['rollback', 'order_list', sample.firstDay, '--to', 'x', ...settingsAndLake()],
    code: 2,
  }),
  rebuild: () => ({
    args: ['rebuild', 'order_list', '--from', sample.firstDay, '--to', sample.firstDay, ...settingsAndLake()],
    code: 1,
  }),
  restore: () => ({ args: ['verify', '--restore', ...inLake()], code: 2 }),
};
const inLake = () => ['--lake', sample.lake];
const settingsAndLake = () => [...sample.flags.slice(0, 2), ...inLake()];

async function refused(name: string, found: string): Promise<void> {
  const before = files();
  const { args, code } = commands[name]?.() ?? { args: [], code: 0 };
  const result = await runCli(args);
  expect([result.code, result.stdout + result.stderr]).toEqual([
    code,
    expect.stringMatching(new RegExp(`${found}.* format 1\\. .*Next step: use the version`, 's')),
  ]);
  expect(files()).toEqual(before);
}

describe('a lake', () => {
  it('gets its number from the first run', () => {
    expect(JSON.parse(readFileSync(document, 'utf8'))).toEqual({ format: 1 });
  });

  it.each(Object.keys(commands))('with a later number is refused, and left as it is, by %s', async (name) => {
    const ours = readFileSync(document);
    writeFileSync(document, '{"format":2}');
    try {
      await refused(name, 'has format 2');
    } finally {
      writeFileSync(document, ours);
    }
  });

  it.each(['sync', 'restore'])(
    'with ledgers and no number is refused, and left as it is, by %s',
    async (name) => {
      const ours = readFileSync(document);
      rmSync(document);
      try {
        await refused(name, 'has ledgers, but no document ledger/format.json');
      } finally {
        writeFileSync(document, ours);
      }
    },
  );
});
