import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { restate } from '../../sample/brand.ts';
import { type SampleService, startSampleService } from '../../sample/server.ts';
import { sampleCredentials, sampleSettings } from '../../sample/settings.ts';
import { sendRequest } from '../../shared/adapters/send-request.ts';
import { fixedCredentials } from '../../shared/adapters/credentials.ts';
import { makeLakeFolder } from '../../shared/adapters/local/lake-folder.ts';
import { openLake } from '../../shared/adapters/open-lake.ts';
import { addDays, dayOf, monthOf } from '../../shared/days.ts';
import { configError } from '../../shared/errors.ts';
import type { SyncOutcome } from '../../shared/outcome.ts';
import { LEDGERS_PREFIX } from '../../shared/lake/paths.ts';
import type { Lake } from '../../shared/ports.ts';
import { reports } from '../../shared/reports/index.ts';
import { orders } from '../../shared/reports/orders.ts';
import { type RunScope, runSync } from '../../shared/run/run.ts';
import { type Settings, parseSettings } from '../../shared/settings/settings.ts';
import { EXIT } from '../exit-codes.ts';
import { untilStopped } from '../graceful-shutdown.ts';
import { replaceFile } from '../new-file.ts';
import { rewriteDatabase } from '../open-database.ts';
import { type CliCommand, DEFAULT_LAKE } from '../options.ts';
import { print, printPieces } from '../output.ts';
import { printedCommand } from '../printed-command.ts';
import { showProgress } from '../progress.ts';
import { lakeAccess } from '../run-options.ts';
import { TEXTS, query } from '../query-result.ts';
import { createSqlConnection } from '../sql-tables.ts';
import { styleText } from '../terminal-text.ts';
import { syncText } from './sync.ts';

/** A file in the demo's lake: `status` needs it, and the next demo recognises its lake by it. */
const SETTINGS_FILE = 'demo-settings.json';

const QUERIES = [
  [
    'What is in the lake',
    `SELECT brand, report, count(*) AS days, sum(rows) AS rows, min(dt) AS first_day, max(dt) AS last_day
FROM coverage GROUP BY brand, report ORDER BY brand, report`,
  ],
  [
    'From click to commission, by publisher',
    `SELECT max(publisher_name) AS publisher, currency, sum(clicks) AS clicks, sum(orders) AS orders, sum(orders_void) AS void,
  sum(commission) AS commission, sum(commission_effective) AS effective, sum(bonus) AS bonus
FROM publisher_performance WHERE brand = 'acme' GROUP BY publisher_id, currency ORDER BY commission DESC`,
  ],
  [
    'Commission by month and state: locked is owed, new may still become void',
    `SELECT brand, month, state, currency, sum(transactions) AS transactions, sum(commission) AS commission
FROM commission_due GROUP BY brand, month, state, currency ORDER BY brand, month, state, currency`,
  ],
] as const;

export function addDemo(program: CliCommand): void {
  program
    .command('demo')
    .description('try it without credentials: read sample reports, run queries')
    .takes('lake')
    .example('demo --lake demo-lake')
    .action(async (flags: { lake: string }) => {
      const access = await lakeAccess(flags, undefined, openDemoLake);
      const { lake } = access;
      const service = await startSampleService();
      try {
        const input = sampleSettings(service);
        await replaceFile(join(lake.store.url, SETTINGS_FILE), `${JSON.stringify(input, null, 2)}\n`);
        print(`A sample service is running at ${service.url}. Syncing it into ${displayPath(lake)}.\n`);
        const settings = parseSettings(input, reports);
        const credentials = fixedCredentials(
          JSON.stringify(sampleCredentials(service)),
          'the sample service',
        );
        const sync = async (scope: RunScope) => {
          const progress = showProgress();
          const options = { ...access, settings, reports, credentials, scope, log: progress.log };
          const run = untilStopped(undefined, (limits) =>
            runSync({ ...options, send: sendRequest, ...limits }),
          );
          const outcome = await run.finally(progress.end);
          await rewriteDatabase(lake, settings);
          return outcome;
        };
        const outcome = await sync({});
        print(syncText(outcome));
        process.exitCode = EXIT[outcome.status];
        await showQueries(lake, settings, QUERIES);
        const day = await restateDay(service, sync);
        const title = `The service voided orders of ${day}, and the day was read again: what changed`;
        const sql = `SELECT changed_by, key, columns, before->>'status' AS status_before, after->>'status' AS status_after FROM changes
WHERE brand = 'acme' AND report = '${orders.name}' AND dt = '${day}' AND what = 'altered' LIMIT 5`;
        await showQueries(lake, settings, [[title, sql]]);
        print(nextSteps(lake, flags.lake, monthOf(day)));
      } finally {
        await service.close();
      }
    });
}

/** @throws BrandReportsError `config` if the lake contains anything but an earlier demo */
async function openDemoLake(url: string): Promise<Lake> {
  const lake = await openLake(url);
  const { store } = lake;
  if (store.localFolder === undefined)
    throw configError('demo_lake', `The demo writes to a folder, not to ${url}. Use --lake FOLDER.`);
  const [ledger] = await Array.fromAsync(store.list(LEDGERS_PREFIX));
  if (ledger && !existsSync(join(store.localFolder, SETTINGS_FILE)))
    throw configError('demo_lake', `${store.url} has reports of another service. Use --lake FOLDER.`);
  makeLakeFolder(store.localFolder);
  return lake;
}

async function restateDay(
  service: SampleService,
  sync: (scope: RunScope) => Promise<SyncOutcome>,
): Promise<string> {
  const { acme } = service.brands;
  const day = addDays(dayOf(service.now().getTime(), acme?.timeZone ?? 'UTC'), -3);
  if (acme)
    restate(acme, 'order_list', day, (held) =>
      held.map(({ at, record }) => ({
        at,
        record: record.status === 'new' ? { ...record, status: 'void' } : record,
      })),
    );
  await sync({ brands: ['acme'], reports: [orders.name], from: day, to: day });
  return day;
}

async function showQueries(
  { store }: Lake,
  settings: Settings,
  queries: readonly (readonly [title: string, sql: string])[],
): Promise<void> {
  const all = queries.map(([, sql]) => sql).join(';');
  const connection = await createSqlConnection({ store, reports, settings, nowMs: Date.now() }, all);
  for (const [title, sql] of queries) {
    const lines = sql.split('\n').map((line) => styleText('dim', line));
    print(`\n${styleText('bold', title)}\n${lines.join('\n')}\n`);
    await printPieces(TEXTS.table(await query(connection, sql)));
  }
  connection.closeSync();
}

function nextSteps(lake: Lake, lakeFlag: string, month: string): string {
  const path = displayPath(lake);
  // Settings of this folder may have a brand of the same name.
  const flags = { lake: lakeFlag === DEFAULT_LAKE ? undefined : path, settings: join(path, SETTINGS_FILE) };
  return `
Try next:
  ${printedCommand('query', ['SELECT * FROM transactions_daily LIMIT 10'], flags)}
  ${printedCommand('statement', ['--month', month, '--output', 'statement.html'], flags)}
  ${printedCommand('status', [], flags)}
  ${printedCommand('verify', [], flags)}`;
}

function displayPath({ store }: Lake): string {
  const path = relative('.', store.url);
  return path.startsWith('..') ? store.url : path;
}
