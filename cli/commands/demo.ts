import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { restate } from '../../sample/brand.ts';
import { startSampleService } from '../../sample/server.ts';
import { sampleCredentials, sampleSettings } from '../../sample/settings.ts';
import { sendRequest } from '../../shared/adapters/send-request.ts';
import { fixedCredentials } from '../../shared/adapters/credentials.ts';
import { makeLakeFolder } from '../../shared/adapters/local/lake-folder.ts';
import { openLake } from '../../shared/adapters/open-lake.ts';
import { addDays, dayOf, monthOf } from '../../shared/base/days.ts';
import { configError } from '../../shared/base/errors.ts';
import { LEDGERS_PREFIX } from '../../shared/lake/paths.ts';
import type { Lake } from '../../shared/ports.ts';
import { reports } from '../../shared/reports/index.ts';
import { orders } from '../../shared/reports/orders.ts';
import { type RunScope, runSync } from '../../shared/run/run.ts';
import { type Settings, parseSettings } from '../../shared/settings/settings.ts';
import { EXIT } from '../exit-codes.ts';
import { writeWhole } from '../new-file.ts';
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
        const text = `${JSON.stringify(input, null, 2)}\n`;
        await writeWhole(join(lake.store.url, SETTINGS_FILE), undefined, (path) => writeFile(path, text));
        print(`A sample service is running at ${service.url}. Syncing it into ${flags.lake}.\n`);
        const settings = parseSettings(input, reports);
        const held = JSON.stringify(sampleCredentials(service));
        const credentials = fixedCredentials(held, 'the sample service');
        const sync = async (scope: RunScope) => {
          const progress = showProgress(false);
          const options = { ...access, settings, reports, credentials, send: sendRequest, scope };
          const outcome = await runSync({ ...options, log: progress.log }).finally(progress.end);
          await rewriteDatabase(lake, settings);
          return outcome;
        };
        const outcome = await sync({});
        print(syncText(outcome));
        process.exitCode = EXIT[outcome.status];
        const { acme } = service.brands;
        const today = dayOf(service.now().getTime(), acme?.timeZone ?? 'UTC');
        const [yesterday, restated] = [addDays(today, -1), addDays(today, -3)];
        await showQuery(
          lake,
          settings,
          `What each publisher brought on ${yesterday}`,
          `SELECT coalesce(publisher_name, publisher_id) AS publisher, currency, clicks, orders, orders_void AS void, amount, commission, bonus
FROM publisher_performance WHERE brand = 'acme' AND dt = '${yesterday}' ORDER BY commission DESC, publisher`,
        );
        if (acme)
          restate(acme, 'order_list', restated, (held) =>
            held.map(({ at, record }) => ({
              ...{ at, record: record.status === 'new' ? { ...record, status: 'void' } : record },
            })),
          );
        await sync({ brands: ['acme'], reports: [orders.name], from: restated, to: restated });
        await showQuery(
          lake,
          settings,
          `The service voided orders of ${restated}, and the day was read again: what changed`,
          `SELECT changed_by, key, columns, before->>'status' AS status_before, after->>'status' AS status_after FROM changes
WHERE brand = 'acme' AND report = '${orders.name}' AND dt = '${restated}' AND what = 'altered' ORDER BY place DESC, key LIMIT 5`,
        );
        await showQuery(
          lake,
          settings,
          'Is yesterday complete?',
          `SELECT report, dt, state, rows FROM coverage WHERE brand = 'acme' AND dt = '${yesterday}' ORDER BY report`,
        );
        print(nextSteps(flags.lake, monthOf(restated)));
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

async function showQuery({ store }: Lake, settings: Settings, title: string, sql: string): Promise<void> {
  const options = { store, reports, settings, nowMs: Date.now(), onGap: () => {} };
  const connection = await createSqlConnection(options, sql);
  const lines = sql.split('\n').map((line) => styleText('dim', line));
  print(`\n${styleText('bold', title)}\n${lines.join('\n')}\n`);
  await printPieces(TEXTS.table(await query(connection, sql)));
  connection.closeSync();
}

function nextSteps(folder: string, month: string): string {
  // Settings of this folder may have a brand of the same name.
  const lake = folder === DEFAULT_LAKE ? undefined : folder;
  const flags = { lake, settings: join(folder, SETTINGS_FILE) };
  return `
Try next:
  ${printedCommand('query', ['SELECT * FROM commission_due LIMIT 10'], flags)}
  ${printedCommand('statement', ['--month', month, '--output', 'statement.html'], flags)}
  ${printedCommand('status', [], flags)}
  ${printedCommand('verify', [], flags)}

For your own brand, begin with this command; docs/tutorial/first-brand.md has the steps:
  ${printedCommand('init')}`;
}
