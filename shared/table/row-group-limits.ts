/** Rows of a row group: the unit that the writer keeps in memory and that a reader can skip. */
export const ROW_GROUP_ROWS = 30_000;
/** I12: a row group also ends at this size of its values, so that huge records do not fill the memory. */
export const ROW_GROUP_BYTES = 64 * 2 ** 20;
/** I12: a row group also ends at this number of cells: a reader has a value in memory for each, even if it is empty. */
export const ROW_GROUP_CELLS = 2_000_000;

/** A row group is full with this many rows, or as soon as its rows take this many bytes of memory. */
export interface RowGroupLimits {
  rows: number;
  bytes: number;
}

export function maxRowsOfGroup(columns: number): number {
  return Math.min(ROW_GROUP_ROWS, Math.ceil(ROW_GROUP_CELLS / Math.max(1, columns)));
}
