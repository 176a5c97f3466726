import type { ReportName } from '../../sample/brand.ts';
import { beforeTable, versionKey } from '../../shared/lake/paths.ts';
import type { Row } from '../../shared/table/columns.ts';
import { ledgerEntry, rowsOf, tableOf } from './lake-contents.ts';
import { BRAND, type SampleLake } from './sample-lake.ts';

/**
 * What the records of a day were before, from the object in its ledger entry; `[]` if the entry has no such object. NULLs are
 * left out.
 * @throws if the catalog points at something else
 */
export async function changesOf(lake: SampleLake, report: ReportName, day: string): Promise<Row[]> {
  const { committed } = await ledgerEntry(lake, report, day);
  const id = committed?.history?.object?.snapshot;
  const table = beforeTable(tableOf(report));
  const pointed = lake.catalog.pointers.get(`${table}/brand=${BRAND}/dt=${day}`);
  if (pointed !== id) throw new Error(`the catalog points at ${pointed}, and the ledger has ${id}`);
  const rows = id === undefined ? [] : await rowsOf(lake, versionKey(table, BRAND, day, id));
  return rows.map((row) =>
    Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null && value !== undefined)),
  );
}
