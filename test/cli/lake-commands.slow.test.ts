import { cpSync, lstatSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runCli } from './run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from './sample-brand.ts';

let sample: SampleBrandForCli;
let inLake: string[];

beforeAll(async () => {
  sample = await serveSampleBrand();
  inLake = ['--lake', sample.lake];
  expect((await runCli(['sync', ...sample.flags])).code).toBe(0);
});

afterAll(() => sample.close());

describe('status', () => {
  const flags = () => [...sample.flags.slice(0, 2), ...inLake];

  it('shows totals, and the days that are not final', async () => {
    const { code, stdout } = await runCli(['status', ...flags()]);
    expect(code).toBe(0);
    expect(stdout).toContain(`acme  days in America/New_York, today is ${sample.today}`);
    expect(stdout).toMatch(/^orders +\d{4}-\d\d-\d\d +\d+ +3 +3$/m);
    expect(stdout).toMatch(new RegExp(`^orders: open: (\\S+ to )?${sample.today}$`, 'm'));
  });
});

describe('a lake with a damaged ledger', () => {
  const ledger = () => `ledger/order_list/acme/${sample.today.slice(0, 7)}.json`;
  let flags: string[];
  beforeAll(() => {
    const lake = join(sample.folder, 'damaged');
    cpSync(sample.lake, lake, { recursive: true });
    writeFileSync(join(lake, ledger()), '{');
    flags = ['--lake', lake];
  });

  it('still shows the other tables in status, and names the ledger once', async () => {
    const { code, stdout } = await runCli(['status', ...sample.flags.slice(0, 2), ...flags]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^clicks +\d{4}-\d\d-\d\d +\d+ +3 +3/m);
    expect(stdout.split(`${ledger()} cannot be used`)).toHaveLength(2);
    expect(stdout).toContain(`"npx brand-reports verify --restore --lake ${flags[1]}`);
  });

  it('fails a query that reads a day of its month, and no other', async () => {
    const queried = async (sql: string) => runCli(['query', '--json', ...flags, sql]);
    const orders = await queried('SELECT count(*) AS orders FROM orders');
    expect([orders.code, orders.stdout]).toEqual([2, expect.stringContaining('damaged_document')]);
    expect(orders.stderr).toContain(`${ledger()} cannot be used`);
    const early = await queried("SELECT count(*) AS orders FROM orders WHERE dt < '2020-01-01'");
    expect([early.code, early.stdout.trim()]).toEqual([0, '[{"orders":0}]']);
    expect(early.stderr).toContain(`warning: ${ledger()} cannot be used`);
    const clicks = await queried('SELECT count(*) > 0 AS some FROM clicks');
    expect([clicks.code, clicks.stdout.trim()]).toEqual([0, '[{"some":true}]']);
    expect(clicks.stderr).not.toContain('warning');
  });
});

describe('status --html', () => {
  const flags = () => [...sample.flags.slice(0, 2), ...inLake];

  it('writes a page of the days, prints its path, and leaves no other file', async () => {
    const folder = join(sample.folder, 'pages');
    mkdirSync(folder);
    const file = join(folder, 'coverage.html');
    writeFileSync(file, 'the page of yesterday');
    const { code, stdout } = await runCli(['status', ...flags(), '--html', file]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `The calendar is in ${file}.\n` });
    const page = await readFile(file, 'utf8');
    expect(page).toContain(`orders ${sample.firstDay}: complete`);
    expect(page).toMatch(/<b>All days are complete<\/b>/);
    expect(page).not.toContain('yesterday');
    expect(readdirSync(folder)).toEqual(['coverage.html']);
  });

  it('writes into the file that a link names, and leaves the link', async () => {
    const [file, link] = [join(sample.folder, 'linked.html'), join(sample.folder, 'link.html')];
    writeFileSync(file, 'the page of yesterday');
    symlinkSync(file, link);
    expect((await runCli(['status', ...flags(), '--html', link])).code).toBe(0);
    expect(readFileSync(file, 'utf8')).toContain('<!doctype html>');
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
  });
});

describe('verify', () => {
  it('reads only the requested tables and days', async () => {
    const { stdout } = await runCli(['verify', 'orders', '--from', sample.today, '--json', ...inLake]);
    expect(JSON.parse(stdout)).toEqual({
      status: 'ok',
      tables: [{ brand: 'acme', table: 'orders', days: 1, rows: expect.any(Number), mismatches: [] }],
    });
  });
});
