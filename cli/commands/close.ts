import { configError } from '../../shared/errors.ts';
import { monthOf } from '../../shared/days.ts';
import { type Close, readCloses } from '../../shared/lake/documents/close.ts';
import { type CloseOptions, closeMonth, removeCloses } from '../../shared/operations/close-month.ts';
import { EXIT } from '../exit-codes.ts';
import { rewriteDatabase } from '../open-database.ts';
import { type CliCommand, type SharedFlags, month } from '../options.ts';
import { counted, note, print, printJson } from '../output.ts';
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
    .option(
      '--anyway',
      'close even if days are missing, failed, open, unconfirmed or erased: the close records them',
    )
    .option('--remove', 'remove the close; versions that nothing else keeps are deleted later')
    .takes('lake', 'database', 'settings', 'now')
    .option('--json', 'print what was listed, closed or removed as one JSON document')
    .example(['close', 'close 2026-10 --brand acme', 'query --as-of 2026-10 "SELECT * FROM orders_daily"'])
    .action((of: string | undefined, flags: CloseFlags) =>
      of === undefined ? listCloses(flags) : changeClose(of, flags),
    );
}

async function changeClose(of: string, flags: CloseFlags): Promise<void> {
  const { brand, anyway = false } = flags;
  const options: CloseOptions = { ...(await writableLake(flags)), month: of, anyway, brand };
  if (flags.remove) {
    const brands = await removeCloses(options);
    if (flags.json) printJson({ status: 'removed', month: of, brands });
    else print(`${styleText('green', 'removed')}: the close ${of} of ${brands.join(', ')}`);
  } else {
    const { status, closed, before } = await closeMonth(options);
    const [now, earlier] = [closed, before].map((closes) => closes.map(summaryOf));
    if (flags.json) printJson({ status, closed: now, before: earlier });
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
  else print(closes.length === 0 ? noneText(brand) : closesTable(closes));
  for (const message of damaged) note(oneLine(`error: ${withRunnableCommands(message)}`));
  process.exitCode = damaged.length > 0 ? EXIT.failed : EXIT.complete;
}

/** A close in the form of `--json`. Its numbers are those of its time: days that were erased since count. */
export function summaryOf({ brand, month: of, closedAt, days, carried, exceptions, erased = [] }: Close) {
  const since = erased.filter(({ day }) => monthOf(day) === of);
  const own = [...days, ...since];
  const rows = own.reduce((sum, day) => sum + day.rows, 0);
  const numbers = { days: own.length, rows, carried: carried.length + erased.length - since.length };
  return { brand, month: of, closedAt, ...numbers, exceptions, erased: erased.length };
}

function closedText(close: Close): string {
  const { brand, month: of, days, rows, carried, exceptions } = summaryOf(close);
  const more = [
    ...(exceptions.length > 0 ? [`${counted(exceptions.length, 'day')} recorded as not whole`] : []),
    ...(carried > 0 ? [`${counted(carried, 'day')} of earlier months carried over`] : []),
  ];
  const what = [`${counted(days, 'version')} with ${counted(rows, 'row')}`, ...more].join('; ');
  return `${styleText('green', 'closed')}: ${of} of ${brand}, ${what}`;
}

function closesTable(closes: readonly Close[]): string {
  const rows = closes.map(summaryOf).map(({ closedAt, exceptions, carried, erased, ...close }) => ({
    ...{ brand: close.brand, month: close.month, closed: closedAt, days: close.days, rows: close.rows },
    ...{ 'not whole': exceptions.length, carried, erased },
  }));
  return table(rows);
}

function noneText(brand: string | undefined): string {
  const of = brand === undefined ? '' : ` of ${brand}`;
  return `No month${of} is closed. To close one: ${printedCommand('close', ['2026-10'])}`;
}
