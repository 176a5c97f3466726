/** Rows of a row group: the unit that the writer keeps in memory and a reader can skip. */
export const ROW_GROUP_ROWS = 30_000;
/** I12: a row group also ends at this size of its values, so that huge records do not fill the memory. */
export const ROW_GROUP_BYTES = 64 * 2 ** 20;
/** I12: and at this number of cells, empty ones included: a reader holds one value for each of them. */
export const ROW_GROUP_CELLS = 2_000_000;

/** A row group is full with so many rows, or as soon as they take so many bytes of memory. */
export interface RowGroupLimits {
  rows: number;
  bytes: number;
}

/** How many rows a row group of so many columns has at most. */
export function maxRowsOfGroup(columns: number): number {
  return Math.min(ROW_GROUP_ROWS, Math.ceil(ROW_GROUP_CELLS / Math.max(1, columns)));
}
