import { execFile } from 'node:child_process';
import { cp, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Held, type ReportName, restate } from '../../sample/brand.ts';
import { addDays, monthOf } from '../../shared/base/days.ts';
import { STATE_WORDS } from '../../shared/reports/definition.ts';
import { runCli } from '../cli/run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from '../cli/sample-brand.ts';
import { pythonPackages } from '../fakes/python-packages.ts';

const execute = promisify(execFile);
const PACKAGES = ['dbt-core==1.11.16', 'dbt-duckdb==1.11.1', 'dbt-athena==1.11.1', 'duckdb==1.5.5'];
/** Fields of a service that would control YAML, SQL, Jinja or a terminal. */
const HOSTILE = ['{{ 1/0 }}', '{% raw %}', '{# x', 'a": [b} - \\ ', "';--", '\u2028\u001b[31m\u007f 😀'];
const ATTRIBUTION = 'amazon_attribution_report';

let programs: string;
let sample: SampleBrandForCli;
let settings: string;
/** A closed day that has closed days before and after it. */
let day: string;

beforeAll(async () => {
  programs = await pythonPackages('dbt', PACKAGES);
  sample = await serveSampleBrand({ daysBefore: 4 });
  day = addDays(sample.today, -2);
  const { brands } = JSON.parse(await readFile(join(sample.folder, 'settings.json'), 'utf8'));
  const states = { words: { '{{ 1/0 }}': 'void', '{% raw %}{#': 'effective' } };
  const acme = { ...brands.acme, reports: { order_list: { states } } };
  settings = await sample.writeSettings('words.json', { brands: { acme } });
  const odd = Object.fromEntries(HOSTILE.map((field) => [field, 'x']));
  change('order_list', day, (held) =>
    held.map((one, index) => ({
      ...one,
      record: { ...one.record, ...odd, ...(index === 0 && { status: '{{ 1/0 }}' }) },
    })),
  );
  await cli('sync', ...inLake('clean'));
}, 600_000);
afterAll(() => sample.close());

function change(report: ReportName, of: string, to: (held: Held[]) => Held[]): void {
  restate(sample.acme, report, of, to);
}

function inLake(name: string): string[] {
  return [...sample.flags, '--settings', settings, '--lake', join(sample.folder, name)];
}

async function cli(...args: string[]) {
  const result = await runCli(args);
  if (result.code !== 0) throw new Error(result.stdout + result.stderr);
  return result;
}

async function init(lake: string): Promise<void> {
  await cli('dbt', 'init', project(lake), '--settings', settings, '--lake', join(sample.folder, lake));
}

function project(lake: string): string {
  return join(sample.folder, `dbt of ${lake}`);
}

async function dbt(lake: string, ...args: string[]): Promise<void> {
  const env = { ...process.env, DBT_SEND_ANONYMOUS_USAGE_STATS: 'false' };
  const run = execute(join(programs, 'dbt'), ['--quiet', ...args], { cwd: project(lake), env });
  // 1: a test has failed, as the results show.
  await run.catch((error: { code: number; stdout: string }) => {
    if (error.code !== 1 || /Encountered an error|Error in/.test(error.stdout)) throw new Error(error.stdout);
  });
}

/** By name, the models and tests that did not succeed. */
async function build(lake: string): Promise<Record<string, string>> {
  await dbt(lake, 'build');
  const { results } = JSON.parse(await readFile(join(project(lake), 'target', 'run_results.json'), 'utf8'));
  expect(results.length).toBeGreaterThan(10);
  const found: [string, string][] = [];
  for (const { unique_id: id, status } of results)
    if (!['success', 'pass'].includes(status)) found.push([String(id).split('.')[2] ?? '', status]);
  return Object.fromEntries(found);
}

async function rows(lake: string, sql: string): Promise<unknown[][]> {
  const instance = await DuckDBInstance.create(join(project(lake), 'dbt.duckdb'), {
    access_mode: 'READ_ONLY',
  });
  const connection = await instance.connect();
  await connection.run(`ATTACH '${sample.folder}/${lake}/brand_reports.duckdb' AS brand_reports (READ_ONLY)`);
  const found = (await connection.runAndReadAll(sql)).getRowsJson();
  // Otherwise this process would prevent dbt from writing.
  connection.closeSync();
  instance.closeSync();
  return found;
}

function ordersOf(of: string): string {
  return `SELECT count(*) > 0 FROM brand_reports__orders_daily WHERE dt = '${of}'`;
}

/** The number of rows that a mart and a view of the lake do not share. */
function differences(mart: string, view: string): string {
  return `SELECT count(*) FROM (
  (FROM brand_reports__${mart} EXCEPT ALL FROM brand_reports.${view}) UNION ALL
  (FROM brand_reports.${view} EXCEPT ALL FROM brand_reports__${mart}))`;
}

describe('the project of a lake', () => {
  it('builds with hostile fields and words, and has the numbers of the views', async () => {
    await init('clean');
    expect(await build('clean')).toEqual({});
    expect(await rows('clean', differences('publisher_daily', 'publisher_performance'))).toEqual([['0']]);
    expect(await rows('clean', differences('orders_daily', 'orders_daily'))).toEqual([['0']]);
    const once = `SELECT (SELECT sum(click_once) FROM stg_brand_reports__attribution) - (SELECT sum(clicks) FROM brand_reports.attribution_daily)`;
    expect(await rows('clean', once)).toEqual([['0']]);
    expect(await rows('clean', differences('commission_due', 'commission_due'))).toEqual([['0']]);
    const staged = `SELECT (SELECT count(*) FROM stg_brand_reports__orders WHERE state IS NOT NULL) - (SELECT count(*) FROM brand_reports.orders)`;
    expect(await rows('clean', staged)).toEqual([['0']]);
    const { sources } = JSON.parse(await readFile(join(project('clean'), 'target', 'manifest.json'), 'utf8'));
    const { columns } = sources['source.brand_reports.brand_reports.orders'];
    const described = Object.values<{ description: string }>(columns).map(({ description }) => description);
    expect(described).toEqual(
      expect.arrayContaining(
        HOSTILE.map(
          (field) =>
            `Discovered in the records as ${JSON.stringify(field)}; the interface does not document it`,
        ),
      ),
    );
  }, 600_000);

  it('fails complete_until only of the table with a gap, and omits its rows', async () => {
    await cp(join(sample.folder, 'clean'), join(sample.folder, 'gap'), { recursive: true });
    const gap = addDays(sample.today, -3);
    const ledger = join(sample.folder, 'gap', 'ledger', 'order_list', 'acme', `${monthOf(gap)}.json`);
    const stored = JSON.parse(await readFile(ledger, 'utf8'));
    await init('gap');
    await dbt('gap', 'build');
    expect(await rows('gap', ordersOf(gap))).toEqual([[true]]);
    delete stored.days[gap];
    await writeFile(ledger, JSON.stringify(stored));
    await cli('open', '--settings', settings, '--lake', join(sample.folder, 'gap'));
    expect(await build('gap')).toEqual({ complete_until_orders: 'fail' });
    expect(await rows('gap', ordersOf(gap))).toEqual([[false]]);
  }, 600_000);

  it('flags a word without a state by no_open_findings of its table, and by the values of the mart', async () => {
    let before: Held[] = [];
    change('order_list', day, (held) => {
      before = held;
      return held.map((one) => ({ ...one, record: { ...one.record, status: 'strange' } }));
    });
    await cli('sync', 'order_list', ...inLake('odd'));
    change('order_list', day, () => before);
    await init('odd');
    expect(await build('odd')).toEqual({
      no_open_findings_orders: 'warn',
      [`accepted_values_brand_reports__orders_daily_status__${STATE_WORDS.join('__')}`]: 'fail',
    });
  }, 600_000);

  it('compiles for Athena without a connection', async () => {
    await dbt('clean', 'parse', '--target', 'athena');
    await dbt('clean', 'compile', ...['--target', 'athena', '--no-populate-cache', '--no-introspect']);
    const compiled = join(project('clean'), 'target', 'compiled', 'brand_reports', 'models');
    const files = (await readdir(compiled, { recursive: true })).filter((path) => path.endsWith('.sql'));
    const texts = await Promise.all(files.map((path) => readFile(join(compiled, path), 'utf8')));
    expect(files.filter((path) => /^(staging|marts)\/[^/]+\.sql$/.test(path))).toHaveLength(8);
    expect(texts.join()).toMatch(/"awsdatacatalog"."brand_reports"."order_history"/);
    expect(texts.join()).not.toMatch(/"main"/);
  }, 600_000);

  it('flags only a restatement, whose sums the next build has', async () => {
    const sum = `SELECT sum(commission) FROM brand_reports__orders_daily WHERE dt = '${day}'`;
    const [[old]] = (await rows('clean', sum)) as [[string]];
    change('order_list', day, (held) =>
      held.map((one) => ({ ...one, record: { ...one.record, commission: one.record.amount ?? 0 } })),
    );
    await cli('sync', 'order_list', '--from', day, '--to', day, ...inLake('clean'));
    expect(await build('clean')).toEqual({ no_restatements_orders: 'warn' });
    expect((await rows('clean', sum))[0]?.[0]).not.toBe(old);
    expect(await rows('clean', differences('publisher_daily', 'publisher_performance'))).toEqual([['0']]);
    expect(await rows('clean', differences('orders_daily', 'orders_daily'))).toEqual([['0']]);
  }, 600_000);

  it('expects no day of a disabled report, and no day before its daily run', async () => {
    const { brands } = JSON.parse(await readFile(settings, 'utf8'));
    const daily = { order_list: { every: '1 day' }, [ATTRIBUTION]: { enabled: false } };
    const other = await sample.writeSettings('daily.json', {
      brands: { acme: { ...brands.acme, reports: daily } },
    });
    const folder = project('daily');
    await cli('dbt', 'init', folder, '--settings', other, '--lake', join(sample.folder, 'clean'));
    const sources = await readFile(join(folder, 'models', 'sources.yml'), 'utf8');
    // 12 h until it has ended everywhere, and two intervals of the schedule.
    expect(await readFile(join(folder, 'macros', 'tests.sql'), 'utf8')).toContain('grace_hours=60');
    expect(sources).toMatch(/complete_until_orders/);
    expect(sources).not.toMatch(/complete_until_attribution/);
  });

  it('is written only into an empty folder', async () => {
    const again = await runCli(['dbt', 'init', project('clean'), '--lake', join(sample.folder, 'clean')]);
    expect(again).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('has files and is not overwritten'),
    });
    const file = await runCli(['dbt', 'init', settings, '--lake', join(sample.folder, 'clean')]);
    expect(file).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`${settings} cannot be made (EEXIST)`),
    });
  });
});
