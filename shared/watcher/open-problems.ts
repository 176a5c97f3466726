/*
 * Finds the problems that people are told about. Without it, a person would have to check every day of every report.
 * `planning/day-state.ts` decides the state of a day; this module decides how long a state may last. A first failure without
 * an answer waits for the next run, a day that was never read for the schedule, a long history for its turn. Anything that
 * looks wrong is a candidate; a candidate that has lasted longer than its grace period is a problem. The end of the last run
 * shows what no day shows: the run failed before it read a day, the service throttles it, or no run comes any more.
 */
import type { DayFacts } from '../day-facts.ts';
import { DAY_MS, HOUR_MS, addDays, dayOf, monthOf } from '../days.ts';
import { type Finding, COMPARED_DAYS } from '../findings/index.ts';
import type { SettingsName } from '../lake/documents/brand-settings.ts';
import type { Close } from '../lake/documents/close.ts';
import { type LastRun, LAST_RUN_RENEWED_MS } from '../lake/documents/report-state.ts';
import { type ProblemState, gracePeriodMs } from '../planning/day-state.ts';
import type { Policy } from '../planning/due.ts';
import { type Problem, counted, problemsOf, rangesText } from '../status/problems.ts';
import { daysSinceClose, sinceCloseSql } from '../status/since-close.ts';
import { type Remedy, remedyOf, remedyOfFailure } from '../status/remedies.ts';
import type { TableStatus } from '../status/table-statuses.ts';

export interface Candidate {
  /** The same in each watcher run, as long as it lasts. */
  id: string;
  brand: string;
  report: string;
  /** What is wrong, e.g. `2 days failed: 2026-11-18, 2026-11-19`. */
  what: string;
  /** The affected days; missing if there are none, and for a finding, which has its own day. */
  days?: readonly string[];
  /** Since when, as far as the lake shows it; missing: since a watcher run first saw it. */
  sinceMs?: number;
  /** It becomes a problem after so much time. */
  graceMs: number;
  /** One sentence. */
  why: string;
  remedy: Remedy;
  /**
   * Set for a finding, which is reported once and is not a problem. Findings with the same title are reported together; from
   * `untilMs` on, the end of a finding is no longer reported.
   */
  finding?: { title: string; day: string; untilMs: number };
  /** By which its days are judged. */
  settings?: SettingsName | undefined;
}

export interface OpenProblem extends Candidate {
  sinceMs: number;
}

export interface WatchedReport {
  table: TableStatus;
  policy: Policy;
  /** Selects the months whose days are judged: in all other months nothing is due by the report state. */
  isJudged: (month: string) => boolean;
}

/** A run may start or end so much later than its schedule. */
const LATE_RUN_MS = 2 * HOUR_MS;
/** A history may take so long to be read, newest day first; after that people should know. */
const HISTORY_MS = 3 * DAY_MS;
/** A large day may take several runs. */
const IN_PROGRESS_MS = DAY_MS;
/** The share of throttled requests in a run from which on it counts. */
const THROTTLED_SHARE = 0.1;
/** In a run with fewer requests, a share proves nothing. */
const THROTTLED_REQUESTS = 20;

export function candidatesOf(watched: WatchedReport, nowMs: number): Candidate[] {
  const { table, policy } = watched;
  const { lastRun } = table;
  const days = table.days.filter(({ dt }) => watched.isJudged(monthOf(dt)));
  const problems = problemsOf([{ ...table, days }], dayOf(nowMs, policy.timeZone));
  const candidates = [
    ...failedDays(problems, policy),
    ...otherDays(watched, problems, nowMs),
    ...(lastRun ? failedRun(lastRun, policy) : []),
    ...(lastRun ? throttledRun(lastRun, policy) : []),
    silence(lastRun, policy),
  ];
  const { brand, report } = table;
  return candidates.map(({ kind, ...candidate }) => ({
    id: `${brand} ${report} ${kind}`,
    brand,
    report,
    ...candidate,
  }));
}

/** The candidates that are problems. @param seen by id: when a watcher run first saw it, ISO 8601 */
export function openProblems(
  candidates: readonly Candidate[],
  seen: Readonly<Record<string, string>>,
  nowMs: number,
): OpenProblem[] {
  return candidates.flatMap((candidate) => {
    const { [candidate.id]: seenAt } = seen;
    const fromMs = candidate.sinceMs ?? (seenAt === undefined ? nowMs : Date.parse(seenAt));
    const sinceMs = Math.min(fromMs, nowMs);
    return nowMs - sinceMs >= candidate.graceMs ? [{ ...candidate, sinceMs }] : [];
  });
}

/** A candidate before the report's name is added. @property kind distinguishes it from other candidates of the report */
type NamelessCandidate = Omit<Candidate, 'id' | 'brand' | 'report'> & { kind: string };

/** One candidate for each error. Failures without an answer of the service are one candidate, because their codes vary. */
function failedDays(problems: readonly Problem[], policy: Policy): NamelessCandidate[] {
  const failed = problems.filter(({ state }) => state === 'failed').flatMap(({ days }) => days);
  const errorOf = ({ failure }: DayFacts) =>
    failure?.kind === 'transient' ? 'transient' : (failure?.code ?? 'unknown');
  return [...Map.groupBy(failed, errorOf)].flatMap(([error, days]) => {
    const failures = days.flatMap(({ failure }) => failure ?? []);
    const since = failures.flatMap(({ since }) => (since === undefined ? [] : Date.parse(since)));
    const [first] = failures;
    const isFirstTry = error === 'transient' && failures.every(({ times = 1 }) => times < 2);
    return candidateDays('failed', days, {
      kind: `failed ${error}`,
      ...(since.length > 0 && { sinceMs: Math.min(...since) }),
      graceMs: isFirstTry ? gracePeriodMs(policy) : 0,
      why: first ? `${first.kind} (${first.code}): ${first.message}` : 'the ledger has no reason',
      remedy: remedyOf('failed', first?.kind),
    });
  });
}

/**
 * The days in all other states. Days that were never read to their end are two candidates. The late days are those after
 * the newest day that was read, and yesterday, which every run reads first. The days before them are the history, which
 * takes time.
 */
function otherDays(
  { table, policy, isJudged }: WatchedReport,
  problems: readonly Problem[],
  nowMs: number,
): NamelessCandidate[] {
  const isRead = ({ dt, rows }: DayFacts) => rows !== null || !isJudged(monthOf(dt));
  const newestRead = table.days.findLast(isRead)?.dt ?? '';
  const yesterday = addDays(dayOf(nowMs, policy.timeZone), -1);
  const daysOf = (state: ProblemState) =>
    problems.filter((problem) => problem.state === state).flatMap(({ days }) => days);
  const graceMs = gracePeriodMs(policy);
  const isLate = ({ dt }: DayFacts) => dt > newestRead || dt === yesterday;
  const history = daysOf('missing').filter((day) => !isLate(day));
  const overdue = daysOf('overdue');
  const due = overdue.flatMap(({ nextDue }) => (nextDue === null ? [] : Date.parse(nextDue)));
  const why = 'no run has read them to their end';
  return [
    ...candidateDays('missing', daysOf('missing').filter(isLate), { why, graceMs }),
    ...candidateDays('missing', history, { ...HISTORY, graceMs: Math.max(graceMs, HISTORY_MS) }),
    // One candidate for each day: while a history is read, some day is always in progress, but a different one each hour.
    ...daysOf('in_progress').flatMap((day) =>
      candidateDays('in_progress', [day], {
        ...{ kind: `in_progress ${day.dt}`, what: 'in progress', why },
        graceMs: Math.max(graceMs, IN_PROGRESS_MS),
      }),
    ),
    ...candidateDays('overdue', overdue, {
      ...(due.length > 0 && { sinceMs: Math.min(...due) }),
      graceMs: 0,
      why: 'no run has read them again since they were due',
    }),
    ...candidateDays('unverified', daysOf('unverified'), {
      what: 'without a record',
      graceMs,
      why: 'the report has never returned a record',
    }),
  ];
}

const HISTORY = {
  kind: 'history',
  what: 'of the history not read yet',
  why: 'runs read the newest days first, as far as their time reaches',
  remedy: {
    sentence: 'Nothing, if the history is long: runs go on with it. To have it sooner, start a backfill',
  },
};

function candidateDays(
  state: ProblemState,
  days: readonly DayFacts[],
  candidate: Partial<NamelessCandidate> & Pick<NamelessCandidate, 'graceMs' | 'why'>,
): NamelessCandidate[] {
  if (days.length === 0) return [];
  const what = `${counted(days)} ${candidate.what ?? state}: ${rangesText(days)}`;
  const remedy = remedyOf(state, undefined);
  return [{ kind: state, remedy, ...candidate, what, days: days.map(({ dt }) => dt) }];
}

/** A run that failed although no day did: it could not begin. Failed days are problems of their own until they are read. */
function failedRun(
  { kind, code, message, at, since, failedDays }: LastRun,
  policy: Policy,
): NamelessCandidate[] {
  if (kind === undefined || failedDays > 0) return [];
  const isFirst = kind === 'transient' && at === since;
  return [
    {
      kind: `run failed ${kind}`,
      what: 'runs fail before they read a day',
      sinceMs: Date.parse(since),
      graceMs: isFirst ? gracePeriodMs(policy) : 0,
      why: `${kind} (${code}): ${message}`,
      remedy: remedyOfFailure(kind),
    },
  ];
}

function throttledRun({ requests, throttles }: LastRun, { maxGapMs }: Policy): NamelessCandidate[] {
  if (requests < THROTTLED_REQUESTS || throttles < THROTTLED_SHARE * requests) return [];
  return [
    {
      kind: 'throttled',
      what: 'runs are throttled',
      // One throttled run is not a problem yet: the next run has to be throttled too.
      graceMs: maxGapMs + LATE_RUN_MS,
      why: `the service answered ${throttles} of ${requests} requests of the last run with HTTP 429`,
      remedy: {
        sentence: 'Nothing is lost, but runs take longer. Lower the setting requestsPerSecond and deploy',
      },
    },
  ];
}

/** The time since the last run ended. It becomes a problem when it exceeds the schedule's interval. */
function silence(lastRun: LastRun | undefined, { maxGapMs }: Policy): NamelessCandidate {
  const sinceMs = lastRun && Date.parse(lastRun.at);
  return {
    // Two kinds, because a lost report state has no time: the problem begins when a watcher run first finds it so.
    kind: lastRun ? 'silent' : 'never_run',
    what: lastRun ? 'no further run has ended' : 'no run has ended yet',
    ...(sinceMs !== undefined && { sinceMs }),
    graceMs: maxGapMs + LAST_RUN_RENEWED_MS + LATE_RUN_MS,
    why: 'the schedule is off, every run dies before its end, or the clocks differ by more than a day',
    remedy: {
      sentence: 'Check that the schedule is on, and read the function’s log. To read the due days now',
      start: 'sync',
    },
  };
}

/*
 * Selects the findings that people are told about. A finding is not a problem: nobody has to act before a run can go on, and
 * some findings have a good reason, such as a campaign. So each finding is reported once for each day, and once more if a
 * later reading no longer has it. It is not repeated and raises no alarm. The table `coverage` and `status` show the rest:
 * findings of a history that is being read, of old days, and of content that another reading has to confirm first.
 */

/** Findings are reported for days, and for changes, of the last so many days. */
const REPORTED_DAYS = 14;

/** The earliest month with a day from which these findings follow, apart from days that changed later. */
export function firstComparedMonth(nowMs: number): string {
  return monthOf(addDays(dayOf(nowMs, 'UTC'), -(REPORTED_DAYS + COMPARED_DAYS)));
}
/** Findings that compare a day with its earlier state: for them the age of the change counts, not the age of the day. */
const OF_CHANGES = [
  ...['emptied', 'rows_fell', 'sum_fell', 'never_agrees', 'rows_kept', 'given_up'],
  // A field such as the time of a payment is first filled in records of an old day.
  'new_column',
];

export function findingCandidates(
  { table, isJudged }: Pick<WatchedReport, 'table' | 'isJudged'>,
  nowMs: number,
): Candidate[] {
  const { brand, report } = table;
  const days = table.days.filter(({ dt }) => isJudged(monthOf(dt)));
  return days.flatMap(({ dt, findings = [] }) =>
    findings.flatMap((finding) => {
      const { check, title, detail, advice, since, isCertain } = finding;
      const untilMs = reportedUntilMs(dt, finding);
      if (!isCertain || nowMs >= untilMs) return [];
      return [
        {
          id: `${brand} ${report} ${check} ${dt}`,
          ...{ brand, report },
          what: `${title}: ${dt}`,
          sinceMs: Date.parse(since),
          graceMs: 0,
          why: detail,
          remedy: { sentence: advice },
          finding: { title, day: dt, untilMs },
        },
      ];
    }),
  );
}

/**
 * The days of closed months that count something else since the close. The watcher has no SQL engine, so the message has the
 * query of what to book.
 */
export function closedMonthCandidates(
  { table, isJudged }: Pick<WatchedReport, 'table' | 'isJudged'>,
  closes: readonly Close[],
  nowMs: number,
): Candidate[] {
  const { brand, report } = table;
  const own = closes.filter((close) => close.brand === brand);
  return daysSinceClose(table, own).flatMap(({ dt, changes, readFrom }) => {
    const { at, added = 0, removed = 0, altered = 0 } = changes?.last ?? { at: readFrom };
    const sinceMs = Date.parse(at ?? '');
    const untilMs = sinceMs + REPORTED_DAYS * DAY_MS;
    if (!isJudged(monthOf(dt)) || !(nowMs < untilMs)) return [];
    const title = 'changed after its month was closed';
    const counts = `${added} records added, ${removed} removed, ${altered} altered`;
    return [
      {
        id: `${brand} ${report} since_close ${dt}`,
        ...{ brand, report, sinceMs, graceMs: 0, what: `${title}: ${dt}` },
        why: changes ? counts : 'it was first read after the close',
        remedy: {
          sentence: `What to book, by publisher and currency, in Athena or with brand-reports query: ${sinceCloseSql(brand).replaceAll('\n', ' ')}. The next statement has it too`,
        },
        finding: { title, day: dt, untilMs },
      },
    ];
  });
}

function reportedUntilMs(day: string, { check, since }: Finding): number {
  const fromMs = OF_CHANGES.includes(check) ? Date.parse(since) : Date.parse(`${day}T00:00:00Z`);
  return fromMs + REPORTED_DAYS * DAY_MS;
}

/** Joins findings for a message: one entry for all findings of a report that have the same title. */
export function reportedTogether(findings: readonly OpenProblem[]): OpenProblem[] {
  const byDay = findings.toSorted((a, b) => (dayOfFinding(a) < dayOfFinding(b) ? -1 : 1));
  const alike = Map.groupBy(byDay, ({ brand, report, finding }) => `${brand} ${report} ${finding?.title}`);
  return [...alike.values()].flatMap((same) => {
    const days = [...new Set(same.map(dayOfFinding))].map((dt) => ({ dt }));
    return same.slice(0, 1).map((first) => ({
      ...first,
      what: `${first.finding?.title} on ${counted(days)}: ${rangesText(days)}`,
      sinceMs: Math.min(...same.map(({ sinceMs }) => sinceMs)),
      why: same.map((finding) => `${dayOfFinding(finding)}: ${finding.why}`).join('; '),
    }));
  });
}

function dayOfFinding({ finding }: OpenProblem): string {
  return finding?.day ?? '';
}
