/*
 * The one list of what is wrong, which message, page and `status` print. `planning/day-state.ts` decides the state of a day;
 * this module decides how long a state may last. A first failure without an answer waits for the next run, a day that was
 * never read for the schedule, a long history for its turn. The end of the last run shows what no day shows: the run failed
 * before it read a day, or no run comes any more.
 */
import type { DayFacts } from '../day/day-facts.ts';
import { DAY_MS, HOUR_MS, addDays, dayOf, earlier, monthOf } from '../base/days.ts';
import { counted } from '../base/exact-number.ts';
import type { ErrorKind } from '../base/errors.ts';
import { type Close, closedDays, dayId } from '../lake/close.ts';
import type { DamagedDocument } from '../lake/read.ts';
import type { SettingsName } from '../lake/brand-settings.ts';
import { type LastRun, LAST_RUN_RENEWED_MS } from '../lake/report-state.ts';
import { PROBLEM_STATES, type ProblemState, gracePeriodMs, isComplete } from '../planning/day-state.ts';
import type { Policy } from '../planning/due.ts';
import { isToCome } from './cell-kinds.ts';
import type { Remedy } from './remedies.ts';

export interface Problem {
  /** The same in each watcher run, as long as it lasts. */
  id: string;
  brand: string;
  report: string;
  table: string;
  /** What is wrong, e.g. `failed`; `problemText` adds the days. */
  what: string;
  /** The affected days; empty if a run has the problem. */
  days: readonly string[];
  /** Since when, ISO 8601, as far as the lake shows it; missing: since a watcher run first saw it. */
  since?: string | undefined;
  /** The watcher reports it after so much time. */
  graceMs: number;
  /** One sentence. */
  why: string;
  remedy: Remedy;
  /** Its urgency; missing for a finding and for what the watcher alone reports. */
  state?: ProblemState;
  /** Set for a finding: the watcher reports it once, and no longer reports its end from `untilMs` on. */
  finding?: { untilMs: number; isCertain: boolean };
  /** By which its days are judged. */
  settings?: SettingsName | undefined;
}

export interface JudgedTable {
  brand: string;
  report: string;
  table: string;
  days: DayFacts[];
  /** How the last run ended; missing if no run has ended. */
  lastRun?: LastRun;
  /** Ledgers and the report state, if they cannot be used; the days of such a month are `failed`. */
  damaged?: readonly DamagedDocument[];
}

/** A problem before the name of its report is added. `kind` distinguishes it from other problems of the report. */
type Nameless = Omit<Problem, 'id' | 'brand' | 'report' | 'table' | 'days'> & {
  kind: string;
  days?: readonly DayFacts[];
};

/** A run may start or end so much later than its schedule. */
const LATE_RUN_MS = 2 * HOUR_MS;
/** A history may take so long to be read, newest day first; after that people should know. */
const HISTORY_MS = 3 * DAY_MS;
/** A large day may take several runs. */
const IN_PROGRESS_MS = DAY_MS;

/** The problems of a table, the most urgent first. @param policy missing if no run reads the report */
export function problemsOf(table: JudgedTable, policy: Policy | undefined, nowMs: number): Problem[] {
  const today = dayOf(nowMs, policy?.timeZone ?? 'UTC');
  const byState = Map.groupBy(
    table.days.filter((day) => !isToCome(day, today)),
    ({ state }) => state,
  );
  const daysOf = (state: ProblemState) => byState.get(state) ?? [];
  const graceMs = policy ? gracePeriodMs(policy) : 0;
  const problems = named(table, [
    ...damagedState(table),
    ...(policy && table.lastRun ? failedRun(table.lastRun, graceMs) : []),
    ...failedDays(daysOf('failed'), graceMs),
    ...missingDays(table, daysOf('missing'), addDays(today, -1), graceMs),
    ...ofDays(daysOf('overdue'), {
      kind: 'overdue',
      since: daysOf('overdue')
        .flatMap(({ nextDue }) => nextDue ?? [])
        .sort()[0],
      graceMs: 0,
      why: 'no run has read them again since they were due',
      remedy: { sentence: 'Check that the schedule is on. To read them now', start: 'sync' },
    }),
    ...ofDays(daysOf('unverified'), {
      kind: 'unverified',
      graceMs,
      why: 'the report has never returned a record',
      remedy: { sentence: 'Either there are none, or a setting is wrong. To find out', start: 'check' },
    }),
    // One problem for each day: while a history is read, some day is always in progress, but a different one each hour.
    ...daysOf('in_progress').flatMap((day) =>
      ofDays([day], {
        kind: `in_progress ${day.dt}`,
        what: 'in progress',
        state: 'in_progress',
        graceMs: Math.max(graceMs, IN_PROGRESS_MS),
        why: UNREAD,
        remedy: { sentence: 'A run is reading these days, or the next run will resume them' },
      }),
    ),
  ]);
  return policy ? problems : problems.map((problem) => ({ ...problem, remedy: NOT_READ }));
}

const NOT_READ: Remedy = { sentence: 'No run reads the report: the settings of the brand do not enable it' };

/** What only a watcher run can report: that no run comes any more. */
export function silence(table: JudgedTable, { maxGapMs }: Policy): Problem[] {
  const { lastRun } = table;
  return named(table, [
    {
      // Two kinds, because a lost report state has no time: the problem begins when a watcher run first finds it so.
      kind: lastRun ? 'silent' : 'never_run',
      what: lastRun ? 'no further run has ended' : 'no run has ended yet',
      since: lastRun?.at,
      graceMs: maxGapMs + LAST_RUN_RENEWED_MS + LATE_RUN_MS,
      why: 'the schedule is off, every run dies before its end, or the clocks differ by more than a day',
      remedy: {
        sentence: 'Check that the schedule is on, and read the function’s log. To read the due days now',
        start: 'sync',
      },
    },
  ]);
}

function named({ brand, report, table }: JudgedTable, problems: readonly Nameless[]): Problem[] {
  return problems.map(({ kind, days = [], ...problem }) => ({
    ...{ id: `${brand} ${report} ${kind}`, brand, report, table },
    ...problem,
    days: days.map(({ dt }) => dt),
  }));
}

function ofDays(
  days: readonly DayFacts[],
  problem: Omit<Nameless, 'what' | 'state'> & Partial<Pick<Nameless, 'what' | 'state'>>,
): Nameless[] {
  const [first] = days;
  if (!first) return [];
  const state = PROBLEM_STATES.find((each) => each === first.state);
  return [{ what: first.state, ...(state && { state }), ...problem, days }];
}

const UNREAD = 'no run has read them to their end';

/** One problem for each error. Failures without an answer of the service are one problem, because their codes vary. */
function failedDays(failed: readonly DayFacts[], graceMs: number): Nameless[] {
  const errorOf = ({ failure }: DayFacts) =>
    failure?.kind === 'transient' ? 'transient' : (failure?.code ?? 'unknown');
  return [...Map.groupBy(failed, errorOf)].flatMap(([error, days]) => {
    const failures = days.flatMap(({ failure }) => failure ?? []);
    const [first] = failures;
    const isFirstTry = error === 'transient' && failures.every(({ times = 1 }) => times < 2);
    return ofDays(days, {
      kind: `failed ${error}`,
      since: failures.flatMap(({ since }) => since ?? []).sort()[0],
      graceMs: isFirstTry ? graceMs : 0,
      why: first ? `${first.kind} (${first.code}): ${first.message}` : 'the ledger has no reason',
      remedy: remedyOfFailure(first?.kind),
    });
  });
}

/** A run that failed although no day did: it could not begin. Failed days are problems of their own until they are read. */
function failedRun({ kind, code, message, at, since, failedDays }: LastRun, graceMs: number): Nameless[] {
  if (kind === undefined || failedDays > 0) return [];
  return [
    {
      kind: `run failed ${kind}`,
      what: 'runs fail before they read a day',
      state: 'failed',
      since,
      graceMs: kind === 'transient' && at === since ? graceMs : 0,
      why: `${kind} (${code}): ${message}`,
      remedy: remedyOfFailure(kind),
    },
  ];
}

function remedyOfFailure(kind: ErrorKind | undefined): Remedy {
  const needsOperator = kind === 'config' || kind === 'auth';
  return needsOperator
    ? { sentence: 'Fix what the message names, then', start: 'sync' }
    : { sentence: 'Every run tries again. To try now', start: 'sync' };
}

/** A damaged report state; the days of a damaged ledger have failed. */
function damagedState({ damaged = [] }: JudgedTable): Nameless[] {
  const found = damaged.find(({ month }) => month === undefined);
  if (!found) return [];
  return [
    {
      kind: `damaged ${found.key}`,
      what: 'the report state is damaged',
      state: 'failed',
      graceMs: 0,
      why: found.message,
      remedy: remedyOfFailure('config'),
    },
  ];
}

/**
 * Days that were never read to their end are two problems. The late days are those after the newest day that was read, and
 * yesterday, which every run reads first. The days before them are the history, which takes time.
 */
function missingDays(
  { days }: JudgedTable,
  missing: readonly DayFacts[],
  yesterday: string,
  graceMs: number,
): Nameless[] {
  const newestRead = days.findLast(({ rows }) => rows !== null)?.dt ?? '';
  const [late = [], history = []] = [true, false].map((isLate) =>
    missing.filter(({ dt }) => (dt > newestRead || dt === yesterday) === isLate),
  );
  return [
    ...ofDays(late, {
      ...{ kind: 'missing', graceMs, why: UNREAD },
      remedy: { sentence: 'The next runs read the missing days. To read them now', start: 'sync' },
    }),
    ...ofDays(history, {
      kind: 'history',
      graceMs: Math.max(graceMs, HISTORY_MS),
      why: 'runs read the newest days first, as far as their time reaches',
      remedy: {
        sentence: 'Nothing, if the history is long: runs go on with it. To read them now',
        start: 'sync',
      },
    }),
  ];
}

/*
 * A finding is not a problem: nobody has to act before a run can go on, and some findings have a good reason, such as a
 * campaign. So each finding is reported once for each day, and once more if a later reading no longer has it. It is not
 * repeated and raises no alarm. The table `coverage` and `status` show the rest: findings of a history that is being read,
 * of old days, and of content that another reading has to confirm first.
 */

/** Findings are reported for days, and for changes, of the last so many days. */
const REPORTED_MS = 14 * DAY_MS;
/** Findings that compare a day with its earlier state: for them the age of the change counts, not the age of the day. */
const OF_CHANGES = [
  ...['rows_fell', 'sum_fell', 'never_agrees', 'came_back_empty', 'rows_kept', 'given_up'],
  // A field such as the time of a payment is first filled in records of an old day.
  'new_column',
];

/** The findings of the days, the oldest day first. */
export function findingsIn(table: JudgedTable): Problem[] {
  return table.days.flatMap(({ dt, findings = [] }) =>
    findings.map(({ check, title, detail, advice, since, isCertain }) => {
      const fromMs = Date.parse(OF_CHANGES.includes(check) ? since : `${dt}T00:00:00Z`);
      return {
        ...ofDay(table, check, dt),
        ...{ what: title, since, why: detail, remedy: { sentence: advice } },
        finding: { untilMs: fromMs + REPORTED_MS, isCertain },
      };
    }),
  );
}

function ofDay({ brand, report, table }: JudgedTable, kind: string, day: string) {
  return { id: `${brand} ${report} ${kind} ${day}`, brand, report, table, days: [day], graceMs: 0 };
}

/**
 * The days up to the end of the latest closed month that have another place now, or that no close has named.
 * @param closes of the brand, the oldest first
 */
export function daysSinceClose(
  { report, days }: Pick<JudgedTable, 'report' | 'days'>,
  closes: readonly Close[],
): DayFacts[] {
  const [first, latest] = [closes.at(0)?.month ?? '', closes.at(-1)?.month ?? ''];
  const { days: named } = closedDays(closes);
  return days.filter(({ dt, changes, committedState }) => {
    const closed = named.get(dayId({ report, day: dt }));
    if (monthOf(dt) > latest || committedState === null) return false;
    return closed
      ? closed.place !== undefined && closed.place !== (changes?.times ?? 0)
      : monthOf(dt) >= first;
  });
}

/** The query of what to book, by publisher and currency. */
export function sinceCloseSql(brand: string): string {
  return `SELECT * FROM since_close\nWHERE brand = '${brand}'\nORDER BY month, currency, publisher_id`;
}

/**
 * The days of closed months that count something else since the close. The watcher has no SQL engine, so the message has the
 * query of what to book.
 */
export function findingsSinceClose(table: JudgedTable, closes: readonly Close[]): Problem[] {
  const query = sinceCloseSql(table.brand).replaceAll('\n', ' ');
  return daysSinceClose(table, closes).map(({ dt, changes, readFrom }) => {
    const { at, added = 0, removed = 0, altered = 0 } = changes?.last ?? { at: readFrom ?? '' };
    return {
      ...ofDay(table, 'since_close', dt),
      ...{ what: 'changed after its month was closed', since: at },
      why: changes
        ? `${added} records added, ${removed} removed, ${altered} altered`
        : 'it was first read after the close',
      remedy: {
        sentence: `What to book, by publisher and currency, in Athena or with brand-reports query: ${query}. The next statement has it too`,
      },
      finding: { untilMs: Date.parse(at) + REPORTED_MS, isCertain: true },
    };
  });
}

/** At most so many days of findings of one kind have their details; `coverage` has all. */
const MAX_DETAILS = 8;
const MAX_DETAIL = 200;

/** Joins what a reader would read twice: the findings of a report with one title, and problems with one cause. */
export function together<T extends Problem>(problems: readonly T[]): (T & { reports: string[] })[] {
  const alike = Map.groupBy(problems, ({ brand, table, what, why, days, state, finding }) =>
    JSON.stringify([brand, what, finding || state === 'in_progress' ? table : [why, days]]),
  );
  return [...alike.values()].flatMap((given) => {
    const same = given.toSorted((a, b) => ((a.days.at(-1) ?? '') > (b.days.at(-1) ?? '') ? -1 : 1));
    const details = same.slice(0, MAX_DETAILS).map(({ days: [day], why }) => {
      return `${day}: ${why.length > MAX_DETAIL ? `${why.slice(0, MAX_DETAIL)}…` : why}`;
    });
    const rest = same.length - details.length;
    if (rest > 0) details.push(`and ${rest} more days: see the column findings of the table coverage`);
    return same.slice(0, 1).map((newest) => ({
      ...newest,
      reports: [...new Set(given.map(({ report }) => report))],
      table: [...new Set(given.map(({ table }) => table))].join(', '),
      days: [...new Set(same.flatMap(({ days }) => days))].sort(),
      since: same.flatMap(({ since }) => since ?? []).sort()[0],
      ...(newest.finding && { why: details.join('; ') }),
    }));
  });
}

/** `2 days failed: 2026-11-18 to 2026-11-19`, or `rows fell on 1 day: 2026-11-18` */
export function problemText({ what, days, finding }: Pick<Problem, 'what' | 'days' | 'finding'>): string {
  if (days.length === 0) return what;
  const counts = finding
    ? `${what} on ${counted(days.length, 'day')}`
    : `${counted(days.length, 'day')} ${what}`;
  return `${counts}: ${rangesText(days.map((dt) => ({ dt })))}`;
}
/** `2 days failed`, `runs fail before they read a day` */
export function summed(problems: readonly Problem[]): string[] {
  return [...Map.groupBy(problems, ({ what }) => what)].map(([what, same]) => {
    const days = same.flatMap((problem) => problem.days);
    return days.length === 0 ? what : `${counted(days.length, 'day')} ${what}`;
  });
}

/** The last day up to which every day of all the tables is complete; `undefined` if no such day exists. */
export function completeThrough(tables: readonly JudgedTable[]): string | undefined {
  return tables
    .map(tableCompleteThrough)
    .reduce((a, b) => (a === undefined || b === undefined ? undefined : earlier(a, b)));
}

function tableCompleteThrough({ days }: JudgedTable): string | undefined {
  const firstOther = days.findIndex(({ state }) => state !== 'erased' && !isComplete(state));
  return (firstOther === -1 ? days.at(-1) : days[firstOther - 1])?.dt;
}

const MAX_RANGES = 4;

/** `2026-11-01 to 2026-11-03, 2026-11-07`. @param most so many ranges, and the number of the others */
export function rangesText(days: readonly Pick<DayFacts, 'dt'>[], most = MAX_RANGES): string {
  const ranges = dayRanges(days).map(rangeText);
  const rest = ranges.length - most;
  return [...ranges.slice(0, most), ...(rest > 0 ? [`${rest} more ranges`] : [])].join(', ');
}

interface DayRange {
  from: string;
  to: string;
}

export function rangeText({ from, to }: DayRange): string {
  return from === to ? from : `${from} to ${to}`;
}

export function dayRanges(days: readonly Pick<DayFacts, 'dt'>[]): DayRange[] {
  const ranges: DayRange[] = [];
  for (const { dt } of days) {
    const last = ranges.at(-1);
    if (last && addDays(last.to, 1) === dt) last.to = dt;
    else ranges.push({ from: dt, to: dt });
  }
  return ranges;
}
