import { cpSync, lstatSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { recordsOfDay, restate } from '../../sample/brand.ts';
import { addDays } from '../../shared/days.ts';
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

async function rows(sql: string, lake = inLake) {
  const { code, stdout } = await runCli(['query', '--json', ...lake, sql]);
  return { code, rows: JSON.parse(stdout) };
}

describe('query', () => {
  it('reads the current snapshots, and prints numbers as JSON numbers with all their digits', async () => {
    const { stdout } = await runCli([
      'query',
      '--json',
      ...inLake,
      'SELECT 9007199254740993 AS big, 1.10::DECIMAL(38,9) AS exact, count(*) AS n FROM orders',
    ]);
    const days = [sample.firstDay, addDays(sample.firstDay, 1), sample.today];
    const held = days.flatMap((day) => recordsOfDay(sample.acme, 'order_list', day)).length;
    expect(stdout.trim()).toBe(`[{"big":9007199254740993,"exact":1.100000000,"n":${held}}]`);
  });

  it('has views over several tables, with the counts of the tables, if the SQL names nothing else', async () => {
    const { rows: performance } = await rows(
      'SELECT sum(clicks) AS clicks, sum(orders) AS orders, sum(commission) AS commission FROM publisher_performance',
    );
    const { rows: byHand } = await rows(
      "SELECT (SELECT count(*) FROM clicks) AS clicks, count(*) FILTER (type <> 'bonus') AS orders, sum(commission) FILTER (status <> 'void') AS commission FROM orders",
    );
    expect(performance).toEqual(byHand);
    const { rows: due } = await rows(
      'SELECT sum(transactions) AS lines, sum(commission) AS commission FROM commission_due',
    );
    const { rows: lines } = await rows(
      'SELECT count(*) AS lines, sum(commission) AS commission FROM transactions',
    );
    expect(due).toEqual(lines);
  });

  it('describes the columns of views', async () => {
    const { rows: found } = await rows(
      "SELECT comment FROM duckdb_columns() WHERE table_name = 'unsettled' AND column_name = 'age_days'",
    );
    expect(found).toEqual([{ comment: 'The age of the day in days, up to today in UTC' }]);
  });
});

describe('status', () => {
  const flags = () => [...sample.flags.slice(0, 2), ...inLake];

  it('shows a month as a grid, with totals and the meaning of the signs', async () => {
    const { code, stdout } = await runCli(['status', ...flags()]);
    expect(code).toBe(0);
    expect(stdout).toContain(`acme  days in America/New_York, today is ${sample.today}`);
    expect(stdout).toMatch(/^orders +.*▆[▆▃]▃/m);
    expect(stdout).toMatch(/^orders +\d{4}-\d\d-\d\d +\d+ +3 +3$/m);
    expect(stdout).toMatch(/▆ complete {2}▃ open\n$/);
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });

  it('as JSON names each day', async () => {
    const { stdout } = await runCli(['status', '--json', ...flags()]);
    const { tables } = JSON.parse(stdout);
    expect(tables.map(({ table }: { table: string }) => table)).toEqual([
      'clicks',
      'orders',
      'transactions',
      'attribution',
    ]);
    expect(tables[1]).toMatchObject({ brand: 'acme', report: 'order_list', hasReturnedRecords: true });
    expect(tables[1].days).toHaveLength(3);
    expect(tables[1].days[0]).toEqual({
      dt: sample.firstDay,
      state: 'complete',
      committedState: 'complete',
      rows: expect.any(Number),
      pages: expect.any(Number),
      refusedLookups: 0,
      digest: expect.any(String),
      overdueAt: expect.any(String),
      sum: expect.any(String),
      totals: { USD: { amount: expect.any(String), commission: expect.any(String) } },
      timeZone: 'America/New_York',
      readFrom: expect.any(String),
      readTo: expect.any(String),
      nextDue: expect.any(String),
    });
    expect(tables[1].days[2]).toMatchObject({ dt: sample.today, state: 'open' });
  });

  it('shows failures with their message, and a report that never returned a record as unverified', async () => {
    const { service, folder } = sample;
    const takeOut = [
      service.addFault({ on: { action: 'report/order_list' }, fault: { kind: 'missing_list' } }),
    ];
    const empty = sample.acme.records.clicks_list.splice(0);
    const lake = join(folder, 'failing');
    await runCli(['sync', 'clicks_list', 'order_list', ...sample.flags, '--lake', lake]);
    for (const out of takeOut) out();
    sample.acme.records.clicks_list.push(...empty);
    const { stdout } = await runCli(['status', ...flags(), '--lake', lake]);
    expect(stdout).toMatch(/^clicks +none \(unverified\) +0 +3 +3/m);
    expect(stdout).toMatch(
      new RegExp(
        `^3 days of orders: ${sample.firstDay} to ${sample.today}\ncontract \\(\\w+\\): .+\nsince .+ next try after`,
        'm',
      ),
    );
  });

  it('and coverage show the findings about a day', async () => {
    const { acme } = sample;
    const { records } = acme;
    const lake = ['--lake', join(sample.folder, 'fallen')];
    const sync = () => runCli(['sync', 'order_list', ...sample.flags, ...lake]);
    expect((await sync()).code).toBe(0);
    acme.records = { ...records, order_list: [...records.order_list] };
    restate(acme, 'order_list', sample.firstDay, (held) => held.slice(-4));
    const { stderr } = await sync();
    acme.records = records;
    expect(stderr).toMatch(new RegExp(`acme order_list ${sample.firstDay} rows_fell: rows fell: `));
    const { stdout } = await runCli(['status', ...flags(), ...lake]);
    expect(stdout).toMatch(
      new RegExp(
        `^orders: rows fell on 1 day: ${sample.firstDay}\n${sample.firstDay}: \\d+ rows before`,
        'm',
      ),
    );
    const { stdout: json } = await runCli(['status', '--json', ...flags(), ...lake]);
    const { days } = JSON.parse(json).tables.find(({ table }: { table: string }) => table === 'orders');
    const found = days.map(({ findings = [] }) => findings.map(({ check }: { check: string }) => check));
    expect(found).toEqual([expect.arrayContaining(['rows_fell']), [], []]);
    expect((await rows("SELECT dt FROM coverage WHERE findings LIKE '%rows_fell%'", lake)).rows).toEqual([
      { dt: sample.firstDay },
    ]);
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

  it('is queried with a warning if the SQL needs the ledger', async () => {
    const orders = await runCli(['query', '--json', ...flags, 'SELECT count(*) > 0 AS some FROM orders']);
    const clicks = await runCli(['query', '--json', ...flags, 'SELECT count(*) > 0 AS some FROM clicks']);
    expect([orders.code, clicks.code, clicks.stdout.trim()]).toEqual([0, 0, '[{"some":true}]']);
    expect(orders.stderr).toContain(`warning: ${ledger()} cannot be used`);
    expect(clicks.stderr).not.toContain('warning');
  });

  it('is not verified, though the other tables are', async () => {
    const all = await runCli(['verify', ...flags]);
    const clicks = await runCli(['verify', 'clicks', ...flags]);
    expect([all.code, clicks.code]).toEqual([1, 0]);
    expect(all.stdout).toMatch(
      new RegExp(`${ledger()}: it is not JSON\\n    --restore would: put back its version of \\d{4}`),
    );
    expect(all.stdout).toMatch(
      /failed: 1 finding in 9 days.*:\nnpx brand-reports verify --restore --lake \S+\n$/,
    );
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
    expect(page).toContain(`orders ${sample.firstDay}\ncomplete: `);
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

  it('shows the brand, the month and the time of its flags', async () => {
    const file = join(sample.folder, 'month.html');
    const later = `${addDays(sample.today, 40)}T16:00:00Z`;
    const month = sample.today.slice(0, 7);
    const selection = ['--brand', 'acme', '--month', month, '--now', later];
    expect((await runCli(['status', ...flags(), ...selection, '--html', file])).code).toBe(0);
    const page = await readFile(file, 'utf8');
    const days = [...page.matchAll(/title="orders (\d{4}-\d\d-\d\d)/g)].map(([, day = '']) => day);
    expect(days.at(-1)).toMatch(`${month}-`);
    expect(new Set(days.map((day) => day.slice(0, 7)))).toEqual(new Set([month]));
    expect(page).toContain(`orders ${sample.today}\noverdue`);
  });

  it.each<[string, () => string[], RegExp]>([
    [
      'together with --json',
      () => [join(sample.folder, 'no.html'), '--json'],
      /'--html <file>' cannot be used with option '--json'/,
    ],
    [
      'in a folder that does not exist',
      () => [join(sample.folder, 'nowhere', 'no.html')],
      /no\.html cannot be written \(ENOENT\)\. Name another file: --html FILE/,
    ],
    ['over a folder', () => [sample.lake], /cannot be written \(EISDIR\)/],
  ])('is rejected %s', async (_name, html, message) => {
    const { code, stderr } = await runCli(['status', ...flags(), '--html', ...html()]);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
    expect(readdirSync(sample.folder).filter((name) => /tmp$|^no/.test(name))).toEqual([]);
  });
});

describe('verify', () => {
  it('confirms that every snapshot matches the ledger', async () => {
    const { code, stdout } = await runCli(['verify', ...inLake]);
    expect(code).toBe(0);
    expect(stdout).toContain('ok: 12 days as in the ledger');
  });

  it('reads only the requested tables and days', async () => {
    const { stdout } = await runCli(['verify', 'orders', '--from', sample.today, '--json', ...inLake]);
    expect(JSON.parse(stdout)).toEqual({
      status: 'ok',
      tables: [
        { brand: 'acme', table: 'orders', days: 1, rows: expect.any(Number), versions: 0, mismatches: [] },
      ],
    });
  });
});

describe('check', () => {
  it('prints ok when nothing is wrong, and writes nothing', async () => {
    const lake = join(sample.folder, 'untouched');
    const { code, stdout } = await runCli(['check', ...sample.flags, '--lake', lake]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/acme\n.*✓ .*credentials/);
    expect(stdout).toContain('order_list');
    expect(readdirSync(sample.folder)).not.toContain('untouched');
  });

  it('warns of a final state that nobody documents, and exits 0', async () => {
    const settings = JSON.parse(await readFile(join(sample.folder, 'settings.json'), 'utf8'));
    const order_list = { states: { final: ['EFFECTIVE', 'voidd'] } };
    settings.brands.acme.reports = { ...settings.brands.acme.reports, order_list };
    const path = await sample.writeSettings('states.json', settings);
    const { code, stdout } = await runCli(['check', '--json', ...sample.flags, '--settings', path]);
    expect(code).toBe(0);
    const [{ reports: checked }] = JSON.parse(stdout).brands;
    const { findings } = checked.find(({ report }: { report: string }) => report === 'order_list');
    const warned = findings.filter(({ code: about }: { code: string }) => about === 'states');
    expect(warned).toMatchObject([
      {
        level: 'warning',
        message: expect.stringContaining(
          '"voidd" (documented: new, mixed, locked, void, effective, paid; did you mean void?)',
        ),
      },
    ]);
  });

  it('exits 1 and names what to fix', async () => {
    const settings = JSON.parse(await readFile(join(sample.folder, 'settings.json'), 'utf8'));
    settings.brands.acme.timestampUnit = 'milliseconds';
    const path = await sample.writeSettings('milliseconds.json', settings);
    const { code, stdout } = await runCli(['check', '--json', ...sample.flags, '--settings', path]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'failed' });
    expect(stdout).toContain('"timestampUnit\\": \\"seconds');
  });
});
