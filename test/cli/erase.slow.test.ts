import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { readParquetRows } from '../../shared/table/coded-columns.ts';
import { KINDS } from '../../shared/operations/erased-objects.ts';
import { outcomeIn, runCli } from './run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from './sample-brand.ts';

let sample: SampleBrandForCli;
beforeAll(async () => {
  sample = await serveSampleBrand();
  for (const report of ['order_list', 'transaction_list', 'clicks_list'] as const)
    sample.alter(report, sample.firstDay, () => ({ publisher_name: 'Anna Beispiel', note: 'Beispielweg 8' }));
  expect((await runCli(['sync', ...sample.flags])).code).toBe(0);
  expect((await runCli(['open', '--lake', sample.lake])).code).toBe(0);
});
afterAll(() => sample.close());

const settings = () => ['--lake', sample.lake, '--settings', join(sample.folder, 'settings.json')];
const erase = (...words: string[]) => {
  const { firstDay } = sample;
  return runCli(['erase', '--brand', 'acme', '--from', firstDay, '--to', firstDay, ...settings(), ...words]);
};
const linksOf = (table: string) => readdir(join(sample.lake, 'current', table, 'brand=acme'));

/** The files of the folder, also hidden files, that contain one of the texts. */
async function filesWith(...texts: string[]): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(sample.lake, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    const body = await readFile(file);
    let text = `${file} ${body.toString('latin1')}`;
    if (file.endsWith('.zst')) text += zstdDecompressSync(body).toString();
    const range = async (start: number, end: number) => body.subarray(start, end);
    if (file.endsWith('.parquet'))
      for await (const row of readParquetRows({ bytes: body.length, range }))
        text += Object.values(row).join();
    if (texts.some((each) => text.includes(each))) found.push(file.slice(sample.lake.length + 1));
  }
  return found;
}

it('erases one report only after a confirmation, and shows what was searched, removed and left', async () => {
  const first = `dt=${sample.firstDay}`;
  expect(await erase('orders')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('To erase it: --yes'),
  });
  const plan = (await erase('orders', '--plan')).stdout;
  expect(plan).toContain(`acme ${sample.firstDay} to ${sample.firstDay}: order_list\n`);
  for (const [kind, what] of Object.entries(KINDS))
    expect(plan).toMatch(new RegExp(`^${kind} .*${what.replaceAll(/[()]/g, '.')}`, 'm'));
  expect(plan).toMatch(/searched +would be removed +would be left[\s\S]*versions +3 +1 +2[\s\S]*planned/);
  expect(await linksOf('orders')).toContain(first);

  const { code, stdout } = await erase('order_list', '--yes', '--json');
  expect({ code, outcome: outcomeIn(stdout) }).toMatchObject({
    code: 0,
    outcome: {
      ...{ status: 'complete', reports: ['order_list'] },
      searched: { versions: { objects: 3 }, partitions: { objects: 3 }, closes: { objects: 0 } },
      removed: { versions: { objects: 1 }, partitions: { objects: 1 } },
      left: { versions: { objects: 2 }, partitions: { objects: 2 } },
      remains: expect.any(Array),
    },
  });
  expect(await linksOf('orders')).not.toContain(first);
  expect(await linksOf('transactions')).toContain(first);
  expect((await filesWith('Anna Beispiel')).filter((file) => /order/.test(file))).toEqual([]);
  expect(await filesWith('Anna Beispiel')).not.toEqual([]);
  expect(outcomeIn((await erase('orders', '--undo', '--json')).stdout)).toMatchObject({ status: 'undone' });
});

it('leaves no byte of the days in the folder, keeps runs from reading them, and undoes the erasure', async () => {
  const first = `dt=${sample.firstDay}`;
  expect((await runCli(['sync', ...sample.flags])).code).toBe(0);
  expect(await filesWith('Anna Beispiel')).not.toEqual([]);
  expect((await erase('--yes')).stdout).toMatch(/complete\n$/);
  expect(await filesWith('Anna Beispiel', 'Beispielweg', first)).toEqual([]);

  const range = ['--from', sample.firstDay, '--to', sample.firstDay];
  expect((await runCli(['sync', 'orders', ...range, ...sample.flags])).code).toBe(0);
  expect(await linksOf('orders')).not.toContain(first);
  expect((await runCli(['status', ...settings()])).stdout).toContain('orders: erased: ');
  expect((await runCli(['verify', '--lake', sample.lake])).code).toBe(0);

  expect((await erase('--undo')).stdout).toContain('read the erased days');
  expect((await runCli(['sync', 'orders', ...sample.flags])).code).toBe(0);
  expect(await linksOf('orders')).toContain(first);
});

it.each([
  ['a report that does not exist', ['nobody', '--yes'], '"nobody"'],
  [
    'a day in the future',
    ['--to', '2999-01-01', '--yes'],
    '--to 2999-01-01 is in the future. Allowed: up to',
  ],
])('refuses %s', async (_what, words, message) => {
  expect(await erase(...words)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
});
