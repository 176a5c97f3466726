import { columnsOf } from '../lake/documents/described-columns.ts';
import { addDays, monthOf, monthsFrom } from '../days.ts';
import { type DayEntry, undamagedLedgers } from '../lake/documents/ledger.ts';
import { MONTH_PARTITION_KEYS, SCHEMA_CHANGES_TABLE } from '../lake/paths.ts';
import type { Row } from '../lake/table/columns.ts';
import type { BrandReport } from '../context/context.ts';
import { HISTORY_DAYS, fieldDays, schemaChanges } from '../planning/schema-changes.ts';
import type { TableShape } from '../ports.ts';
import { contentOfRows, writeLedgerTable } from './ledger-tables.ts';

const COLUMNS = columnsOf([
  ['dt', 'string', "The day in the brand's time zone, YYYY-MM-DD"],
  ['column_name', 'string', 'The column of the field'],
  ['change', 'string', 'What happened to the field: new, vanished, returned, drifted or null_share'],
  [
    'share_before',
    'double',
    'The share on the days before, 0 to 1: of rows with a value; for null_share of rows without one; for drifted of values in _rescued',
  ],
  ['share_after', 'double', 'The same share on the day'],
  ['rows', 'bigint', 'The rows of the day'],
  ['since', 'string', 'The last day that was as before; for returned the day on which the field vanished'],
  ['detail', 'string', 'The change in words'],
]);

/** The rows come from `planning/schema-changes.ts`. */
export const schemaChangesTable: TableShape = {
  name: SCHEMA_CHANGES_TABLE,
  description: 'A row for each field that appeared, vanished, returned or changed on a day, and by how much',
  partitionKeys: MONTH_PARTITION_KEYS,
  columns: COLUMNS,
};

/** The rows of a month. @param entries of its days and of the days that they are compared with */
export function schemaChangeRows(
  entries: Iterable<readonly [dt: string, entry: DayEntry]>,
  month: string,
): Row[] {
  const changes = schemaChanges(fieldDays(entries), `${month}-01`).filter(({ dt }) => monthOf(dt) === month);
  return changes.map(({ dt, column, change, shareBefore, shareAfter, rows, since, detail }) => ({
    ...{ dt, column_name: column, change, share_before: shareBefore, share_after: shareAfter },
    ...{ rows: BigInt(rows), since, detail },
  }));
}

/** Updates the changes of fields in these months from the ledgers. */
export async function writeSchemaChanges(
  run: BrandReport,
  months: readonly string[],
  checksObjects = false,
): Promise<void> {
  const contentOf = async (month: string) => {
    const months = comparedMonths(month);
    const ledgers = await undamagedLedgers(months.map((each) => run.ledger(each).cached()));
    if (ledgers.size < months.length) return undefined;
    const entries = [...ledgers.values()].flatMap(({ days }) => Object.entries(days));
    return contentOfRows(schemaChangeRows(entries, month));
  };
  const table = { shape: schemaChangesTable, ledgersOf: comparedMonths, contentOf };
  await writeLedgerTable(run, table, months, checksObjects);
}

/** This month, and the months of the days that its days are compared with. */
export function comparedMonths(month: string): string[] {
  return monthsFrom(addDays(`${month}-01`, -HISTORY_DAYS), `${month}-01`);
}

/** Months whose rows may differ after these days changed. */
export function monthsComparedWith(days: readonly string[], today: string): string[] {
  const months = days.flatMap((day) => monthsFrom(day, addDays(day, HISTORY_DAYS)));
  return [...new Set(months)].filter((month) => month <= monthOf(today));
}
