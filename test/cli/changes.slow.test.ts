import { cpSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { addDays } from '../../shared/days.ts';
import { runCli } from './run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from './sample-brand.ts';

let sample: SampleBrandForCli;
let [day, other] = ['', ''];
/** A copy of the lake of the sample, for one test. */
let lake: string;
let inLake: string[];

/** Two closed days of orders; the first day has changed twice, the second once. */
beforeAll(async () => {
  sample = await serveSampleBrand();
  [day, other] = [sample.firstDay, addDays(sample.firstDay, 1)];
  lake = sample.lake;
  await sync();
  setStatus(day, 'restated');
  setStatus(other, 'restated');
  await sync();
  setStatus(day, 'restated again');
  await sync();
});
beforeEach(() => {
  lake = join(sample.folder, 'copy');
  inLake = ['--lake', lake];
  rmSync(lake, { recursive: true, force: true });
  cpSync(sample.lake, lake, { recursive: true, preserveTimestamps: true });
});
afterAll(() => sample.close());

async function sync(): Promise<void> {
  const days = ['--from', day, '--to', other];
  const { code, stderr } = await runCli(['sync', 'order_list', ...days, ...sample.flags, '--lake', lake]);
  if (code !== 0) throw new Error(stderr);
}

function setStatus(of: string, status: string): void {
  sample.alter('order_list', of, () => ({ status }));
}

async function query(sql: string): Promise<{ rows: unknown; stderr: string }> {
  const { stdout, stderr, code } = await runCli(['query', '--json', ...inLake, sql]);
  if (code !== 0) throw new Error(stdout + stderr);
  return { rows: JSON.parse(stdout), stderr };
}

function newestFile(...folders: string[]): string {
  const folder = join(lake, ...folders);
  const files = readdirSync(folder).map((id) => join(folder, id, 'part-0000.parquet'));
  return files.sort((a, b) => statSync(a).mtimeMs - statSync(b).mtimeMs).at(-1) ?? '';
}

function changesOf(of: string): string {
  return newestFile('snapshots', 'orders_before', 'brand=acme', `dt=${of}`);
}

const TIMES = 'SELECT dt, count(DISTINCT place) AS times FROM changes GROUP BY dt ORDER BY dt';

describe('a version that was replaced by a version of equal content', () => {
  it('is no change, and verify accepts it', async () => {
    rmSync(newestFile('snapshots', 'orders', 'brand=acme', `dt=${day}`));
    expect((await runCli(['verify', 'orders', ...inLake])).code).toBe(1);
    await sync();
    expect((await runCli(['verify', 'orders', ...inLake])).stdout).toMatch(/^ok: /m);
    expect((await query(TIMES)).rows).toEqual([
      { dt: day, times: 2 },
      { dt: other, times: 1 },
    ]);
    expect((await query('SELECT dt, changes FROM restatements ORDER BY dt')).rows).toEqual([
      { dt: day, changes: 2 },
      { dt: other, changes: 1 },
    ]);
  });
});

describe('lost or damaged files', () => {
  const damages: [string, (path: string) => void][] = [
    ['is missing', (path) => rmSync(path)],
    ['is cut off', (path) => truncateSync(path, 100)],
  ];

  it.each(damages)('are an error if the object with the changes of a day %s', async (_name, damage) => {
    damage(changesOf(day));
    const { code, stderr } = await runCli(['query', TIMES, ...inLake]);
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(new RegExp(`orders_before of acme, ${day} cannot be read: .* verify`)),
    ]);
    expect((await query('SELECT count(DISTINCT dt) > 0 AS is_read FROM orders')).rows).toEqual([
      { is_read: true },
    ]);
    const diff = await runCli(['diff', 'orders', day, ...inLake]);
    expect([diff.code, diff.stderr]).toEqual([
      2,
      expect.stringContaining(`orders_before of acme, ${day} cannot be read`),
    ]);
    expect((await runCli(['diff', 'orders', other, ...inLake])).code).toBe(0);
    const verified = await runCli(['verify', 'orders', ...inLake]);
    expect([verified.code, verified.stdout]).toEqual([1, expect.stringContaining(`acme orders ${day}: `)]);
  });
});
