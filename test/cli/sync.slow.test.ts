import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { recordsOfDay, type ReportName } from '../../sample/brand.ts';
import { syncText } from '../../cli/commands/sync.ts';
import { daysFrom } from '../../shared/base/days.ts';
import { startSecretsServer } from '../fakes/secrets-server.ts';
import { type CliResult, outcomeIn, runCli, startCli } from './run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from './sample-brand.ts';

const ENABLED: ReportName[] = ['clicks_list', 'order_list', 'transaction_list', 'amazon_attribution_report'];
const TABLES = {
  clicks_list: 'clicks',
  order_list: 'orders',
  transaction_list: 'transactions',
  amazon_attribution_report: 'attribution',
  clicks_detail: 'click_details',
};
let sample: SampleBrandForCli;

afterEach(() => sample.close());

async function rowsInLake(reports: readonly ReportName[]): Promise<Record<string, Record<string, number>>> {
  const sql = reports
    .map((name) => `SELECT '${name}' AS report, dt, count(*) AS n FROM ${TABLES[name]} GROUP BY dt`)
    .join(' UNION ALL ');
  const { stdout } = await runCli(['query', '--json', '--lake', sample.lake, sql]);
  const found: Record<string, Record<string, number>> = Object.fromEntries(reports.map((name) => [name, {}]));
  for (const { report, dt, n } of JSON.parse(stdout)) Object.assign(found[report] ?? {}, { [dt]: n });
  return found;
}

function rowsInService(reports: readonly ReportName[]): Record<string, Record<string, number>> {
  return Object.fromEntries(
    reports.map((name) => [
      name,
      Object.fromEntries(
        daysFrom(sample.firstDay, sample.today).map((day) => [
          day,
          recordsOfDay(sample.acme, name, day).length,
        ]),
      ),
    ]),
  );
}

function outcomesOf({ stdout }: CliResult) {
  const { status, reports } = outcomeIn(stdout);
  return { status, reports };
}

describe('sync', () => {
  it('fetches all due days, and prints events and then the outcome on stdout, and progress on stderr', async () => {
    sample = await serveSampleBrand();
    const result = await runCli(['sync', '--json', ...sample.flags]);
    expect({ code: result.code, stderr: result.stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(/acme order_list .* published, \d+ records/),
    });
    const closedDays = ENABLED.length * (daysFrom(sample.firstDay, sample.today).length - 1);
    expect(result.stdout.trim().split('\n')).toHaveLength(closedDays + 1);
    const days = daysFrom(sample.firstDay, sample.today).reverse();
    expect(outcomesOf(result)).toEqual({
      status: 'complete',
      reports: ENABLED.map((report) => ({
        brand: 'acme',
        report,
        status: 'complete',
        requests: expect.any(Number),
        retries: 0,
        throttles: 0,
        days: days.map((dt) => ({
          dt,
          outcome: 'published',
          rows: rowsInService([report])[report]?.[dt],
          pages: expect.any(Number),
        })),
      })),
    });
    expect(await rowsInLake(ENABLED)).toEqual(rowsInService(ENABLED));
  });

  it('prints a table, and fetches only the requested reports and days', async () => {
    sample = await serveSampleBrand();
    const day = ['--from', sample.firstDay, '--to', sample.firstDay];
    const { code, stdout } = await runCli(['sync', 'order_list', ...day, ...sample.flags]);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^brand +report +status +new +same +rows +requests\n[─ ]+\nacme +order_list +complete +1 +0 +\d+ +\d+\n\ncomplete\n$/,
    );
    expect(syncText({ status: 'complete', reports: [] })).toBe('The settings enable no report.\n\ncomplete');
  });

  it('reads credentials from an environment variable, and with --credentials aws from Secrets Manager', async () => {
    sample = await serveSampleBrand({ daysBefore: 0 });
    const { bid, token, secret } = sample.acme;
    const secrets = await startSecretsServer();
    secrets.secrets.set('brand-reports/acme', JSON.stringify({ bid, token, secret }));
    const aws = {
      AWS_REGION: 'eu-west-1',
      AWS_ACCESS_KEY_ID: 'test',
      AWS_SECRET_ACCESS_KEY: 'test',
      AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets.url,
    };
    const inline = (of: string) => ({
      BRAND_REPORTS_CREDENTIALS: JSON.stringify({ acme: { bid, token, secret: of } }),
    });
    const rows: [string, Record<string, string>, string[], number][] = [
      ['JSON', inline(secret), [], 0],
      ['wrong JSON', inline('wrong'), [], 1],
      ['AWS before the variable', { ...aws, ...inline('wrong') }, ['--credentials', 'aws'], 0],
    ];
    const flags = [...sample.flags.slice(0, 2), ...sample.flags.slice(4)];
    const today = ['--from', sample.today];
    const codes = [];
    for (const [name, env, more] of rows)
      codes.push([name, (await runCli(['sync', 'clicks_list', ...today, ...flags, ...more], { env })).code]);
    secrets.client.destroy();
    await secrets.close();
    expect(codes).toEqual(rows.map(([name, , , code]) => [name, code]));
  });

  it.each([
    ['a day', 3],
    ['the day that probes end_date', 2],
  ])('exits 1 when %s fails, publishes the other days and names the next step', async (_name, daysBefore) => {
    sample = await serveSampleBrand({ daysBefore });
    const failing = sample.firstDay.replaceAll('-', '');
    sample.service.addFault({
      on: { action: 'report/transaction_list', when: ({ fields }) => fields.start_date === failing },
      fault: { kind: 'missing_list' },
    });
    const { code, stdout, stderr } = await runCli(['sync', ...sample.flags]);
    expect(code).toBe(1);
    expect(stdout).toMatch(new RegExp(`acme +transaction_list +failed +${daysBefore} +0 +1 `));
    expect(stdout).toMatch(new RegExp(`acme transaction_list ${sample.firstDay}\ncontract \\(\\w+\\): .*`));
    expect(stderr).toContain(`acme transaction_list ${sample.firstDay} day failed`);
    const { transaction_list } = await rowsInLake(['transaction_list']);
    expect(Object.keys(transaction_list ?? {}).sort()).toEqual(
      daysFrom(sample.firstDay, sample.today).slice(1),
    );
  });
});

describe('a signal', () => {
  it.each<[string, NodeJS.Signals, string[]]>([
    ['SIGINT', 'SIGINT', []],
    ['SIGTERM', 'SIGTERM', []],
    ['SIGINT to a launcher that started the bundled Node', 'SIGINT', ['--no-strip-types']],
  ])(
    '%s stops a run gracefully with exit 3, and the next run continues',
    async (_name, signal, nodeFlags) => {
      sample = await serveSampleBrand();
      const slow = await sample.writeSettings('slow.json', {
        ...JSON.parse(await readFile(join(sample.folder, 'settings.json'), 'utf8')),
        requestsPerSecond: 4,
      });
      const run = startCli(['sync', '--json', ...sample.flags, '--settings', slow], { nodeFlags });
      await run.says('published');
      run.process.kill(signal);
      const { code, stdout, stderr } = await run.result;
      expect({ code, stderr }).toEqual({
        code: 3,
        stderr: expect.stringContaining('Stopping; what was fetched so far is kept'),
      });
      expect(outcomesOf({ code, stdout, stderr }).status).toBe('incomplete');
      expect((await runCli(['sync', ...sample.flags])).code).toBe(0);
      expect(await rowsInLake(ENABLED)).toEqual(rowsInService(ENABLED));
    },
  );

  it('ends the process immediately with 130 the second time', async () => {
    sample = await serveSampleBrand();
    sample.service.addFault({ on: {}, fault: { kind: 'hang' } });
    const run = startCli(['sync', ...sample.flags]);
    while (sample.service.requests.length < 1) await new Promise((resolve) => setTimeout(resolve, 20));
    run.process.kill('SIGINT');
    await run.says('Press Ctrl-C again to exit immediately');
    await new Promise((resolve) => setTimeout(resolve, 700));
    run.process.kill('SIGINT');
    expect((await run.result).code).toBe(130);
  });
});
