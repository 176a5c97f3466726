/**
 * Shows the changes in a month after it was closed, by publisher, currency and state, and the correction for a person who has
 * booked the month: the view `since_close`, its sums, and one sentence.
 */
import type { BrandReportsError } from '../../shared/errors.ts';
import { configError } from '../../shared/errors.ts';
import { exactNumber } from '../../shared/exact-number.ts';
import { type Close, readCloses } from '../../shared/lake/documents/close.ts';
import { reports } from '../../shared/reports/index.ts';
import { sinceClose } from '../../shared/reports/views/since-close.ts';
import { type CliCommand, type SharedFlags, month } from '../options.ts';
import { counted, instantText, note, print, printJson } from '../output.ts';
import { printedCommand, withRunnableCommands } from '../printed-command.ts';
import { TEXTS } from '../query-formats.ts';
import { cell, query, resultObjects } from '../query-result.ts';
import { openExistingLake } from '../run-options.ts';
import { createSqlConnection, literal } from '../sql-tables.ts';
import { showPieces } from '../pager.ts';
import { oneLine, styleText } from '../terminal-text.ts';

export function addSinceClose(program: CliCommand): void {
  program
    .command('since-close')
    .description('show what changed in a month after it was closed, and what to book')
    .argument('[month]', 'the closed month, YYYY-MM (default: the newest one)', month)
    .option('--brand <name>', 'only this brand (default: each that has closed the month)')
    .takes('lake')
    .option('--json', 'print the closes, the changes and their sums as one JSON document')
    .example(
      'since-close 2026-10 --brand acme',
      `Orders and transactions are the same money: book the correction of one of the two reports.
The same as SQL: the view "since_close".`,
    )
    .action(async (asked: string | undefined, { brand, lake, json }: SharedFlags) => {
      const { store } = await openExistingLake(lake);
      const warn = ({ message }: BrandReportsError) => note(oneLine(withRunnableCommands(message)));
      const all = await readCloses(store, brand, warn);
      const months = [...new Set(all.map((close) => close.month))].sort();
      const closes = all.filter((close) => close.month === (asked ?? months.at(-1)));
      const [first] = closes;
      if (!first) throw notClosed(asked, brand, months);
      const brands = closes.map((close) => literal(close.brand)).join(', ');
      const from = `FROM ${sinceClose.name} WHERE close = ${literal(first.month)} AND brand IN (${brands})`;
      const changesSql = `SELECT ${KEYS}, ${DETAILS} ${from} ORDER BY ALL`;
      const totalsSql = `SELECT ${KEYS}, sum(correction) AS correction ${from} GROUP BY ALL ORDER BY ALL`;
      // With a day of the month in the SQL, DuckDB opens no file of another month.
      const day = `${first.month}-01`;
      const sqlLake = { store, reports, settings: undefined, nowMs: Date.now(), day };
      const connection = await createSqlConnection(sqlLake, changesSql);
      try {
        if (json) {
          const rowsOf = async (sql: string) => Array.fromAsync(resultObjects(await query(connection, sql)));
          const heads = closes.map(({ brand: of, month: closed, closedAt, exceptions }) => {
            return { brand: of, month: closed, closedAt, exceptions };
          });
          printJson({ closes: heads, changes: await rowsOf(changesSql), totals: await rowsOf(totalsSql) });
        } else {
          print(closes.map(headText).join('\n'));
          await showPieces(TEXTS.table(await query(connection, changesSql)));
          const read = await connection.runAndReadAll(totalsSql);
          const sums = read.getRowsJson().map((row) => row.map((value) => cell(value ?? '', undefined)));
          print(`\n${closes.map((close) => bookingText(close, sums)).join('\n')}`);
        }
      } finally {
        connection.closeSync();
      }
    });
}

const KEYS = 'brand, report, currency';
const DETAILS =
  'publisher_id, publisher_name, what, state, records, correction, commission_then, commission_now, amount_then, amount_now';

/** `acme 2026-10, closed 2026-11-03 06:00 UTC, 1 day recorded as not whole` */
function headText({ brand, month: of, closedAt, exceptions }: Close): string {
  const days = exceptions.length === 0 ? '' : `, ${counted(exceptions.length, 'day')} recorded as not whole`;
  return styleText('bold', `${brand} ${of}, closed ${instantText(closedAt)}${days}`);
}

/** @param totals rows of brand, report, currency and correction */
function bookingText({ brand }: Close, totals: readonly string[][]): string {
  const own = totals.filter(([of, , , correction]) => of === brand && Number(correction) !== 0);
  const texts = [...Map.groupBy(own, ([, report]) => report)].map(([report, sums]) => {
    const amounts = sums.map(([, , currency = '', correction = '']) => {
      const sum = exactNumber(correction);
      return `${sum.startsWith('-') ? '' : '+'}${sum} ${currency === '' ? 'without currency' : currency}`;
    });
    return `${amounts.join(', ')} by ${report}`;
  });
  if (texts.length === 0) return `Nothing to book for ${brand}: the same commission counts as at the close.`;
  const same = texts.length > 1 ? ' Both describe the same money: book only one of them.' : '';
  return oneLine(`To book for ${brand}: ${texts.join(', or ')}.${same}`);
}

function notClosed(asked = 'No month', brand: string | undefined, months: readonly string[]) {
  const known = `Closed months${brand === undefined ? '' : ` of ${brand}`}: ${months.join(', ') || 'none'}`;
  const next = printedCommand('close', [asked === 'No month' ? '2026-10' : asked]);
  const message = `${asked} is ${asked === 'No month' ? '' : 'not '}closed. ${known}. To close one: ${next}`;
  return configError('not_closed', message);
}
