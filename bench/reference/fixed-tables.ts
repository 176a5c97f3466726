import { closesTable } from '../../shared/catalog/closes-table.ts';
import { coverageTable } from '../../shared/catalog/coverage.ts';
import type { TableShape } from '../../shared/ports.ts';

/** The tables whose columns are the same for every brand, in the order of the page. */
export function fixedTables(): TableShape[] {
  return [coverageTable, closesTable];
}
