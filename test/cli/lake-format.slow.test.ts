import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { LAKE_FORMAT } from '../../shared/lake/lake-format.ts';
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
  demo: () => ({ args: ['demo', ...inLake()], code: 2 }),
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

/** Runs with another document of the format, or without the document. */
async function withDocument(text: string | undefined, act: () => Promise<void>): Promise<void> {
  const ours = readFileSync(document);
  if (text === undefined) rmSync(document);
  else writeFileSync(document, text);
  try {
    await act();
  } finally {
    writeFileSync(document, ours);
  }
}

describe('a lake', () => {
  it('gets its number from the first run', () => {
    expect(JSON.parse(readFileSync(document, 'utf8'))).toEqual({ format: LAKE_FORMAT });
  });

  // 0.2.0 wrote 1.
  it.each(Object.keys(commands))('of 0.2.0 is refused, and left as it is, by %s', (name) =>
    withDocument('{"format":1}\n', () => refused(name, 'has format 1;')),
  );
});
