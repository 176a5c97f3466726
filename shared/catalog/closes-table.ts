/*
 * Writes `closes`: for each closed month the days whose place, or whose part in the commission of their month, differs from
 * the closes before. So SQL finds the place of a day at a close in the latest row of the day up to that close.
 */
import type { BrandReport } from '../context/context.ts';
import { monthOf } from '../base/days.ts';
import { type Close, closedDays } from '../lake/close.ts';
import { columnsOf } from '../lake/described-columns.ts';
import { CLOSES_TABLE } from '../lake/paths.ts';
import type { Row } from '../table/columns.ts';
import type { TableShape } from '../ports.ts';
import type { ReportDefinition } from '../reports/definition.ts';
import { writeLedgerTable } from './ledger-tables.ts';

export const closesTable: TableShape = {
  name: CLOSES_TABLE,
  description:
    'What each close has of a day, if it differs from the closes before; dt may be of an earlier month',
  partitionKeys: ['brand'],
  columns: columnsOf([
    ['report', 'string', 'The report, e.g. order_list'],
    ['month', 'string', 'The closed month, YYYY-MM'],
    ['dt', 'string', "The day in the brand's time zone, YYYY-MM-DD; NULL: the close has no day"],
    ['place', 'bigint', 'How many changes of the day the close contains; NULL: it was erased since'],
    ['counts', 'boolean', 'Whether the commission of this report counts in the month of the day'],
    ['closed_at', 'timestamp', 'When the month was closed, in UTC'],
  ]),
};

export function closesRows(
  closes: readonly Close[],
  { name, table }: Pick<ReportDefinition, 'name' | 'table'>,
  month: string,
): Row[] {
  const at = closes.findIndex((close) => close.month === month);
  const closedAt = closes[at]?.closedAt;
  if (closedAt === undefined) return [];
  const of = { report: name, month, closed_at: new Date(closedAt) };
  const [before, now] = [closedDays(closes.slice(0, at)), closedDays(closes.slice(0, at + 1))];
  const countsIn = ({ sources }: typeof now, day: string) => sources[monthOf(day)] === table;
  const rows = [...now.days].flatMap(([id, { report, day, place }]): Row[] => {
    if (report !== name) return [];
    const counts = place !== undefined && countsIn(now, day);
    const known = before.days.get(id);
    const wasCounted = known?.place !== undefined && countsIn(before, day);
    if (known && known.place === place && counts === wasCounted) return [];
    const numbered = place === undefined ? null : BigInt(place);
    return [{ ...of, dt: day, place: numbered, counts }];
  });
  // Views would not know a close without a row.
  const isEmpty = rows.length === 0 && closes[at]?.days.length === 0;
  return isEmpty ? [{ ...of, dt: null, place: null, counts: false }] : rows;
}

/** @param closes all closes of the brand, by month */
export function writeCloses(ctx: BrandReport, closes: readonly Close[]): Promise<void> {
  return writeLedgerTable(ctx, closesTable, () =>
    closes.flatMap(({ month }) => closesRows(closes, ctx.report, month)),
  );
}
