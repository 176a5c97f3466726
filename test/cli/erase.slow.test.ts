import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { outcomeIn, runCli } from './run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from './sample-brand.ts';

let sample: SampleBrandForCli;
beforeAll(async () => {
  sample = await serveSampleBrand();
  expect((await runCli(['sync', ...sample.flags])).code).toBe(0);
});
afterAll(() => sample.close());

const erase = (...words: string[]) => {
  const { lake, folder, firstDay } = sample;
  const flags = ['--lake', lake, '--settings', join(folder, 'settings.json')];
  return runCli(['erase', '--brand', 'acme', '--from', firstDay, '--to', firstDay, ...flags, ...words]);
};
const linksOf = (table: string) => readdir(join(sample.lake, 'current', table, 'brand=acme'));

it('erases only after a confirmation, shows the days as erased, and undoes the erasure', async () => {
  const first = `dt=${sample.firstDay}`;
  expect(await erase()).toMatchObject({ code: 2, stderr: expect.stringContaining('add --yes') });
  expect((await erase('--plan')).stdout).toMatch(/would be removed[\s\S]*versions +\d+[\s\S]*planned/);
  expect(await linksOf('orders')).toContain(first);

  const { code, stdout } = await erase('--yes', '--json');
  expect({ code, outcome: outcomeIn(stdout) }).toMatchObject({
    code: 0,
    outcome: {
      status: 'complete',
      removed: { versions: { objects: expect.any(Number) } },
      remains: expect.any(Array),
    },
  });
  expect(await linksOf('orders')).not.toContain(first);
  expect(
    (await runCli(['sync', 'orders', '--from', sample.firstDay, '--to', sample.firstDay, ...sample.flags]))
      .code,
  ).toBe(0);
  expect(await linksOf('orders')).not.toContain(first);
  const status = await runCli([
    'status',
    '--lake',
    sample.lake,
    '--settings',
    join(sample.folder, 'settings.json'),
  ]);
  expect(status.stdout).toContain('x erased');
  expect((await runCli(['verify', '--lake', sample.lake])).code).toBe(0);

  expect((await erase('--undo')).stdout).toContain('read the erased days');
  expect((await runCli(['sync', 'orders', ...sample.flags])).code).toBe(0);
  expect(await linksOf('orders')).toContain(first);
});

it.each([
  ['a key without a value', ['--key', 'publisher_id', '--yes'], '--key "publisher_id" is not FIELD=VALUE'],
  [
    'a field that no table has',
    ['--key', 'nobody=1', '--yes'],
    'No table has the field, column or role "nobody"',
  ],
])('refuses %s', async (_what, words, message) => {
  expect(await erase(...words)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
});
