export type ColumnType =
  | 'string'
  | 'bigint'
  | 'double'
  | 'boolean'
  | 'date'
  | 'timestamp'
  | `decimal(${number},${number})`;

/** A column of a table. `field` is the record's key that it holds; derived columns (`_rescued`, `_synced_at`) have none. */
export interface Column {
  name: string;
  type: ColumnType;
  field?: string;
}
