/*
 * Selects the findings that people are told about. A finding is not a problem: nobody has to act before a run can go on, and
 * some findings have a good reason, such as a campaign. So each finding is reported once for each day, and once more if a
 * later reading no longer has it. It is not repeated and raises no alarm. The table `coverage` and `status` show the rest:
 * findings of a history that is being read, of old days, and of content that another reading has to confirm first.
 */
import { DAY_MS, addDays, dayOf, monthOf } from '../days.ts';
import { counted, rangesText } from '../status/problems.ts';
import { COMPARED_DAYS, type Finding } from '../findings/index.ts';
import {
  type OpenProblem,
  type Candidate,
  type WatchedReport,
} from './open-problems.ts';

/** Findings are reported for days, and for changes, of the last so many days. */
const REPORTED_DAYS = 14;

/** The earliest month with a day from which these findings follow, apart from days that changed later. */
export function firstComparedMonth(nowMs: number): string {
  return monthOf(addDays(dayOf(nowMs, 'UTC'), -(REPORTED_DAYS + COMPARED_DAYS)));
}
/** Findings that compare a day with its earlier state: for them the age of the change counts, not the age of the day. */
const OF_CHANGES = [
  ...['emptied', 'rows_fell', 'sum_fell', 'never_agrees', 'rows_kept', 'given_up'],
  // A day is usually older than a month when its orders are paid.
  ...['reversed_after_paid', 'paid_without_locked', 'currency_changed'],
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
