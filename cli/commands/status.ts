import { lstat, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { InvalidArgumentError, Option } from 'commander';
import { textOf } from '../../shared/adapters/error-fields.ts';
import { type MonthSpan, addMonths, dayOf, lastMonths, monthOf } from '../../shared/days.ts';
import { configError } from '../../shared/errors.ts';
import { dayId, readCloses } from '../../shared/lake/documents/close.ts';
import { amountText } from '../../shared/exact-number.ts';
import {
  type SettingsNote,
  hashOfSettings,
  settingsInUse,
  usedSettings,
} from '../../shared/lake/documents/brand-settings.ts';
import { type ReportLedgers, readLedgers } from '../../shared/lake/documents/read.ts';
import { whenToSet } from '../../shared/lake/documents/role-gaps.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import { reports } from '../../shared/reports/index.ts';
import type { Settings } from '../../shared/settings/settings.ts';
import { calendarPage } from '../../shared/status/calendar.ts';
import type { DayFacts } from '../../shared/day-facts.ts';
import { CELL_KINDS, type CellKind, cellKindOf } from '../../shared/status/cell-kinds.ts';
import { counted, rangesText } from '../../shared/status/problems.ts';
import { PROBLEM_STATES } from '../../shared/planning/day-state.ts';
import { commandControls } from '../../shared/status/remedies.ts';
import { type TableStatus, tableStatuses } from '../../shared/status/table-statuses.ts';
import { EXIT } from '../exit-codes.ts';
import { brandNamed, openExistingLake, readSettings } from '../run-options.ts';
import { replaceFile } from '../new-file.ts';
import { type CliCommand, type SharedFlags, month } from '../options.ts';
import { note, print, printJson } from '../output.ts';
import { withRunnableCommands } from '../printed-command.ts';
import { table } from '../text-table.ts';
import { oneLine, styleText } from '../terminal-text.ts';

interface StatusFlags extends SharedFlags {
  month?: string;
  html?: string;
  failOn?: string[];
}

/** Each day of each report is a cell of the page. */
const MAX_MONTHS = 24;

export function addStatus(program: CliCommand): void {
  program
    .command('status')
    .description('show which days are complete, missing, overdue or failed')
    .takes('brand')
    .option('--month <month>', 'show this month, YYYY-MM (default: the last two)', month)
    .takes('lake', 'settings', 'now')
    .addOption(
      new Option(
        '--fail-on <words>',
        `exit with 1 if a day has one of these states, separated by commas: ${FAIL_ON.join(', ')}; "problem" means each of the states before it`,
      ).argParser(failOnWords),
    )
    .option('--json', 'print every day as one JSON document')
    .addOption(
      new Option(
        '--html <file>',
        `write the calendar as a page (default: the last ${MAX_MONTHS} months)`,
      ).conflicts('json'),
    )
    .example([
      'status --brand acme --month 2026-01',
      'status --html coverage.html',
      'status --fail-on failed,missing,overdue',
    ])
    .action(async (flags: StatusFlags) => {
      const settings = await readSettings(flags);
      if (flags.brand !== undefined) brandNamed(flags.brand, settings);
      const { store } = await openExistingLake(flags.lake);
      const now = flags.now ?? new Date();
      const span = flags.html === undefined ? {} : pageSpan(flags.month, now);
      const ledgers = await readLedgers(store, reports, span, Date.now());
      const { notes } = settingsInUse(ledgers, settings, flags.settings);
      for (const { text } of notes) note(oneLine(`note: ${withRunnableCommands(text)}`));
      // A page reads the ledgers of its own months alone.
      const moved = flags.html === undefined ? await movedLines(store, ledgers, settings, flags.brand) : [];
      for (const line of moved) note(oneLine(`note: ${line}`));
      const all = tableStatuses(settings, reports, ledgers, now.getTime(), span);
      const tables = all.filter(({ brand }) => flags.brand === undefined || brand === flags.brand);
      if (flags.html !== undefined)
        await writePage(flags.html, await page(tables, settings, notes, now, store, span, flags));
      else if (flags.json) printJson({ lake: store.url, now: now.toISOString(), tables });
      else print(statusText(tables, settings, now.getTime(), flags.month));
      const failing = tables.flatMap((each) => {
        const zone = settings.brands[each.brand]?.timeZone ?? 'UTC';
        return failingDays(each, flags, dayOf(now.getTime(), zone));
      });
      for (const line of failing) note(`--fail-on: ${line}`);
      if (failing.length > 0) process.exitCode = EXIT.failed;
    });
}

/** Closed months whose totals today's settings would show otherwise, although no record has changed. */
async function movedLines(
  store: ObjectStore,
  ledgers: readonly ReportLedgers[],
  { brands }: Settings,
  only: string | undefined,
): Promise<string[]> {
  const lines: string[] = [];
  const all = await readCloses(store, only, () => {});
  for (const { brand, since = 'the settings file' } of usedSettings(ledgers, { brands })) {
    const given = brands[brand];
    const closes = all.filter((close) => close.brand === brand);
    const own = given && hashOfSettings(given);
    const others = closes.filter(({ settings }) => settings !== undefined && settings !== own);
    if (!given || others.length === 0) continue;
    // Only this needs DuckDB, which takes a tenth of a second to load.
    const { movedTotals, openHistories } = await import('../close-sums.ts');
    const connection = await openHistories(store, { [brand]: given });
    const anew = anewPlaces(ledgers, brand);
    for (const close of others)
      for (const { currency, shown, now } of await movedTotals(connection, closes, close, anew))
        lines.push(
          `${close.month} of ${brand}, changed by settings of ${since}: ${amountText(shown)} ${currency} were shown, and are ${amountText(now)} now. The next statement has the rest.`,
        );
    connection.closeSync();
  }
  return lines;
}

function anewPlaces(ledgers: readonly ReportLedgers[], brand: string): ReadonlyMap<string, number> {
  const days = ledgers
    .filter((each) => each.brand === brand)
    .flatMap(({ report, ledgers: months }) =>
      [...months.values()].flatMap((ledger) =>
        Object.entries(ledger.days).flatMap(([day, { committed }]) => {
          const { anewPlace } = committed?.history ?? {};
          return anewPlace === undefined ? [] : [[dayId({ report: report.name, day }), anewPlace] as const];
        }),
      ),
    );
  return new Map(days);
}

const FAIL_ON: readonly string[] = [...PROBLEM_STATES, 'problem', 'finding'];

function failOnWords(text: string): string[] {
  const words = text.split(',').map((word) => word.trim());
  const unknown = words.find((word) => !FAIL_ON.includes(word));
  if (unknown === undefined) return words;
  throw new InvalidArgumentError(`Unknown state "${unknown}". Allowed: ${FAIL_ON.join(', ')}.`);
}

function failingDays(
  { brand, table: name, days, damaged = [] }: TableStatus,
  { failOn = [], month: chosen }: StatusFlags,
  today: string,
): string[] {
  const wordsOf = (day: DayFacts) => [
    cellKindOf(day, today),
    ...(PROBLEM_STATES.some((state) => state === cellKindOf(day, today)) ? ['problem'] : []),
    ...(day.findings ? ['finding'] : []),
  ];
  const inScope = days.filter(({ dt }) => chosen === undefined || monthOf(dt) === chosen);
  const failing = inScope.filter((day) => wordsOf(day).some((word) => failOn.includes(word)));
  if (failing.length > 0)
    return [`${brand} ${name}: ${counted(failing)} ${failOn.join(' or ')}: ${rangesText(failing)}`];
  // A damaged report state contains no days.
  const includesDamage = failOn.some((word) => word === 'failed' || word === 'problem');
  return includesDamage && damaged.length > 0 ? [`${brand} ${name} is damaged`] : [];
}

/** The most months that a page shows, so that it opens quickly. */
function pageSpan(month: string | undefined, now: Date): MonthSpan {
  if (month !== undefined) return { from: month, to: month };
  return lastMonths(MAX_MONTHS, now.getTime());
}

async function page(
  tables: readonly TableStatus[],
  settings: Settings,
  notes: readonly SettingsNote[],
  now: Date,
  store: ObjectStore,
  span: MonthSpan,
  flags: StatusFlags,
): Promise<string> {
  const controls = commandControls(flags);
  const closes = await readCloses(store, flags.brand, ({ message }) => note(oneLine(message)), span);
  return calendarPage(tables, store.url, { settings, notes, nowMs: now.getTime(), controls, closes }).markup;
}

/** Replaces the page atomically, so that a half-written page is never seen. */
async function writePage(file: string, markup: string): Promise<void> {
  try {
    const there = await lstat(file).catch(() => undefined);
    if (there && !there.isFile()) await writeFile(file, markup);
    else await replaceFile(file, markup);
  } catch (error) {
    throw configError(
      'page_unwritable',
      `The page ${file} cannot be written (${textOf(error, 'code')}). Name another file: --html FILE.`,
    );
  }
  print(`The calendar is in ${resolve(file)}.`);
}

interface Section {
  tables: readonly TableStatus[];
  zone: string | undefined;
  today: string;
}

function statusText(
  tables: readonly TableStatus[],
  { brands }: Settings,
  nowMs: number,
  chosen: string | undefined,
): string {
  const sections = [...Map.groupBy(tables, ({ brand }) => brand)].map(([brand, own]) => {
    const zone = brands[brand]?.timeZone;
    return { brand, tables: own, zone, today: dayOf(nowMs, zone ?? 'UTC') };
  });
  return sections
    .map(({ brand, ...section }) => `${styleText('bold', brand)}  ${sectionText(section, chosen)}`)
    .join('\n\n');
}

function sectionText(section: Section, chosen: string | undefined): string {
  const { tables, zone, today } = section;
  const months = chosen === undefined ? [addMonths(monthOf(today), -1), monthOf(today)] : [chosen];
  return [
    styleText('dim', zone ? `days in ${zone}, today is ${today}` : 'in the lake, but not in the settings'),
    '',
    totals(section),
    '',
    ...tables.flatMap((each) => dayLines(each, months, today)),
    ...tables.flatMap((each) => findingLines(each, months)),
    ...roleLines(tables),
    ...tables.flatMap(failures),
  ].join('\n');
}

function dayLines({ table: name, days }: TableStatus, months: readonly string[], today: string): string[] {
  const shown = days.filter(({ dt }) => months.includes(monthOf(dt)));
  const byKind = Map.groupBy(shown, (day) => cellKindOf(day, today));
  return [...byKind]
    .filter(([kind]) => kind !== 'complete' && kind !== 'settled' && kind !== 'to_come')
    .map(([kind, same]) => `${name}: ${CELL_KINDS[kind].name}: ${rangesText(same)}`);
}

function totals({ tables, today }: Section): string {
  const daysOfKind = (kind: CellKind, days: readonly DayFacts[]) =>
    days.filter((day) => cellKindOf(day, today) === kind).length;
  const problems = PROBLEM_STATES.toReversed().filter((state) =>
    tables.some(({ days }) => daysOfKind(state, days) > 0),
  );
  const lines = tables.map(({ table: name, newestComplete, rows, days, hasReturnedRecords }) => ({
    table: name,
    'newest complete': newestComplete ?? (hasReturnedRecords ? 'none' : 'none (unverified)'),
    ...{ rows, days: days.length, present: days.filter((day) => day.rows !== null).length },
    ...Object.fromEntries(problems.map((state) => [CELL_KINDS[state].name, daysOfKind(state, days)])),
  }));
  return table(lines);
}

function findingLines({ table: name, days }: TableStatus, months: readonly string[]): string[] {
  const found = days
    .filter(({ dt }) => months.includes(monthOf(dt)))
    .flatMap(({ dt, findings = [] }) => findings.map((finding) => ({ dt, ...finding })));
  return [...Map.groupBy(found, ({ title }) => title)].flatMap(([title, same]) => [
    '',
    styleText('yellow', `${name}: ${title} on ${counted(same)}: ${rangesText(same)}`),
    oneLine(same.map(({ dt, detail }) => `${dt}: ${detail}`).join('; ')),
  ]);
}

function roleLines(tables: readonly TableStatus[]): string[] {
  const gaps = tables.flatMap(({ roleGaps = [] }) => roleGaps);
  return gaps.flatMap(({ table: name, role, evidence, views, setting, ...gap }) => [
    '',
    `${styleText('yellow', `${name}: no field for ${role}`)} (${oneLine(evidence)})`,
    `NULL in ${views.join(', ')}. ${whenToSet(gap)}:`,
    oneLine(setting),
  ]);
}

function failures({ table: name, days, damaged = [] }: TableStatus): string[] {
  const documents = damaged.flatMap(({ month, message }) => [
    '',
    styleText('red', `${name} ${month ?? 'report state'}`),
    oneLine(withRunnableCommands(message)),
  ]);
  const failed = days.flatMap(({ dt, failure }) =>
    failure?.since === undefined ? [] : [{ dt, ...failure }],
  );
  // Messages contain the day, so equal failures are compared without it.
  const alike = [...Map.groupBy(failed, ({ dt, message }) => message.replaceAll(dt, '')).values()];
  return [...documents, ...alike.flatMap((same) => failureLines(name, same))];
}

function failureLines(
  name: string,
  same: readonly ({ dt: string } & NonNullable<DayFacts['failure']>)[],
): string[] {
  const which = same.length === 1 ? name : `${counted(same)} of ${name}:`;
  return same
    .slice(0, 1)
    .flatMap(({ kind, code, message, since, times, retryAt }) => [
      '',
      styleText('red', `${which} ${rangesText(same)}`),
      `${kind} (${code}): ${oneLine(withRunnableCommands(message))}`,
      styleText(
        'dim',
        `since ${since}, ${times === 1 ? 'once' : `${times} times`}; next try after ${retryAt}`,
      ),
    ]);
}
