import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { LAKE_FORMAT } from '../../shared/lake/cas-document.ts';
import { runCli } from './run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from './sample-brand.ts';

let sample: SampleBrandForCli;
beforeAll(async () => {
  sample = await serveSampleBrand();
  expect((await runCli(['sync', ...sample.flags])).code).toBe(0);
});
afterAll(() => sample.close());

/** Every name of the lake, with the bytes of files. */
function files(): Record<string, string> {
  const found = readdirSync(sample.lake, { recursive: true, withFileTypes: true });
  return Object.fromEntries(
    found.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return [path, entry.isFile() ? readFileSync(path, 'base64') : ''];
    }),
  );
}

/** Commands that read, write and restore a lake; all commands open it by one function. */
const commands: Record<string, () => { args: string[]; code: number }> = {
  sync: () => ({ args: ['sync', ...sample.flags], code: 2 }),
  query: () => ({ args: ['query', ...inLake(), 'SELECT count(*) FROM orders'], code: 2 }),
  verify: () => ({ args: ['verify', ...inLake()], code: 2 }),
  restore: () => ({ args: ['verify', '--restore', ...inLake()], code: 2 }),
  erase: () => ({ args: ['erase', '--brand', 'acme', '--yes', ...inLake()], code: 2 }),
};
const inLake = () => ['--lake', sample.lake];

async function refused(name: string, found: string): Promise<void> {
  const before = files();
  const { args, code } = commands[name]?.() ?? { args: [], code: 0 };
  const result = await runCli(args);
  expect([result.code, result.stdout + result.stderr]).toEqual([
    code,
    expect.stringMatching(
      new RegExp(`${found}.* format ${LAKE_FORMAT}\\. .*Next step: use the version .* a new folder`, 's'),
    ),
  ]);
  expect(files()).toEqual(before);
}

/** Documents of other folders have the same numbers, but no program reads them before these. */
function renumber(from: number, to: number): void {
  for (const folder of ['ledger', 'schema', 'leases'])
    for (const name of readdirSync(join(sample.lake, folder), { recursive: true, encoding: 'utf8' })) {
      const path = join(sample.lake, folder, name);
      if (!name.endsWith('.json')) continue;
      const text = readFileSync(path, 'utf8');
      writeFileSync(path, text.replace(`"version":${from},`, `"version":${to},`));
    }
}

describe('a lake', () => {
  // 0.2.0 wrote 1.
  it.each(Object.keys(commands))('of 0.2.0 is refused, and left as it is, by %s', async (name) => {
    renumber(LAKE_FORMAT, 1);
    try {
      await refused(name, 'has format 1;');
    } finally {
      renumber(1, LAKE_FORMAT);
    }
  });
});
