import type { ReportName } from '../../sample/brand.ts';
import { changesKey } from '../../shared/lake/paths.ts';
import type { Row } from '../../shared/lake/table/columns.ts';
import { ledgerEntry, ledgerTableRows, rowsOf } from './lake-contents.ts';
import { BRAND, type SampleLake } from './sample-lake.ts';

/**
 * Reads the changes of a day from the object in its ledger entry; `[]` if the entry has no such object. NULLs are left
 * out.
 * @throws if the table `changes` has other rows of the day
 */
export async function changesOf(lake: SampleLake, report: ReportName, day: string): Promise<Row[]> {
  const { committed } = await ledgerEntry(lake, report, day);
  const id = committed?.changes?.snapshot;
  const rows = id === undefined ? [] : withoutNulls(await rowsOf(lake, changesKey(BRAND, report, day, id)));
  const inTable = (await changesInTable(lake, report)).filter(({ dt }) => dt === day);
  const differs = textOf(inTable) !== textOf(rows);
  if (differs) throw new Error(`the table has ${textOf(inTable)}, and the object of the day ${textOf(rows)}`);
  return rows;
}

/** The rows of the table `changes` of a report. */
export async function changesInTable(lake: SampleLake, report: ReportName): Promise<Row[]> {
  return withoutNulls(await ledgerTableRows(lake, 'changes', report));
}

function withoutNulls(rows: readonly Row[]): Row[] {
  return rows.map((row) =>
    Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null && value !== undefined)),
  );
}

function textOf(rows: readonly Row[]): string {
  return JSON.stringify(rows, (_key, value) => (typeof value === 'bigint' ? String(value) : value));
}

/** The rows that summarise a change each, the oldest first. */
export function sumsOfChanges(rows: readonly Row[]): Row[] {
  return rows.filter(({ what }) => what === 'day');
}
