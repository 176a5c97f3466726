import { userInfo } from 'node:os';
import { configError } from '../../shared/base/errors.ts';
import { type Close, readCloses } from '../../shared/lake/close.ts';
import { type CloseOptions, closeMonth, removeCloses } from '../../shared/operations/close-month.ts';
import { closeSums } from '../close-sums.ts';
import { EXIT } from '../exit-codes.ts';
import { rewriteDatabase } from '../open-database.ts';
import { type CliCommand, type SharedFlags, month } from '../options.ts';
import { counted } from '../../shared/base/exact-number.ts';
import { note, print, printJson } from '../output.ts';
import { printedCommand, withRunnableCommands } from '../printed-command.ts';
import { openExistingLake, writableLake } from '../run-options.ts';
import { oneLine, styleText } from '../terminal-text.ts';
import { table } from '../text-table.ts';

type CloseFlags = SharedFlags & { anyway?: boolean; remove?: boolean };

export function addClose(program: CliCommand): void {
  program
    .command('close')
    .description('keep the numbers of a month as they are, or list closed months')
    .argument('[month]', 'the month to close, YYYY-MM (default: list the closed months)', month)
    .option('--brand <name>', 'only this brand (default: every brand of the lake)')
    .option('--anyway', 'close even if days are not whole or amounts are unknown, and name them')
    .option('--remove', 'remove the close, if no later close follows')
    .takes('lake', 'database', 'settings', 'now')
    .option('--json', 'print what was listed, closed or removed as one JSON document')
    .example(['close', 'close 2026-10 --brand acme', 'query --as-of 2026-10 "SELECT * FROM orders_daily"'])
    .action((of: string | undefined, flags: CloseFlags) =>
      of === undefined ? listCloses(flags) : changeClose(of, flags),
    );
}

async function changeClose(of: string, flags: CloseFlags): Promise<void> {
  const { brand, anyway = false } = flags;
  const access = await writableLake(flags);
  const sums = closeSums(access.lake.store);
  const options: CloseOptions = { ...access, month: of, anyway, brand, sums, by: nameOfUser() };
  if (flags.remove) {
    const brands = await removeCloses(options);
    if (flags.json) printJson({ status: 'removed', month: of, brands });
    else print(`${styleText('green', 'removed')}: the close ${of} of ${brands.join(', ')}`);
  } else {
    const closed = await closeMonth(options);
    if (flags.json) printJson({ status: 'complete', closed: closed.map(summaryOf) });
    else print(closed.map(closedText).join('\n'));
  }
  await rewriteDatabase(options.lake, options.settings);
  if (flags.lake.startsWith('s3://') && !options.lake.catalog)
    note('The tables of closed months in Athena follow with the next deployment: no --database was given.');
}

/** Needs no right to write, and no settings. @throws BrandReportsError `config` if a flag names a change but no month */
async function listCloses({ brand, lake, json, anyway, remove }: CloseFlags): Promise<void> {
  if (anyway || remove) {
    const flag = remove ? '--remove' : '--anyway';
    const next = `Name the month, e.g. ${printedCommand('close', ['2026-10', flag])}`;
    throw configError('no_days_named', `${flag} needs a month, YYYY-MM. ${next}`);
  }
  const { store } = await openExistingLake(lake);
  const damaged: string[] = [];
  const closes = await readCloses(store, brand, ({ message }) => damaged.push(message));
  if (json) printJson({ closes: closes.map(summaryOf), damaged });
  else if (closes.length > 0) print(closesTable(closes));
  else
    print(
      `No month${brand === undefined ? '' : ` of ${brand}`} is closed. To close one: ${printedCommand('close', ['2026-10'])}`,
    );
  for (const message of damaged) note(oneLine(`error: ${withRunnableCommands(message)}`));
  process.exitCode = damaged.length > 0 ? EXIT.failed : EXIT.complete;
}

function summaryOf({ brand, month: of, closedAt, by, settings, ...close }: Close) {
  const { days, totals, exceptions, faults, erased } = close;
  const counts = { days: days.length, erased: erased.length };
  const origin = { closedAt, by, settings: settings ?? null };
  return { brand, month: of, ...origin, ...counts, totals, exceptions, faults };
}

function closedText(close: Close): string {
  const { brand, month: of, days, totals, exceptions, faults } = close;
  const accepted = exceptions.length + faults.length;
  const what = [
    `${counted(days.length, 'day')}, ${counted(totals.length, 'total')} of publishers`,
    ...(accepted > 0 ? [`${counted(accepted, 'fault')} recorded`] : []),
  ].join('; ');
  const next = printedCommand('statement', ['--month', of], { brand });
  return `${styleText('green', 'closed')}: ${of} of ${brand}, ${what}. Its statement: ${next}`;
}

function closesTable(closes: readonly Close[]): string {
  const rows = closes.map(({ brand, month: of, closedAt, by, ...close }) => ({
    ...{ brand, month: of, closed: closedAt, by },
    ...{ days: close.days.length, 'not whole': close.exceptions.length },
    ...{ faults: close.faults.length, erased: close.erased.length },
  }));
  return table(rows);
}

/** The name of the machine's user, safe to show. */
function nameOfUser(): string {
  try {
    return oneLine(userInfo().username).replace(/\p{C}/gu, '?').slice(0, 100) || 'unknown';
  } catch {
    // A container may run as a user without a name.
    return 'unknown';
  }
}
