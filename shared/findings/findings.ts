/*
 * Findings are oddities in a day that was read without an error. Without them, a service that loses half of a day would be
 * copied faithfully, and only a reader of the numbers would notice. A finding keeps nothing from being published: it is shown
 * in `coverage` and `status`, and the watcher reports it once. All functions are pure and use the ledgers only. They compare
 * a day with its earlier reading and with the same weekday of the weeks before. Only days that were read whole after their
 * end are judged.
 */
import { isDeepStrictEqual } from 'node:util';
import { addDays, monthOf } from '../base/days.ts';
import { amountText } from '../base/exact-number.ts';
import { type Committed, type DayEntry, type Ledger, fewerRead } from '../lake/ledger.ts';
import { lastRequested } from '../planning/due.ts';
import type { ReportDefinition } from '../reports/definition.ts';
import { commissionOf, totalsOf, unreadableAmounts, unreadableText } from '../lake/totals.ts';
import { type FieldFacts, WEEKS, fieldFindings } from './field-findings.ts';
import { type StateRules, unknownStates } from '../planning/states.ts';
import { MAX_CONTRADICTIONS, settledBy } from '../planning/transitions.ts';

export interface Finding {
  check: string;
  /** The oddity in a few words, followed by the days in messages: `rows fell`. */
  title: string;
  /** The figures of this day: `120 rows before, 60 now`. */
  detail: string;
  /** What to do about it, in one sentence without its full stop. */
  advice: string;
  since: string;
  /** `false` if another reading has to confirm the content first. */
  isCertain: boolean;
}

export interface FindingFacts extends FieldFacts {
  report: Pick<ReportDefinition, 'name' | 'day'>;
  /** Missing if the report is not enabled. */
  policy: StateRules | undefined;
}

const MAX_UNKNOWN = 10;
const MAX_SHOWN = 60;

const COMMON = {
  rows_fell: {
    title: 'rows fell',
    advice: 'Compare the day with the dashboard. If the service has lost records, inform its operator',
  },
  sum_fell: {
    title: 'the sum of commission fell',
    advice: 'Compare the day with the dashboard: cancelled or corrected orders explain it',
  },
  lookups_given_up: {
    title: 'lookups refused at every try',
    advice: 'Ask the operator of the service why it refuses them, then read the day again by its date',
  },
  clicks_without_detail: {
    title: 'clicks without a detail that the service did not refuse',
    advice: 'Ask the service for one of them by hand. If it has the detail, read the day again by its date',
  },
  never_agrees: {
    title: 'no two readings agree',
    advice: 'Report the field that brand-reports diff shows to the operator of the service',
  },
  came_back_empty: {
    title: 'the service has no records of the day any more',
    advice:
      'The day keeps its rows. Nothing is to be done if the service forgets old records. Otherwise, if the dashboard has no records either, read the day again with --accept-fewer',
  },
  rows_kept: {
    title: 'the service has fewer records than the day',
    advice:
      'Nothing is to be done if the service forgets old records. If it is right, read the day again with --accept-fewer',
  },
  given_up: {
    title: 'not confirmed by its last readings',
    advice: 'Compare the day with the dashboard; to read it again, use --from and --to',
  },
  zone_seam: {
    title: 'another time zone than the day before',
    advice: 'Hours between the zones are in both days or in neither: read the earlier days by their dates',
  },
  key_unused: {
    title: 'the setting "key" does not identify every record',
    advice: 'Set "key" to the fields that are different in every record, then rebuild the day',
  },
  unknown_states: {
    title: 'states that the interface does not define',
    advice:
      'Views count them as neither void nor paid. Map each to new, mixed, locked, void, effective or paid',
  },
  unreadable_amounts: {
    title: 'values that are no amounts',
    advice: 'Views have NULL, and close refuses the month: ask the operator for numbers such as 1500.25',
  },
  new_column: {
    title: 'new columns',
    advice: 'Nothing is to be done; the setting "columns" can name other types',
  },
  emptied_column: {
    title: 'columns without a value that had values before',
    advice: 'Ask the operator of the service whether their fields were renamed: queries find NULL in them',
  },
  history_anew: {
    title: 'what the day was before is no longer known',
    advice:
      'Find a field that differs in every response with brand-reports diff, and report it; otherwise run brand-reports verify',
  },
  unusual_rows: {
    title: 'unusual number of rows for the weekday',
    advice: 'If no campaign or outage of the shop explains it, compare the day with the dashboard',
  },
} as const;

export function entriesIn(ledgers: ReadonlyMap<string, Pick<Ledger, 'days'>>): FindingFacts['entryOn'] {
  return (day) => ledgers.get(monthOf(day))?.days[day];
}

export function findingsOf(facts: FindingFacts): Finding[] {
  const { day, report, entryOn, policy } = facts;
  const entry = entryOn(day) ?? {};
  const { committed } = entry;
  if (!committed) return [];
  const since = committed.committedAt ?? committed.readFrom;
  const odd = (check: keyof typeof COMMON, detail: string, more: Partial<Finding> = {}): Finding => ({
    ...{ check, ...COMMON[check], detail, since, isCertain: true, ...more },
  });
  const end = endOf(committed, fewerRead(entry)).map(({ check, detail, at }) =>
    odd(check, detail, { since: at ?? since }),
  );
  if (committed.state === 'open') return end;
  const { refusedLookups: lookups, comparedWith: before } = committed;
  const { count: refused = 0, empty = 0 } = lookups?.retryAt === undefined ? { ...lookups } : {};
  const isCertain = committed.state !== 'unconfirmed';
  const sum = totalsOf(committed, facts.roles) === 'pending' ? undefined : commissionOf(committed.values);
  const falls = before ? fallsBelow(before, committed, sum) : [];
  // Rows that fell are usually also far from the usual number: report only one of the two.
  const hasFewerRows = falls.some(({ check }) => check === 'rows_fell');
  const unusual = hasFewerRows ? [] : unusualRows(day, committed, entryOn);
  return [
    ...falls.map(({ check, detail }) => odd(check, detail, { since: before?.at ?? since, isCertain })),
    ...unusual.map((detail) => odd('unusual_rows', detail, { isCertain })),
    ...(refused > 0 ? [odd('lookups_given_up', String(refused))] : []),
    ...(empty > 0 ? [odd('clicks_without_detail', String(empty))] : []),
    ...end,
    ...zoneSeam(day, committed, report, entryOn).map((detail) => odd('zone_seam', detail)),
    ...fieldFindings(facts).map(({ check, detail, since: at }) =>
      odd(check, detail, { since: at, isCertain }),
    ),
    ...begunAnew(committed).map(({ detail, at }) => odd('history_anew', detail, { since: at })),
    ...strangeStates(committed, report.name, policy).map(({ detail, advice }) =>
      odd('unknown_states', detail, { advice, isCertain }),
    ),
    ...unreadable(committed, facts).map(({ detail, advice }) =>
      odd('unreadable_amounts', detail, { advice, isCertain }),
    ),
    ...(committed.values?.keyUnused === undefined ? [] : [odd('key_unused', committed.values.keyUnused)]),
  ];
}

function strangeStates(
  { values }: Committed,
  report: string,
  rules: StateRules = { fields: {}, words: {} },
): Pick<Finding, 'detail' | 'advice'>[] {
  const unknown = [...unknownStates(values, rules)].slice(0, MAX_UNKNOWN);
  const [first] = unknown;
  if (!first) return [];
  return [
    {
      detail: unknown
        .map(([word, rows]) => `${JSON.stringify(word.slice(0, MAX_SHOWN))} in ${rows} rows`)
        .join(', '),
      advice: `${COMMON.unknown_states.advice}: "states": { "words": { ${JSON.stringify(first[0])}: "void" } } in ${report} of the brand`,
    },
  ];
}

/** Amounts that cannot be read. If they are objects, a path leads to the numbers in them. */
function unreadable(committed: Committed, facts: FindingFacts): Pick<Finding, 'detail' | 'advice'>[] {
  const found = unreadableAmounts(committed, facts).filter(({ isRead }) => isRead);
  const object = found.find(({ example }) => example?.startsWith('{'));
  const { role = '', column = '' } = object ?? {};
  const advice = object
    ? `Views have NULL for them, and close refuses the month. Name the number in the object, for example "fields": { "${role}": "${column}.value" } in ${facts.report.name} of the brand`
    : COMMON.unreadable_amounts.advice;
  return found.length === 0 ? [] : [{ detail: found.map(unreadableText).join(', '), advice }];
}

function begunAnew({ history }: Committed): { detail: string; at: string }[] {
  const { anewWhy: detail, anewBy: at } = history ?? {};
  return detail === undefined || at === undefined ? [] : [{ detail, at }];
}

const ABOUT_THE_END = ['came_back_empty', 'rows_kept', 'given_up', 'never_agrees'] as const;

/** Why the last readings differ from the day's version, or are not believed; at most one cause is reported. */
function endOf(
  { rows, state, contradictions = 0 }: Committed,
  fewer: DayEntry['disregarded'],
): { check: (typeof ABOUT_THE_END)[number]; detail: string; at?: string }[] {
  const inRow = `${contradictions} in a row failed or differed`;
  if (fewer) {
    const check = fewer.rows === 0 ? 'came_back_empty' : 'rows_kept';
    return [{ check, detail: `${rowsText(rows)}, ${fewer.rows} now`, at: fewer.at }];
  }
  if (state === 'settled' && settledBy({ contradictions }) === 'given_up')
    return [{ check: 'given_up', detail: inRow }];
  const isDoubted = state !== 'settled' && state !== 'open' && contradictions >= MAX_CONTRADICTIONS;
  return isDoubted ? [{ check: 'never_agrees', detail: inRow }] : [];
}

/**
 * Finds a day in another time zone than the day before, if no reading will change that. Either one of the two is settled, or
 * both were last read with the same settings, so that a version stayed in its zone. For a report that is requested by date,
 * our setting does not change what the dates mean, so its days meet in any zone.
 */
function zoneSeam(
  day: string,
  committed: Committed,
  report: FindingFacts['report'],
  entryOn: FindingFacts['entryOn'],
): string[] {
  const { committed: before, disregarded } = entryOn(addDays(day, -1)) ?? {};
  const { timeZone } = committed;
  if (before?.timeZone === undefined || timeZone === undefined || before.timeZone === timeZone) return [];
  const isSettled = [before, committed].some(({ state }) => state === 'settled');
  const settings = lastRequested(before, disregarded).queryFingerprint;
  const own = lastRequested(committed, entryOn(day)?.disregarded).queryFingerprint;
  if (report.day.by === 'dates' || !(isSettled || settings === own)) return [];
  return [`${before.timeZone} before, ${timeZone} now`];
}

/** `rows_fell (120 rows before, 60 now); unreadable_amounts (3)`; `null` without findings. */
export function findingsText(findings: readonly Finding[]): string | null {
  if (findings.length === 0) return null;
  return findings.map(({ check, detail }) => `${check} (${detail})`).join('; ');
}

/** A tenth of a day's orders may be cancelled at once; a service that loses records loses more. */
const MAX_FALL_PERCENT = 20;
/** A loss of fewer rows is not a fall: if one of three orders is cancelled, that proves nothing. */
const MIN_ROWS_LOST = 10;
/** A sum of fewer rows depends on single rows. */
const MIN_ROWS_OF_SUM = 20;

type Compared = NonNullable<Committed['comparedWith']>;
type Reading = Pick<Committed, 'rows' | 'values'>;
interface Fall {
  check: 'rows_fell' | 'sum_fell';
  detail: string;
}

function fallsBelow(
  before: Pick<Compared, 'rows' | 'sum'>,
  { rows, values }: Reading,
  sum: string | undefined,
): Fall[] {
  const share = 1 - MAX_FALL_PERCENT / 100;
  const falls: Fall[] = [];
  if (rows < before.rows * share && before.rows - rows >= MIN_ROWS_LOST)
    falls.push({ check: 'rows_fell', detail: `${rowsText(before.rows)} before, ${rows} now` });
  const sumBefore = Number(before.sum ?? 0);
  if (sum !== undefined && sumBefore > 0 && Number(sum) < sumBefore * share && before.rows >= MIN_ROWS_OF_SUM)
    falls.push({
      check: 'sum_fell',
      detail: `${amountText(before.sum ?? '')} before, ${amountText(sum)} now${inCurrency(values)}`,
    });
  return falls;
}

function rowsText(rows: number): string {
  return rows === 1 ? '1 row' : `${rows} rows`;
}

function inCurrency(values: Reading['values']): string {
  const [currency = ''] = Object.keys(values?.totals?.byCurrency ?? {});
  return currency === '' ? '' : `, in ${currency}`;
}

const MIN_WEEKS = 4;
/** A smaller difference is not reported, nor a weekday that usually has fewer rows: a brand may have only begun. */
const MIN_ROWS_APART = 20;
/** A weekday may have half or twice its usual rows. */
const MIN_FACTOR = 2;
/** A weekday may deviate by so many usual deviations; for a normal distribution that is four standard deviations. */
const DEVIATIONS = 6;
/** One week in so many may be an exception; more frequent deviations are usual. */
const WEEKS_PER_EXCEPTION = 6;
/** A weekday may deviate so many times as far as the farthest week: a slightly larger deviation is not reported. */
const BEYOND_FARTHEST = 1.5;

/**
 * Whether a day has far more or fewer rows than the same weekday in the weeks before it. Days are compared by their ratio:
 * a busy brand varies by more rows than a small brand, and an outage cannot take more rows than there are.
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
 * The figures with which a reading is compared. A day that fell stays compared with its figures before the fall until it is
 * back, however often it is read. Otherwise the next reading, which finds one row more, would hide the loss.
 */
export function comparedWith(
  before: Committed | undefined,
  reading: Reading & Pick<Committed, 'queryFingerprint'> & { unchanged: boolean; at: string },
): Compared | undefined {
  // Other queries, e.g. with a filter, return other rows.
  if (before?.queryFingerprint !== reading.queryFingerprint) return undefined;
  const { rows, values, comparedWith: figures } = before;
  // Sums of other fields cannot be compared.
  const isSameSum = isDeepStrictEqual(values?.totals?.fields, reading.values?.totals?.fields);
  const earlier = figures && { ...figures, ...(!isSameSum && { sum: undefined }) };
  const hasFallen = (now: Reading) =>
    earlier && fallsBelow(earlier, now, commissionOf(now.values)).length > 0;
  const stays = reading.unchanged || (hasFallen(before) && hasFallen(reading));
  const sum = isSameSum ? commissionOf(values) : undefined;
  return stays ? earlier : { rows, ...(sum !== undefined && { sum }), at: reading.at };
}
