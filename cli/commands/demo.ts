import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { restate } from '../../sample/brand.ts';
import { type SampleService, startSampleService } from '../../sample/server.ts';
import { sampleCredentials, sampleSettings } from '../../sample/settings.ts';
import { sendRequest } from '../../shared/adapters/send-request.ts';
import { fixedCredentials } from '../../shared/adapters/credentials.ts';
import { makeLakeFolder } from '../../shared/adapters/local/lake-folder.ts';
import { openLake } from '../../shared/adapters/open-lake.ts';
import type { LakeAccess } from '../../shared/context/context.ts';
import { addDays, dayOf, monthOf } from '../../shared/days.ts';
import { asBrandReportsError, configError } from '../../shared/errors.ts';
import type { SyncOutcome } from '../../shared/outcome.ts';
import { LEDGERS_PREFIX } from '../../shared/lake/paths.ts';
import type { Lake } from '../../shared/ports.ts';
import { closeMonth } from '../../shared/operations/close-month.ts';
import { reports } from '../../shared/reports/index.ts';
import { transactions } from '../../shared/reports/transactions.ts';
import { type RunScope, runSync } from '../../shared/run/run.ts';
import { type Settings, parseSettings } from '../../shared/settings/settings.ts';
import { EXIT } from '../exit-codes.ts';
import { untilStopped } from '../graceful-shutdown.ts';
import { replaceFile } from '../new-file.ts';
import { rewriteDatabase } from '../open-database.ts';
import { type CliCommand, DEFAULT_LAKE } from '../options.ts';
import { print, printPieces } from '../output.ts';
import { printedCommand } from '../printed-command.ts';
import { showProgress } from '../progress-line.ts';
import { lakeAccess } from '../run-options.ts';
import { TEXTS } from '../query-formats.ts';
import { query } from '../query-result.ts';
import { createSqlConnection } from '../sql-tables.ts';
import { readStatements } from '../statement.ts';
import { styleText } from '../terminal-text.ts';
import { statementTables } from './statement.ts';
import { syncText } from './sync.ts';

/** A file in the demo's lake: `status` needs it, and the next demo recognises its lake by it. */
const SETTINGS_FILE = 'demo-settings.json';

/** The publisher whose statement is shown. */
const STATED_PUBLISHER = '1402';

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
  [
    'What can still change, by age',
    `SELECT brand, age, currency, sum(orders) AS orders, sum(orders_commission) AS of_orders,
  sum(transactions) AS transactions, sum(transactions_commission) AS of_transactions
FROM unsettled GROUP BY brand, age, currency ORDER BY brand, age, currency`,
  ],
  [
    'How many clicks become orders, by channel',
    `SELECT brand, month, channel_id, clicks, orders, orders_void, round(conversion_rate, 3) AS rate
FROM channel_conversion ORDER BY brand, month, channel_id LIMIT 12`,
  ],
  [
    'Attribution by publisher, each click counted once',
    `SELECT publisher_name, sum(dpv) AS page_views, sum(clicks) AS clicks
FROM attribution_daily GROUP BY publisher_name ORDER BY clicks DESC`,
  ],
  [
    'Newest clicks',
    `SELECT brand, created_time, id, publisher_id, channel_id FROM clicks
ORDER BY created_time DESC, id LIMIT 5`,
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
        print(
          `A sample brand service is running at ${service.url}. Syncing its reports into ${displayPath(lake)}.\n`,
        );
        const settings = parseSettings(input, reports);
        const sync = (scope: RunScope) => syncSample(access, settings, service, scope);
        const outcome = await sync({});
        print(syncText(outcome));
        process.exitCode = EXIT[outcome.status];
        await showQueries(lake, settings, QUERIES);
        const month = await showClose(access, settings, service, sync);
        print(nextSteps(lake, flags.lake, month));
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
    throw configError(
      'demo_lake',
      `The lake ${store.url} contains reports of another service, and the demo would add its own to them. Use another folder: --lake FOLDER.`,
    );
  makeLakeFolder(store.localFolder);
  return lake;
}

async function syncSample(
  access: LakeAccess,
  settings: Settings,
  service: SampleService,
  scope: RunScope,
): Promise<SyncOutcome> {
  const progress = showProgress();
  const credentials = fixedCredentials(JSON.stringify(sampleCredentials(service)), 'the sample service');
  const options = { ...access, settings, reports, credentials, scope, log: progress.log };
  const run = untilStopped(undefined, (limits) => runSync({ ...options, send: sendRequest, ...limits }));
  const outcome = await run.finally(progress.end);
  await rewriteDatabase(access.lake, settings);
  return outcome;
}

/**
 * Closes the previous month for one brand, which has one day of it. Then the service voids new transactions of that day.
 * @returns the current month, whose statement carries this correction over
 */
async function showClose(
  access: LakeAccess,
  settings: Settings,
  service: SampleService,
  sync: (scope: RunScope) => Promise<SyncOutcome>,
): Promise<string> {
  const { acme } = service.brands;
  const today = dayOf(service.now().getTime(), acme?.timeZone ?? 'UTC');
  const day = addDays(`${monthOf(today)}-01`, -1);
  const scope = { brands: ['acme'], reports: [transactions.name], from: day, to: day };
  await sync(scope);
  const ofBrand = { ...access, settings, brand: 'acme' };
  const closed = { ...ofBrand, reports, month: monthOf(day), anyway: true };
  // An earlier demo has closed the month.
  await closeMonth(closed).catch((thrown) => {
    if (asBrandReportsError(thrown).code !== 'already_closed') throw thrown;
  });
  if (acme)
    restate(acme, 'transaction_list', day, (held) =>
      held.map(({ at, record }) => ({
        at,
        record: record.sku_status === 'new' ? { ...record, sku_status: 'void' } : record,
      })),
    );
  await sync(scope);
  await showQueries(access.lake, settings, [
    [
      `${monthOf(day)} was closed, then the service voided transactions: what to book`,
      `SELECT publisher_id, what, currency, records, correction FROM since_close WHERE close = '${monthOf(day)}' ORDER BY correction`,
    ],
  ]);
  const month = monthOf(today);
  const { connection, statements } = await readStatements({ ...ofBrand, month }, STATED_PUBLISHER);
  print('');
  await printPieces(statementTables(statements, connection));
  connection.closeSync();
  return month;
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
  const flags = { lake: lakeFlag === DEFAULT_LAKE ? undefined : path };
  const withSettings = { ...flags, settings: join(path, SETTINGS_FILE) };
  return `
Try next:
  ${printedCommand('query', ['SELECT * FROM transactions_daily LIMIT 10'], flags)}
  ${printedCommand('statement', ['--month', month, '--output', 'statement.html'], flags)}
  ${printedCommand('status', [], withSettings)}
  ${printedCommand('verify', [], withSettings)}`;
}

/** Relative to the current folder if the lake is inside it. */
function displayPath({ store }: Lake): string {
  const path = relative('.', store.url);
  return path.startsWith('..') ? store.url : path;
}
