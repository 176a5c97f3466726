/**
 * Shows what changed in a month after it was closed, by publisher, currency and state, and what a person who has booked the
 * month has to correct: the view `since_close`, its sums, and one sentence.
 */
import type { Json } from '@duckdb/node-api';
import type { Command } from 'commander';
import { BrandReportsError } from '../../shared/errors.ts';
import { exactNumber } from '../../shared/exact-number.ts';
import { type Close, readCloses } from '../../shared/lake/documents/close.ts';
import { reports } from '../../shared/reports/index.ts';
import { sinceClose } from '../../shared/reports/views/since-close.ts';
import { jsonOption, lakeOption, month } from '../options.ts';
import { counted, print, printJson } from '../output.ts';
import { printedCommand } from '../printed-command.ts';
import { TEXTS } from '../query-formats.ts';
import { query, resultObjects } from '../query-result.ts';
import { openExistingLake } from '../run-options.ts';
import { createSqlConnection, literal } from '../sql-tables.ts';
import { showPieces } from '../pager.ts';
import { oneLine, styleText } from '../terminal-text.ts';

interface SinceCloseFlags {
  brand?: string;
  lake: string;
  json?: boolean;
}

export function addSinceClose(program: Command): void {
  program
    .command('since-close')
    .description('show what changed in a month after it was closed, and what to book')
    .argument('[month]', 'the closed month, YYYY-MM (default: the newest one)', month)
    .option('--brand <name>', 'only this brand (default: each that has closed the month)')
    .addOption(lakeOption())
    .addOption(jsonOption('print the closes, the changes and their sums as one JSON document'))
    .addHelpText(
      'after',
      `
Orders and transactions are the same money: book the correction of one of the two reports.
The same as SQL: the view "since_close".

Example:
  $ brand-reports since-close 2026-10 --brand acme`,
    )
    .action(async (asked: string | undefined, { brand, lake, json }: SinceCloseFlags) => {
      const { store } = await openExistingLake(lake);
      const all = await readCloses(store, brand);
      const months = [...new Set(all.map((close) => close.month))].sort();
      const of = asked ?? months.at(-1) ?? '';
      const closes = all.filter((close) => close.month === of);
      if (closes.length === 0) throw notClosed(asked, brand, months);
      const sqlLake = { store, reports, settings: undefined, nowMs: Date.now() };
      const connection = await createSqlConnection(sqlLake, `SELECT * FROM ${sinceClose.name}`);
      try {
        const changes = await query(connection, changesSql(closes));
        if (json) {
          const rows = await Array.fromAsync(resultObjects(changes));
          const totals = await Array.fromAsync(resultObjects(await query(connection, totalsSql(closes))));
          const heads = closes.map(({ brand: name, month: closed, closedAt, exceptions }) => {
            return { brand: name, month: closed, closedAt, exceptions };
          });
          printJson({ closes: heads, changes: rows, totals });
          return;
        }
        print(closes.map(headText).join('\n'));
        await showPieces(TEXTS.table(changes));
        const totals = (await connection.runAndReadAll(totalsSql(closes))).getRowObjectsJson();
        print(`\n${closes.map((close) => bookingText(close, totals)).join('\n')}`);
      } finally {
        connection.closeSync();
      }
    });
}

function fromSql(closes: readonly Close[]): string {
  const [{ month: of } = { month: '' }] = closes;
  const brands = closes.map(({ brand }) => literal(brand)).join(', ');
  return `FROM ${sinceClose.name} WHERE close = ${literal(of)} AND brand IN (${brands})`;
}

const KEYS = 'brand, report, currency';

function changesSql(closes: readonly Close[]): string {
  return `SELECT ${KEYS}, publisher_id, publisher_name, what, state, records, correction, commission_then, commission_now, amount_then, amount_now ${fromSql(closes)} ORDER BY ${KEYS}, publisher_id, what, state`;
}

function totalsSql(closes: readonly Close[]): string {
  return `SELECT ${KEYS}, CAST(sum(records) AS bigint) AS records, sum(correction) AS correction ${fromSql(closes)} GROUP BY ${KEYS} ORDER BY ${KEYS}`;
}

/** `acme 2026-10, closed 2026-11-03 06:00 UTC, with 1 day that was not whole` */
function headText({ brand, month: of, closedAt, exceptions }: Close): string {
  const days =
    exceptions.length === 0 ? '' : `, with ${counted(exceptions.length, 'day')} that was not whole`;
  return styleText(
    'bold',
    oneLine(`${brand} ${of}, closed ${closedAt.slice(0, 16).replace('T', ' ')} UTC${days}`),
  );
}

/** What to book for a brand, in a sentence. */
function bookingText({ brand }: Close, totals: readonly Readonly<Record<string, Json>>[]): string {
  const own = totals.filter((total) => total.brand === brand && Number(total.correction) !== 0);
  const texts = [...Map.groupBy(own, ({ report }) => report)].map(([report, sums]) => {
    const amounts = sums.map(({ currency, correction }) => {
      const sum = exactNumber(String(correction));
      return `${sum.startsWith('-') ? '' : '+'}${sum} ${currency ?? 'without currency'}`;
    });
    return `${amounts.join(', ')} (${report})`;
  });
  if (texts.length === 0)
    return oneLine(`Nothing to book for ${brand}: the commission that counts is what it was at the close.`);
  const same = texts.length > 1 ? ' The reports are the same money: book one of them.' : '';
  return oneLine(`To book for ${brand}: ${texts.join(' or ')}.${same}`);
}

function notClosed(
  asked: string | undefined,
  brand: string | undefined,
  months: readonly string[],
): BrandReportsError {
  const whose = brand === undefined ? '' : ` of the brand "${brand}"`;
  const next = printedCommand('close', [asked ?? 'YYYY-MM']);
  return new BrandReportsError(
    'config',
    'not_closed',
    `${asked ?? 'No month'}${whose} is ${asked === undefined ? '' : 'not '}closed. Closed months: ${months.join(', ') || 'none'}. To close a month: ${next}`,
  );
}
