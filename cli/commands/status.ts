import { lstat, rename, rm, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { styleText } from 'node:util';
import { type Command, Option } from 'commander';
import { openLake } from '../../shared/adapters/open-lake.ts';
import { textOf } from '../../shared/adapters/error-fields.ts';
import { type MonthSpan, addMonths, dayOf, lastMonths, monthOf } from '../../shared/days.ts';
import { BrandReportsError } from '../../shared/errors.ts';
import { readLedgers } from '../../shared/lake/documents/read.ts';
import { reports } from '../../shared/reports/index.ts';
import type { Settings } from '../../shared/settings/settings.ts';
import { calendarPage } from '../../shared/status/calendar-page.ts';
import type { DayStatus } from '../../shared/status/day-status.ts';
import { commandControls } from '../../shared/status/remedies.ts';
import { type TableStatus, tableStatuses } from '../../shared/status/table-statuses.ts';
import { brandNamed, readSettings } from '../run-options.ts';
import {
  brandOption,
  environmentOption,
  jsonOption,
  lakeOption,
  month,
  nowOption,
  settingsOption,
} from '../options.ts';
import { count, print, printJson } from '../output.ts';
import { table, terminalColumns } from '../text-table.ts';
import { oneLine } from '../terminal-text.ts';

interface StatusFlags {
  lake: string;
  settings: string;
  environment?: string;
  brand?: string;
  month?: string;
  now?: Date;
  json?: boolean;
  html?: string;
}

/** Of every report, each day is a cell of the page. */
const MOST_MONTHS = 24;

export function addStatus(program: Command): void {
  program
    .command('status')
    .description('show which days are present, missing, stale, in progress or failed')
    .addOption(brandOption())
    .option('--month <month>', 'show this month, YYYY-MM (default: the last two)', month)
    .addOption(lakeOption())
    .addOption(settingsOption())
    .addOption(environmentOption())
    .addOption(nowOption())
    .addOption(jsonOption('print every day as one JSON document'))
    .addOption(
      new Option(
        '--html <file>',
        `write a calendar as a page (default: the last ${MOST_MONTHS} months)`,
      ).conflicts('json'),
    )
    .addHelpText(
      'after',
      '\nExample:\n  $ brand-reports status --brand acme --month 2026-01\n  $ brand-reports status --html coverage.html',
    )
    .action(async (flags: StatusFlags) => {
      const settings = await readSettings(flags);
      if (flags.brand !== undefined) brandNamed(flags.brand, settings);
      const { store } = openLake(flags.lake);
      const now = flags.now ?? new Date();
      const span = flags.html === undefined ? {} : pageSpan(flags.month, now);
      const ledgers = await readLedgers(store, reports, span);
      const all = tableStatuses(settings, reports, ledgers, now.getTime(), span);
      const tables = all.filter(({ brand }) => flags.brand === undefined || brand === flags.brand);
      if (flags.html !== undefined)
        await writePage(flags.html, page(tables, settings, now, store.url, flags));
      else if (flags.json) printJson({ lake: store.url, now: now.toISOString(), tables });
      else print(statusText(tables, settings, now.getTime(), flags.month));
    });
}

/** What a page shows and still is quick to open. */
function pageSpan(month: string | undefined, now: Date): MonthSpan {
  if (month !== undefined) return { from: month, to: month };
  return lastMonths(MOST_MONTHS, now.getTime());
}

function page(
  tables: readonly TableStatus[],
  settings: Settings,
  now: Date,
  lake: string,
  flags: StatusFlags,
): string {
  const controls = commandControls(flags);
  return calendarPage(tables, lake, { settings, nowMs: now.getTime(), controls }).markup;
}

/** Whoever has the page open never sees half of it. */
async function writePage(file: string, markup: string): Promise<void> {
  const half = `${file}.${process.pid}.tmp`;
  try {
    const there = await lstat(file).catch(() => undefined);
    if (there && !there.isFile()) await writeFile(file, markup);
    else {
      await writeFile(half, markup);
      await rename(half, file);
    }
  } catch (error) {
    await rm(half, { force: true });
    throw new BrandReportsError(
      'config',
      'page_unwritable',
      `The page ${file} cannot be written (${textOf(error, 'code')}). Name a file that can: --html FILE.`,
    );
  }
  print(`The calendar is in ${resolve(file)}.`);
}

type Colour = Parameters<typeof styleText>[0];

/** From hardly there to there for good, the mark fills; what needs somebody is a letter. */
const MARKS: Record<DayStatus, readonly [mark: string, colour: Colour, meaning: string]> = {
  settled: ['█', 'green', 'settled'],
  complete: ['▆', 'green', 'complete'],
  open: ['▃', 'cyan', 'open'],
  in_progress: ['▁', 'cyan', 'in progress'],
  stale: ['s', 'yellow', 'stale'],
  unproven: ['?', 'yellow', 'unproven'],
  missing: ['·', 'red', 'missing'],
  failed: ['F', 'red', 'failed'],
};
const SCALE = '1   5    10   15   20   25   30';
const NAME_WIDTH = Math.max(...Object.values(reports).map(({ table }) => table.length)) + 2;

function statusText(
  tables: readonly TableStatus[],
  { brands }: Settings,
  nowMs: number,
  chosen: string | undefined,
): string {
  const sections = [...Map.groupBy(tables, ({ brand }) => brand)].map(([brand, of]) => {
    const zone = brands[brand]?.timeZone;
    const today = dayOf(nowMs, zone ?? 'UTC');
    const months = chosen === undefined ? [addMonths(monthOf(today), -1), monthOf(today)] : [chosen];
    const about = zone ? `${zone}, today is ${today}` : 'in the lake, but not in the settings';
    return [
      `${styleText('bold', brand)}  ${styleText('dim', about)}`,
      '',
      `${' '.repeat(NAME_WIDTH)}${months.map((each) => each.padEnd(SCALE.length)).join('  ')}`.trimEnd(),
      styleText('dim', `${' '.repeat(NAME_WIDTH)}${months.map(() => SCALE).join('  ')}`),
      ...of.map(
        (each) => each.table.padEnd(NAME_WIDTH) + months.map((name) => monthLine(each, name)).join('  '),
      ),
      '',
      totals(of),
      ...of.flatMap(failures),
    ].join('\n');
  });
  return [...sections, legend(tables)].join('\n\n');
}

function monthLine({ days }: TableStatus, name: string): string {
  const byDay = new Map(days.map((day) => [day.dt, day.status]));
  return Array.from({ length: SCALE.length }, (_, index) => {
    const status = byDay.get(`${name}-${String(index + 1).padStart(2, '0')}`);
    return status ? mark(status) : ' ';
  }).join('');
}

function totals(tables: readonly TableStatus[]): string {
  const troubles = (['in_progress', 'stale', 'unproven', 'missing', 'failed'] as const).filter((status) =>
    tables.some(({ days }) => days.some((day) => day.status === status)),
  );
  const heads = [
    { name: 'table' },
    { name: 'newest complete' },
    ...['rows', 'days', 'present', ...troubles.map((status) => MARKS[status][2])].map((name) => ({
      name,
      align: 'right' as const,
    })),
  ];
  const lines = tables.map(({ table: name, newestComplete, rows, days, hasReturnedRecords }) => [
    name,
    newestComplete ?? (hasReturnedRecords ? 'none' : 'none (unproven)'),
    ...[rows, days.length, days.filter((day) => day.rows !== null).length].map(count),
    ...troubles.map((status) => count(days.filter((day) => day.status === status).length)),
  ]);
  return table(heads, lines, terminalColumns());
}

function failures({ table: name, days }: TableStatus): string[] {
  return days.flatMap(({ dt, failure }) =>
    failure
      ? [
          '',
          styleText('red', `${name} ${dt}`),
          `${failure.kind} (${failure.code}): ${oneLine(failure.message)}`,
          styleText(
            'dim',
            `since ${failure.since}, ${failure.times} times; next try after ${failure.retryAt}`,
          ),
        ]
      : [],
  );
}

function legend(tables: readonly TableStatus[]): string {
  const met = new Set(tables.flatMap(({ days }) => days.map(({ status }) => status)));
  return [...met].map((status) => `${mark(status)} ${MARKS[status][2]}`).join('  ');
}

function mark(status: DayStatus): string {
  const [sign, colour] = MARKS[status];
  return styleText(colour, sign);
}
