import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { InvalidArgumentError, Option } from 'commander';
import { addMonths, dayOf, lastMonths, monthOf } from '../../shared/base/days.ts';
import { readCloses } from '../../shared/lake/close.ts';
import { counted } from '../../shared/base/exact-number.ts';
import { settingsInUse } from '../../shared/lake/brand-settings.ts';
import { readLedgers } from '../../shared/lake/read.ts';
import { gapText } from '../../shared/lake/role-gaps.ts';
import { reports } from '../../shared/reports/index.ts';
import type { Settings } from '../../shared/settings/settings.ts';
import { calendarPage } from '../../shared/watch/calendar.ts';
import type { DayFacts } from '../../shared/day/day-facts.ts';
import { CELL_KINDS, type CellKind, cellKindOf } from '../../shared/watch/cell-kinds.ts';
import { type Problem, findingsIn, problemText, rangesText, together } from '../../shared/watch/problems.ts';
import { PROBLEM_STATES } from '../../shared/planning/day-state.ts';
import { type Controls, commandControls } from '../../shared/watch/remedies.ts';
import { type TableStatus, tableStatuses } from '../../shared/watch/table-statuses.ts';
import { EXIT } from '../exit-codes.ts';
import { brandNamed, openExistingLake, readSettings } from '../run-options.ts';
import { writeWhole } from '../new-file.ts';
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
    .option(
      '--fail-on <words>',
      `exit with 1 if a day is one of: ${FAIL_ON.join(', ')}; "problem" is each before it`,
      failOnWords,
    )
    .option('--json', 'print every day as one JSON document')
    .addOption(new Option('--html <file>', 'write the calendar of two years as a page').conflicts('json'))
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
      const { month: of } = flags;
      const pageSpan = of === undefined ? lastMonths(MAX_MONTHS, now.getTime()) : { from: of, to: of };
      const ledgers = await readLedgers(store, reports, {}, Date.now());
      const { notes } = settingsInUse(ledgers, settings, flags.settings);
      for (const { text } of notes) note(oneLine(`note: ${withRunnableCommands(text)}`));
      const all = tableStatuses(settings, reports, ledgers, now.getTime());
      const tables = all.filter(({ brand }) => flags.brand === undefined || brand === flags.brand);
      if (flags.html !== undefined) {
        const report = ({ message }: Error) => note(oneLine(message));
        const closes = await readCloses(store, flags.brand, report, pageSpan);
        const shown = { settings, notes, nowMs: now.getTime(), closes, span: pageSpan };
        const context = { ...shown, controls: commandControls(flags) };
        const { markup } = calendarPage(tables, store.url, context);
        await writeWhole(flags.html, store.localFolder, (path) => writeFile(path, markup));
        print(`The calendar is in ${resolve(flags.html)}.`);
      } else if (flags.json) printJson({ lake: store.url, now: now.toISOString(), tables });
      else print(statusText(tables, settings, now.getTime(), flags));
      const failing = tables.flatMap((each) => {
        const zone = settings.brands[each.brand]?.timeZone ?? 'UTC';
        return failingDays(each, flags, dayOf(now.getTime(), zone));
      });
      for (const line of failing) note(`--fail-on: ${line}`);
      if (failing.length > 0) process.exitCode = EXIT.failed;
    });
}

const FAIL_ON: readonly string[] = [...PROBLEM_STATES, 'problem', 'finding'];

function failOnWords(text: string): string[] {
  const words = text.split(',').map((word) => word.trim());
  const unknown = words.find((word) => !FAIL_ON.includes(word));
  if (unknown === undefined) return words;
  throw new InvalidArgumentError(`Unknown state "${unknown}". Allowed: ${FAIL_ON.join(', ')}.`);
}

function failingDays(
  { brand, table: name, days, problems }: TableStatus,
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
    return [
      `${brand} ${name}: ${counted(failing.length, 'day')} ${failOn.join(' or ')}: ${rangesText(failing)}`,
    ];
  // A damaged report state, or a run that failed before it read a day, has no days.
  const without = problems.filter(({ days: own }) => own.length === 0);
  const isIncluded = failOn.some((word) => word === 'failed' || word === 'problem');
  return isIncluded ? without.map(({ what }) => `${brand} ${name}: ${what}`) : [];
}

function statusText(
  tables: readonly TableStatus[],
  { brands }: Settings,
  nowMs: number,
  { month: chosen, ...flags }: StatusFlags,
): string {
  const controls = commandControls(flags);
  const sections = [...Map.groupBy(tables, ({ brand }) => brand)].map(([brand, own]) => {
    const zone = brands[brand]?.timeZone;
    const today = dayOf(nowMs, zone ?? 'UTC');
    const days = zone ? `days in ${zone}, today is ${today}` : 'in the lake, but not in the settings';
    const months = chosen === undefined ? [addMonths(monthOf(today), -1), monthOf(today)] : [chosen];
    return [
      `${styleText('bold', brand)}  ${styleText('dim', days)}`,
      '',
      totals(own, today),
      '',
      ...own.flatMap((each) => dayLines(each, months, today)),
      ...problemLines(problemsIn(own, months), controls),
      ...own.flatMap(({ roleGaps = [] }) =>
        roleGaps.flatMap((gap) => ['', oneLine(`${gapText(gap)}: ${gap.setting}`)]),
      ),
    ].join('\n');
  });
  return sections.join('\n\n');
}

function dayLines({ table: name, days }: TableStatus, months: readonly string[], today: string): string[] {
  const shown = days.filter(({ dt }) => months.includes(monthOf(dt)));
  const byKind = Map.groupBy(shown, (day) => cellKindOf(day, today));
  return [...byKind]
    .filter(([kind]) => kind === 'open' || kind === 'erased')
    .map(([kind, same]) => `${name}: ${CELL_KINDS[kind].name}: ${rangesText(same)}`);
}

function totals(tables: readonly TableStatus[], today: string): string {
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

/** Problems of all months, and the findings of some. */
function problemsIn(tables: readonly TableStatus[], months: readonly string[]): Problem[] {
  return tables.flatMap(({ days, ...table }) => [
    ...findingsIn({ ...table, days: days.filter(({ dt }) => months.includes(monthOf(dt))) }),
    ...table.problems,
  ]);
}

function problemLines(problems: readonly Problem[], controls: Controls): string[] {
  return together(problems).flatMap((problem) => {
    const { brand, table: name, reports: named, since, why, remedy } = problem;
    const { sentence, start } = remedy;
    const next = start ? `${sentence}: ${controls(start, named, brand).text}` : sentence;
    return [
      '',
      styleText(problem.finding ? 'yellow' : 'red', `${name}: ${problemText(problem)}`),
      oneLine(withRunnableCommands(why)),
      styleText('dim', oneLine(`${since === undefined ? '' : `since ${since}. `}${next}`)),
    ];
  });
}
