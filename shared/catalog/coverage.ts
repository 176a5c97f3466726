/*
 * Writes `coverage`: one row per day, from the ledgers alone (`ledger-tables.ts`), with the facts of `day-facts.ts`.
 * Without it, a query of a sum in Athena could not find out which of its days are present. A row is as old as the run
 * that wrote it, so a condition that must hold when the pipeline is dead compares `overdue_at` with the current time
 * (`STATE_NOW_SQL`).
 */
import { columnsOf } from '../lake/described-columns.ts';
import { undamaged } from '../lake/cas-document.ts';
import type { Row } from '../table/columns.ts';
import { monthOf } from '../base/days.ts';
import { endOfAge } from '../history/index.ts';
import type { DayEntry, Ledger } from '../lake/ledger.ts';
import { COVERAGE_TABLE } from '../lake/paths.ts';
import type { TableShape } from '../ports.ts';
import { type ReportDays, dayFacts } from '../day/day-facts.ts';
import { isExpected } from '../planning/day-state.ts';
import type { BrandReport } from '../context/context.ts';
import { findingFacts, findingsText } from '../findings/index.ts';
import { NOW_SQL } from '../reports/views/view-sql.ts';
import { areSame, writeLedgerTable } from './ledger-tables.ts';

const KEPT_AGES = [30, 60, 90] as const;

const COLUMNS = columnsOf([
  ['report', 'string', 'The report, e.g. order_list'],
  ['month', 'string', 'The month of the day, YYYY-MM'],
  ['dt', 'string', "The day in the brand's time zone, YYYY-MM-DD"],
  ['state', 'string', 'The state of the day when the row was written, e.g. complete, settled or failed'],
  ['committed_state', 'string', 'The state of the published version, e.g. open or complete; NULL: none'],
  ['rows', 'bigint', 'The rows of the published version'],
  ['pages', 'bigint', 'The pages of the reading that made the version'],
  ['refused_lookups', 'bigint', 'Clicks whose latest detail request the service refused'],
  ['digest', 'string', 'A hash of the content of the version'],
  ['read_from', 'timestamp', 'When the reading of the version began'],
  ['read_to', 'timestamp', 'Up to when the version has every record'],
  ['failed_since', 'timestamp', 'Since when every reading has failed; NULL: the last one succeeded'],
  ['failure', 'string', 'Why the last reading failed, and what to do'],
  ['next_due', 'timestamp', 'When the day is due next; NULL: no further reading is planned'],
  ['overdue_at', 'timestamp', 'From when on the day counts as overdue'],
  ['findings', 'string', 'The findings of the day, e.g. rows_fell (120 rows before, 60 now); NULL: none'],
  ['time_zone', 'string', 'The time zone in which the day was read'],
  ['start_date', 'string', 'The setting startDate at the last run'],
  ['first_committed_at', 'timestamp', 'When the first version of the day was committed'],
  ['first_after', 'timestamp', 'When the reading began that first closed the day; NULL: open or restored'],
  ['first_by', 'timestamp', 'When the reading ended that first closed the day; NULL: the day is open'],
  ['key', 'string', 'The columns that identify a record among the changes of the day; NULL or empty: none'],
  ['place', 'bigint', 'How many changes the day has had since it was first closed; NULL: the day is open'],
  ['anew_place', 'bigint', 'The change with which history began anew: what was before is not known'],
  ['anew_by', 'timestamp', 'From when on the past of the day is known, if its history began anew'],
  ...KEPT_AGES.map(
    (age) =>
      [`age_${age}`, 'timestamp', `The end of the ${age}th day after the day; NULL: not known`] as const,
  ),
]);

export const coverageTable: TableShape = {
  name: COVERAGE_TABLE,
  description:
    'A row for each brand, report and day: its state, its version, when it is next due, and why it failed',
  partitionKeys: ['brand'],
  columns: COLUMNS,
};

/** The state of a day now, in SQL: a row is as old as the last run, which may have been days ago. */
export const STATE_NOW_SQL = `CASE WHEN overdue_at <= ${NOW_SQL} THEN 'overdue' ELSE state END`;

/** The columns, with the name of the fact that each has: `read_from` has `readFrom`. */
const FACTS = COLUMNS.map(({ name, type }) => ({
  name,
  type,
  fact: name.replaceAll(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase()),
}));

export function coverageRows(ledger: Ledger, of: ReportDays, nowMs: number): Row[] {
  const { policy, report } = of;
  return Object.entries(ledger.days)
    .filter(([day, entry]) => isExpected({ day, entry, policy }, nowMs))
    .map(([day, entry]) => {
      const { failure, findings = [], ...facts } = dayFacts(day, of, nowMs);
      return rowOf({
        ...{ ...facts, report: report.name, month: monthOf(day), startDate: policy?.startDate },
        failedSince: failure?.since,
        failure: failure && `${failure.kind}: ${failure.message}`,
        findings: findingsText(findings),
        ...historyFacts(day, entry),
      });
    })
    .sort((a, b) => (String(a.dt) < String(b.dt) ? -1 : 1));
}

function historyFacts(day: string, { firstCommittedAt, committed }: DayEntry) {
  const { history } = committed ?? {};
  if (!history) return { firstCommittedAt };
  const { after: firstAfter, by: firstBy, key, place, anewPlace, anewBy } = history;
  const ages = KEPT_AGES.map((age) => [`age_${age}`, endOfAge(day, history, age)] as const);
  const chain = { firstAfter, firstBy, key, place, anewPlace, anewBy };
  return { firstCommittedAt, ...chain, ...Object.fromEntries(ages) };
}

function rowOf(facts: Readonly<Record<string, unknown>>): Row {
  return Object.fromEntries(FACTS.map(({ name, type, fact }) => [name, columnValue(type, facts[fact])]));
}

function columnValue(type: string, fact: unknown): Row[string] {
  if (typeof fact === 'number') return BigInt(fact);
  if (type === 'timestamp' && typeof fact === 'string') return new Date(fact);
  return typeof fact === 'string' || fact instanceof Date ? fact : null;
}

export async function writeCoverage(
  run: BrandReport,
  months: readonly string[],
  hasReturnedRecords: boolean,
): Promise<void> {
  if (months.length === 0) return;
  let written: string[] = [];
  const made = new Map<string, { of: Ledger | undefined; rows: Row[] }>();
  await writeLedgerTable(run, coverageTable, async (stored) => {
    // Another run may have committed meanwhile, and these rows may have replaced its rows.
    await Promise.all(written.map((month) => undamaged(run.ledger(month).refresh())));
    written = [];
    const byMonth = Map.groupBy(stored, ({ month }) => String(month));
    // The object was lost, or the catalog is new.
    const others = stored.length === 0 ? Object.keys((await run.reportState.cached()).months) : [];
    for (const month of new Set([...others, ...months])) {
      const of = await undamaged(run.ledger(month).cached());
      const known = made.get(month);
      const rows = known?.of === of ? known?.rows : of && (await rowsOfMonth(run, of, hasReturnedRecords));
      if (!rows) continue;
      made.set(month, { of, rows });
      if (areSame(coverageTable, rows, byMonth.get(month) ?? [])) continue;
      byMonth.set(month, rows);
      written.push(month);
    }
    return [...byMonth.keys()].sort().flatMap((month) => byMonth.get(month) ?? []);
  });
}

async function rowsOfMonth(run: BrandReport, ledger: Ledger, hasReturnedRecords: boolean): Promise<Row[]> {
  const { month } = ledger;
  // If the upstream ledger is damaged, its own report fails; the coverage of this report is still written.
  const upstream = run.upstream && (await undamaged(run.upstream.ledger(month).cached()));
  const upstreamOn = upstream && ((day: string) => upstream.days[day]);
  const of = { ...(await findingFacts(run, month)), policy: run.policy, hasReturnedRecords, upstreamOn };
  return coverageRows(ledger, of, run.clock.laterMs());
}
