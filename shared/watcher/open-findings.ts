/*
 * Which findings people are told of. A finding is no problem: nobody has to act before a run can go on, and some are right,
 * such as a campaign. So each is told once, by day, and once more where a later reading no longer has it; it is not
 * repeated, and raises no alarm. The rest is for `coverage` and `status`: findings of a history that is being read, of
 * old days, and of content that another reading has to confirm first.
 */
import { DAY_MS, addDays, dayOf, monthOf } from '../days.ts';
import { COMPARED_DAYS, type Finding } from '../findings/index.ts';
import {
  type OpenProblem,
  type Candidate,
  type ReportedFinding,
  type WatchedReport,
  counted,
  rangesText,
} from './open-problems.ts';

/** Findings are told of days, and of changes, that are not older. */
const TOLD_DAYS = 14;

/** The earliest month with a day that these findings follow from, beside those that changed later. */
export function firstComparedMonth(nowMs: number): string {
  return monthOf(addDays(dayOf(nowMs, 'UTC'), -(TOLD_DAYS + COMPARED_DAYS)));
}
/** Those that compare a day with what it was before: of these it counts when the change came, not how old the day is. */
const OF_CHANGES = [
  ...['emptied', 'rows_fell', 'sum_fell', 'never_agrees', 'rows_kept', 'given_up'],
  // Of a day that is mostly older than a month when it is paid.
  ...['reversed_after_paid', 'paid_without_locked', 'currency_changed'],
];

/** The findings of which people are to be told. */
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
          finding: { title, day: dt, detail, untilMs },
        },
      ];
    }),
  );
}

function reportedUntilMs(day: string, { check, since }: Finding): number {
  const fromMs = OF_CHANGES.includes(check) ? Date.parse(since) : Date.parse(`${day}T00:00:00Z`);
  return fromMs + TOLD_DAYS * DAY_MS;
}

/** How a message puts findings: one entry for those of a report with one title. */
export function reportedTogether(findings: readonly OpenProblem[]): OpenProblem[] {
  const alike = Map.groupBy(findings, ({ brand, report, finding }) => `${brand} ${report} ${finding?.title}`);
  return [...alike.values()].flatMap((same) => {
    const told = same.flatMap(({ finding }) => finding ?? []).sort((a, b) => (a.day < b.day ? -1 : 1));
    const [first] = same;
    if (!first) return [];
    return [
      {
        ...first,
        what: titleText(told),
        sinceMs: Math.min(...same.map(({ sinceMs }) => sinceMs)),
        why: daysText(told),
      },
    ];
  });
}

function titleText(told: readonly ReportedFinding[]): string {
  const days = [...new Set(told.map(({ day }) => day))].map((dt) => ({ dt }));
  return `${told[0]?.title} on ${counted(days)}: ${rangesText(days)}`;
}

function daysText(told: readonly ReportedFinding[]): string {
  return told.map(({ day, detail }) => `${day}: ${detail}`).join('; ');
}
