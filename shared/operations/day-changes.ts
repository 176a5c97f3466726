/** What happened to one day after it was closed, for the people who ask: the changes of each brand that has the day. */
import { monthOf } from '../days.ts';
import { BrandReportsError } from '../errors.ts';
import {
  type CommittedDay,
  committedChangesKey,
  committedDays,
  readLedgers,
} from '../lake/documents/read.ts';
import { loadParquet } from '../lake/table/load-parquet.ts';
import { fileIn } from '../lake/table/readable-file.ts';
import { type Change, changesOfRows } from '../pipeline/change-rows.ts';
import type { ObjectStore } from '../ports.ts';
import type { ReportDefinition } from '../reports/definition.ts';

/** A day of a brand, and its changes, the newest first. */
export interface ChangedDay {
  brand: string;
  report: string;
  day: string;
  rows: number;
  /** Whether the day is closed: one that is open grows, and that is no change. */
  closed: boolean;
  changes: Change[];
}

/**
 * @param since only changes of then or later
 * @throws BrandReportsError `config` where the lake has nothing of the day, or its changes cannot be read
 */
export async function readChangedDays(
  store: ObjectStore,
  { report, day, brand, since }: { report: ReportDefinition; day: string; brand?: string; since?: Date },
): Promise<ChangedDay[]> {
  const span = { from: monthOf(day), to: monthOf(day) };
  const ledgers = await readLedgers(store, { [report.name]: report }, span);
  const [damaged] = ledgers.flatMap((each) => each.damaged.filter(({ month }) => month !== undefined));
  const days = committedDays(ledgers).filter((each) => each.day === day);
  const wanted = days.filter((each) => brand === undefined || each.brand === brand);
  if (wanted.length === 0 && damaged) throw unreadable(damaged.message);
  if (wanted.length === 0) throw nothingOf(store, report, day, brand, days);
  const found: ChangedDay[] = [];
  for (const each of wanted) {
    const changes = await readChanges(store, each);
    found.push({
      brand: each.brand,
      report: report.name,
      day,
      rows: each.committed.rows,
      closed: each.committed.state === 'closed',
      changes: changes.filter(({ at }) => since === undefined || at >= since).toReversed(),
    });
  }
  return found;
}

/** The changes of a committed day, in the order in which they happened. @throws where they cannot be read */
export async function readChanges(store: ObjectStore, day: CommittedDay): Promise<Change[]> {
  const key = committedChangesKey(day);
  const { changes } = day.committed;
  if (key === undefined || !changes) return [];
  const { readParquetRows } = await loadParquet();
  const file = fileIn(store, { key, bytes: changes.bytes });
  return changesOfRows(await Array.fromAsync(readParquetRows(file)));
}

function unreadable(message: string): BrandReportsError {
  return new BrandReportsError('config', 'damaged_document', message);
}

function nothingOf(
  { url }: ObjectStore,
  report: ReportDefinition,
  day: string,
  brand: string | undefined,
  days: readonly CommittedDay[],
): BrandReportsError {
  const whose = brand === undefined ? '' : ` of the brand "${brand}"`;
  const hint = days.length > 0 ? ` It has the day of: ${days.map((each) => each.brand).join(', ')}.` : '';
  return new BrandReportsError(
    'config',
    'day_not_committed',
    `${url} has nothing of ${report.name} ${day}${whose}.${hint} Compare the day, --brand and --lake with what "brand-reports status" shows.`,
  );
}
