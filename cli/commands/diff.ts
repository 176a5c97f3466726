/**
 * Shows what happened to a day after it was closed: each change with its time and cause, rows and sums before and after,
 * and the records that were added, removed or altered, as far as they were few enough to be listed.
 */
import { styleText } from 'node:util';
import type { Command } from 'commander';
import { openLake } from '../../shared/adapters/open-lake.ts';
import type { AlteredColumn, ChangedRecord, TableDiff } from '../../shared/lake/table/diff.ts';
import { type ChangedDay, readChangedDays } from '../../shared/operations/day-changes.ts';
import type { Change } from '../../shared/pipeline/change-rows.ts';
import type { ReportDefinition } from '../../shared/reports/definition.ts';
import { reports } from '../../shared/reports/index.ts';
import { day, instantOrDay, jsonOption, lakeOption } from '../options.ts';
import { count, counted, print, printJson } from '../output.ts';
import { reportNamed } from '../run-options.ts';
import { oneLine, truncate } from '../terminal-text.ts';
import { table, terminalColumns } from '../text-table.ts';

interface DiffFlags {
  brand?: string;
  lake: string;
  since?: Date;
  json?: boolean;
}

/** More records of a change are shown by SQL. */
const MAX_SHOWN_RECORDS = 20;

export function addDiff(program: Command): void {
  program
    .command('diff')
    .description('show what later readings changed on a day that was closed')
    .argument('<report>', 'a table or a report, e.g. orders')
    .argument('<day>', 'the day, YYYY-MM-DD', day)
    .option('--brand <name>', 'only this brand (default: each that has the day)')
    .option('--since <time>', 'only changes since this day (UTC) or instant', instantOrDay)
    .addOption(lakeOption())
    .addOption(jsonOption('print the changes as one JSON document'))
    .addHelpText(
      'after',
      `
An open day grows, and that is no change: the first version that was read whole is what later ones are compared with.
The same as SQL: the table "changes" and the views "changes_daily" and "restatements".

Example:
  $ brand-reports diff orders 2026-01-31 --since 2026-02-05`,
    )
    .action(async (name: string, of: string, { brand, since, lake, json }: DiffFlags) => {
      const { store } = await openLake(lake);
      const report = reportOf(name);
      const options = { report, day: of, ...(brand !== undefined && { brand }), ...(since && { since }) };
      const days = await readChangedDays(store, options);
      if (json) printJson({ days });
      else print(days.map((each) => dayText(each, report, since)).join('\n\n'));
    });
}

/** The report of a table, or of this name. */
function reportOf(name: string): ReportDefinition {
  const report = Object.values(reports).find(({ table: of }) => of === name) ?? reports[reportNamed(name)];
  if (!report) throw new Error(`${name} is in the registry`);
  return report;
}

function dayText(
  { brand, day: of, rows, closed, changes }: ChangedDay,
  report: ReportDefinition,
  since: Date | undefined,
): string {
  const times = changes.length === 1 ? 'once' : `${count(changes.length)} times`;
  const changed = changes.length === 0 ? 'not changed' : `changed ${times}`;
  const when = since ? `since ${instant(since)}` : closed ? 'since it was closed first' : 'since it was read';
  const head = `${oneLine(brand)} ${report.table} ${of}: ${counted(rows, 'row')}, ${changed} ${when}`;
  return [styleText('bold', head), ...changes.map(changeText)].join('\n\n');
}

function changeText(change: Change): string {
  const { at, cause, rowsBefore, rowsAfter, diff } = change;
  const size = `${count(rowsBefore)} → ${counted(rowsAfter, 'row')}`;
  return [
    `${styleText('cyan', instant(at))}  ${cause}  ${size}  ${diff ? countsText(diff) : 'the version before cannot be read'}`,
    ...sumLines(change),
    ...(diff ? recordLines(diff) : []),
  ].join('\n');
}

function countsText({ added, removed, altered }: TableDiff): string {
  return [
    styleText('green', `+${count(added)}`),
    styleText('red', `−${count(removed)}`),
    styleText('yellow', `~${count(altered)}`),
  ].join(' ');
}

/** The sums that differ. */
function sumLines({ sumsBefore, sumsAfter }: Change): string[] {
  const names = [...new Set([...Object.keys(sumsBefore), ...Object.keys(sumsAfter)])];
  const cells = names
    .map((name) => [`sum of ${name}`, shown(sumsBefore[name]), '→', shown(sumsAfter[name])])
    .filter(([, before, , after]) => before !== after);
  return indented(cells, 'right');
}

function recordLines({ records, added, removed, altered }: TableDiff): string[] {
  const all = added + removed + altered;
  if (!records) return all === 0 ? [] : [`  ${counted(all, 'record')}: too many or too large to be listed`];
  const left = records.length - MAX_SHOWN_RECORDS;
  return [
    ...records.slice(0, MAX_SHOWN_RECORDS).flatMap(recordText),
    ...(left > 0 ? [`  and ${count(left)} more: --json, or SELECT * FROM changes`] : []),
  ];
}

function recordText(record: ChangedRecord): string[] {
  if (record.what === 'altered') {
    const cells = record.columns.map(({ name, before, after }: AlteredColumn) => [
      `  ${name}`,
      shown(before),
      '→',
      shown(after),
    ]);
    return [`  ${styleText('yellow', '~')} ${oneLine(record.key)}`, ...indented(cells, 'left')];
  }
  const [sign, color] = record.what === 'added' ? (['+', 'green'] as const) : (['−', 'red'] as const);
  const times = record.copies > 1 ? `${count(record.copies)} × ` : '';
  const key = record.key === undefined ? '' : `${record.key}  `;
  const values = Object.entries(record.record).map(([name, value]) => `${name}=${value}`);
  const line = oneLine(`${times}${key}${values.join(' ')}`);
  return [`  ${styleText(color, sign)} ${truncate(line, terminalColumns() - 4)}`];
}

/** Cells in columns, without a head. */
function indented(cells: readonly (readonly string[])[], align: 'left' | 'right'): string[] {
  if (cells.length === 0) return [];
  const columns = [{ name: '' }, { name: '', align }, { name: '' }, { name: '', align }];
  const [, , ...lines] = table(columns, cells, terminalColumns() - 2).split('\n');
  return lines.map((line) => `  ${line}`);
}

function shown(value: string | null | undefined): string {
  return value === null || value === undefined ? 'none' : value;
}

/** `2026-02-05 06:12 UTC` */
function instant(at: Date): string {
  return `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
