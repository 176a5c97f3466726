/*
 * What looks odd in a day that was read without an error. Without it a service that loses half of a day would be copied
 * faithfully, and the first to notice would be whoever reads the numbers. A finding keeps nothing from being published:
 * it stands in `coverage` and `status`, and the watcher tells of it once. Everything here is pure, and follows from the
 * ledgers: how a day compares with what it was before, with the same weekday of the weeks before it, and what its checks
 * have counted (`findings/data-checks.ts` makes them). Only days that were read whole after their end are judged.
 */
import { addDays, monthOf } from '../days.ts';
import { type Committed, type DayEntry, type Ledger, withoutFuture } from '../lake/documents/ledger.ts';
import type { Check, ReportDefinition } from '../reports/definition.ts';
import { isMeasured, measured } from '../lake/documents/role-evidence.ts';
import { roleFindings } from './role-findings.ts';
import type { RoleFields } from '../roles/index.ts';
import type { Policy } from '../planning/due.ts';
import { MAX_CONTRADICTIONS, settledBy } from '../planning/transitions.ts';

/** Something odd about a day that is complete. */
export interface Finding {
  /** The name of one of the report's checks, or of one that every report has. */
  check: string;
  /** What is odd, to be followed by the days: `rows fell`. */
  title: string;
  /** Of this day: `120 rows before, 60 now`. */
  detail: string;
  /** What to do about it, in one sentence without its full stop. */
  advice: string;
  /** Since when the day has the content that it is found in, ISO 8601. */
  since: string;
  /** False where another reading has to agree before the content is believed. */
  isCertain: boolean;
}

/** What the findings of a day follow from. */
export interface FindingFacts {
  day: string;
  report: Pick<ReportDefinition, 'name' | 'checks' | 'measure' | 'day'>;
  /** By role its field, as far as that is decided. */
  roles?: RoleFields;
  /** The ledger's entry of any day of the report, this one included; `undefined` where it is not known. */
  entryOn: (day: string) => DayEntry | undefined;
  /** Missing where the report is not enabled: then nothing says how far rows may fall. */
  policy: Pick<Policy, 'fallPercent' | 'words'> | undefined;
}

const COMMON = {
  emptied: {
    title: 'no record any more',
    advice:
      'Look into the dashboard of the brand. Where it has records of the day, read the day again by its date',
  },
  rows_fell: {
    title: 'rows fell',
    advice:
      'Compare the day with the dashboard of the brand. Where the service has lost records, tell its operator: later readings bring them back by themselves',
  },
  sum_fell: {
    title: 'the sum fell',
    advice:
      'Compare the day with the dashboard of the brand. Nothing is to be done where orders were cancelled or corrected',
  },
  lookups_given_up: {
    title: 'lookups refused at every try',
    advice:
      'Ask the operator of the service why it refuses them. Where it answers them again, read the day again by its date',
  },
  never_agrees: {
    title: 'no two readings agree',
    advice:
      'brand-reports diff shows the field that differs in every answer: tell the operator of the service. The day has the last answer, and is read again as the refresh policy says',
  },
  rows_kept: {
    title: 'the service has fewer records than the day',
    advice:
      'Nothing is to be done where the service keeps its records only so long. If it is right, read the day again with --accept-fewer',
  },
  given_up: {
    title: 'not confirmed by its last readings',
    advice:
      'The day keeps what was read before, and is not read again. Compare it with the dashboard of the brand; to read it again, name its dates',
  },
  zone_seam: {
    title: 'another time zone than the day before',
    advice:
      'Settled days stay in the time zone in which they were read, so hours between the two zones are in both days or in neither. To have the days before in the new zone too, read them again by their dates',
  },
  unusual_rows: {
    title: 'rows far from what is usual for the weekday',
    advice:
      'Nothing is to be done where a campaign or an outage of the shop explains it. Otherwise compare the day with the dashboard of the brand',
  },
} as const;

/** The days of these ledgers, by month. A reading that a clock ahead has dated in the future counts as missing. */
export function entriesIn(ledgers: ReadonlyMap<string, Pick<Ledger, 'days'>>): FindingFacts['entryOn'] {
  return (day) => {
    const entry = ledgers.get(monthOf(day))?.days[day];
    return entry && withoutFuture(entry);
  };
}

/** What is odd about a day. @returns nothing for a day that is open, or not read */
export function findingsOf({ day, report, entryOn, policy, roles = {} }: FindingFacts): Finding[] {
  const { committed, disregarded } = entryOn(day) ?? {};
  if (!committed || committed.state === 'open') return [];
  const since = committed.committedAt ?? committed.readFrom;
  const { before } = committed.checks ?? {};
  const isCertain = committed.state !== 'unconfirmed';
  const falls = before && policy ? fallsBelow(before, committed, report.measure, policy.fallPercent) : [];
  // Rows that fell are far from what is usual as well: people are told of one thing once.
  const hasFewerRows = falls.some(({ check }) => check !== 'sum_fell');
  const unusual = hasFewerRows ? [] : unusualRows(day, committed, entryOn);
  return [
    ...falls.map(({ check, detail }) => ({
      ...{ check, ...COMMON[check], detail, since: before?.at ?? since, isCertain },
      ...(check === 'sum_fell' && { title: `the sum of ${report.measure} fell` }),
    })),
    ...unusual.map((detail) => ({
      ...{ check: 'unusual_rows', ...COMMON.unusual_rows, detail, since, isCertain },
    })),
    ...givenUpLookups(committed).map((detail) => ({
      ...{ check: 'lookups_given_up', ...COMMON.lookups_given_up, detail, since, isCertain: true },
    })),
    ...endOf(committed, disregarded).map(({ check, detail, at = since }) => ({
      ...{ check, ...COMMON[check], detail, since: at, isCertain: true },
    })),
    ...zoneSeam(day, committed, report, entryOn).map((detail) => ({
      ...{ check: 'zone_seam', ...COMMON.zone_seam, detail, since, isCertain: true },
    })),
    ...roleFindings(committed.values, report.name, roles, policy?.words ?? {}).map((found) => ({
      ...{ ...found, since, isCertain },
    })),
    ...report.checks.flatMap(({ name, counts, advice }: Check) => {
      const count = committed.checks?.findings?.[name] ?? 0;
      if (count === 0) return [];
      return [{ check: name, title: counts, detail: String(count), advice, since, isCertain: true }];
    }),
  ];
}

/** Of a day whose lookups no run repeats any more. */
function givenUpLookups({ refusedLookups }: Committed): string[] {
  if (!refusedLookups || refusedLookups.retryAt !== undefined) return [];
  return [String(refusedLookups.count)];
}

/** Why the last readings are not what the day has, or are not believed: people are told of one cause. */
function endOf(
  { rows, state, contradictions = 0 }: Committed,
  disregarded: DayEntry['disregarded'],
): { check: 'rows_kept' | 'given_up' | 'never_agrees'; detail: string; at?: string }[] {
  const inRow = `${contradictions} in a row failed or differed`;
  if (disregarded && disregarded.rows < rows)
    return [{ check: 'rows_kept', detail: `${rowsText(rows)}, ${disregarded.rows} now`, at: disregarded.at }];
  if (state === 'settled' && settledBy({ contradictions }) === 'given_up')
    return [{ check: 'given_up', detail: inRow }];
  const isDoubted = state !== 'settled' && contradictions >= MAX_CONTRADICTIONS;
  return isDoubted ? [{ check: 'never_agrees', detail: inRow }] : [];
}

/**
 * Of the first day in another time zone than the day before, which is settled and so stays in its own. What the dates of a
 * query mean follows from no setting of ours: such days meet in any zone.
 */
function zoneSeam(
  day: string,
  { timeZone }: Committed,
  report: FindingFacts['report'],
  entryOn: FindingFacts['entryOn'],
): string[] {
  const before = entryOn(addDays(day, -1))?.committed;
  const isKnown = before?.state === 'settled' && before.timeZone !== undefined && timeZone !== undefined;
  if (!isKnown || before.timeZone === timeZone || report.day.by === 'dates') return [];
  return [`${before.timeZone} before, ${timeZone} now`];
}

/** `rows_fell (120 rows before, 60 now); click_differs (3)`; `null` for none. */
export function findingsText(findings: readonly Finding[]): string | null {
  if (findings.length === 0) return null;
  return findings.map(({ check, detail }) => `${check} (${detail})`).join('; ');
}

/** Fewer rows than these are no fall: three orders of which one is cancelled say nothing. */
const MIN_ROWS_LOST = 10;
/** A sum of fewer rows than these depends on single ones. */
const MIN_ROWS_OF_SUM = 20;

type Checks = NonNullable<Committed['checks']>;
type Before = NonNullable<Checks['before']>;
type Reading = Pick<Committed, 'rows' | 'values'>;
interface Fall {
  check: 'emptied' | 'rows_fell' | 'sum_fell';
  detail: string;
}

function fallsBelow(
  before: Pick<Before, 'rows' | 'sum'>,
  { rows, values }: Reading,
  measure: string | undefined,
  percent: number,
): Fall[] {
  const share = 1 - percent / 100;
  if (rows === 0 && before.rows > 0) return [{ check: 'emptied', detail: `${rowsText(before.rows)} before` }];
  const falls: Fall[] = [];
  if (rows < before.rows * share && before.rows - rows >= MIN_ROWS_LOST)
    falls.push({ check: 'rows_fell', detail: `${rowsText(before.rows)} before, ${rows} now` });
  const sum = measured(values, measure) ?? '0';
  const sumBefore = Number(before.sum ?? 0);
  if (
    isMeasured(values, measure) &&
    sumBefore > 0 &&
    Number(sum) < sumBefore * share &&
    before.rows >= MIN_ROWS_OF_SUM
  )
    falls.push({ check: 'sum_fell', detail: `${sumText(before.sum ?? '')} before, ${sumText(sum)} now` });
  return falls;
}

function rowsText(rows: number): string {
  return rows === 1 ? '1 row' : `${rows} rows`;
}

/** Without the zeros that a decimal has behind its last place. */
function sumText(sum: string): string {
  return sum.includes('.') ? sum.replace(/\.?0+$/, '') : sum;
}

/** A week more or less says little of a weekday. */
const WEEKS = 8;
const MIN_WEEKS = 4;
/** So many days before it a day is compared with. */
export const COMPARED_DAYS = 7 * WEEKS;
/** A difference of fewer rows is none, and a weekday that usually has fewer says nothing: a brand may have only begun. */
const MIN_ROWS_APART = 20;
/** A weekday may have half as much as usual, or twice as much. */
const MIN_FACTOR = 2;
/** How many times its usual deviation a weekday may deviate: where days vary like a bell curve, four standard deviations. */
const DEVIATIONS = 6;
/** Of so many weeks one may be an exception; what comes more often is usual. */
const WEEKS_PER_EXCEPTION = 6;
/** How many times the farthest of the weeks: a little more than ever before is no news. */
const BEYOND_FARTHEST = 1.5;

/**
 * Whether a day has far more or fewer rows than the same weekday in the weeks before it. Days are compared by their
 * ratio, because a busy brand varies by more rows than a small one, and an outage can take no more rows than there are.
 */
function unusualRows(
  day: string,
  { rows }: Pick<Committed, 'rows'>,
  entryOn: FindingFacts['entryOn'],
): string[] {
  const weeks = Array.from({ length: WEEKS }, (_, week) => entryOn(addDays(day, -7 * (week + 1))));
  const known = weeks.flatMap(({ committed } = {}) =>
    committed && committed.state !== 'open' ? [committed.rows] : [],
  );
  if (known.length < MIN_WEEKS) return [];
  const usual = median(known);
  if (usual < MIN_ROWS_APART || Math.abs(rows - usual) < MIN_ROWS_APART) return [];
  const apart = (other: number) => Math.abs(Math.log((other + 1) / (usual + 1)));
  const deviations = known.map(apart).sort((a, b) => b - a);
  const [farthest = 0] = deviations.slice(Math.floor(known.length / WEEKS_PER_EXCEPTION));
  const bound = Math.max(Math.log(MIN_FACTOR), DEVIATIONS * median(deviations), BEYOND_FARTHEST * farthest);
  return apart(rows) > bound ? [`${rowsText(rows)}, usual are about ${Math.round(usual)}`] : [];
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low = 0, high = low] = sorted.slice(Math.ceil(middle) - 1, Math.floor(middle) + 1);
  return (low + high) / 2;
}

/**
 * What a reading takes over from the one before it: what it is compared with, and what the checks have counted, which
 * holds until they are made again. A day that fell stays compared with what it was before, however often it is read,
 * until it is back: otherwise the next reading, which finds one row more, would hide the loss.
 */
export function carriedChecks(
  before: Committed | undefined,
  reading: Reading & Pick<Committed, 'queryFingerprint'> & { unchanged: boolean; at: string },
  measure: string | undefined,
  percent: number,
): Checks | undefined {
  // Other queries, e.g. with a filter, have other rows.
  if (before?.queryFingerprint !== reading.queryFingerprint) return undefined;
  const { rows, state, values, checks } = before;
  const earlier = checks?.before;
  const hasFallen = (now: Reading) => earlier && fallsBelow(earlier, now, measure, percent).length > 0;
  const stays = reading.unchanged || (hasFallen(before) && hasFallen(reading));
  const sum = measured(values, measure);
  const compared = stays ? earlier : { rows, state, ...(sum !== undefined && { sum }), at: reading.at };
  return { ...checks, ...(compared && { before: compared }) };
}

/** Whether what is committed has only now come to have this finding: it is logged then, and not with every reading. */
export function isNewFinding({ check }: Finding, facts: FindingFacts): boolean {
  const { checks, readFrom } = facts.entryOn(facts.day)?.committed ?? {};
  const { before } = checks ?? {};
  if (!before || check === 'never_agrees' || check === 'given_up' || check === 'rows_kept') return true;
  if (check === 'zone_seam') return before.state === 'open';
  if (check !== 'unusual_rows') return before.at === readFrom;
  return before.state === 'open' || unusualRows(facts.day, before, facts.entryOn).length === 0;
}
