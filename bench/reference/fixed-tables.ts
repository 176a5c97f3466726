import { coverageTable } from '../../shared/catalog/coverage.ts';
import { changesTable } from '../../shared/history/index.ts';
import { lifecycleTables } from '../../shared/lifecycle/index.ts';
import type { TableShape } from '../../shared/ports.ts';
import { reports } from '../../shared/reports/index.ts';

/** The tables whose columns are the same for every brand, in the order of the page. */
export function fixedTables(): TableShape[] {
  return [...lifecycleTables(reports), coverageTable, changesTable];
}
