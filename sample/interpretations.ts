/**
 * Decides what the interface leaves open, with one member per open point (docs/explanation/interface.md). The first
 * value of each member is the default.
 */
export interface Interpretations {
  /** Whether a record at `end_time` itself is inside the range. */
  endTime: 'inclusive' | 'exclusive';
  /** Whether the service accepts a request whose `start_time` equals its `end_time`. */
  equalTimes: 'answered' | 'refused';
  timestampUnit: 'seconds' | 'milliseconds';
  /** Where the range of `end_date` ends: after its whole day, or at its first instant, inclusive or not. */
  endDate: 'whole_day' | 'midnight_inclusive' | 'midnight_exclusive';
  /**
   * The meaning of `endCursor`:
   * - `last`: the place of the last record, counted from 0
   * - `next`: the place of the next record
   * - `last_from_one`: the place of the last record, counted from 1
   * - `padded`: `last` as ten digits
   * - `opaque`: an opaque token
   */
  endCursor: 'last' | 'next' | 'last_from_one' | 'padded' | 'opaque';
  /** Whether the next page begins with the record that an `endCursor` of a last place names, or after it. */
  first: 'inclusive' | 'exclusive';
  /** The value of `cursor` when no more items remain. */
  finalCursor: 'null' | 'absent' | 'empty';
  cursorIn: 'data' | 'envelope';
  /** The key of the records in `data` of orders and transactions. */
  listKey: string;
  /** The maximum number of records on a page, whatever page size is requested. */
  pageCap: number;
  pastLastPage: 'empty' | 'repeat';
  firstPage: 1 | 0;
  /**
   * How long an opaque cursor is valid: always, until the service restarts, for this many further requests, or for this
   * long by the service's clock. `SampleService.forgetCursors` ends any cursor.
   */
  cursorLife: 'forever' | 'restart' | number | { ms: number };
  /** The response to a dead cursor: a refusal, an empty last page, or the first page with new cursors. */
  deadCursor: 'refuse' | 'empty' | 'restart';
  /** The place of a click's detail: `data` itself, `data.list`, or `data.click`. */
  detail: 'record' | 'list' | 'named';
}

export const defaultInterpretations: Interpretations = {
  endTime: 'inclusive',
  equalTimes: 'answered',
  timestampUnit: 'seconds',
  endDate: 'whole_day',
  endCursor: 'last',
  first: 'inclusive',
  finalCursor: 'null',
  cursorIn: 'data',
  listKey: 'list',
  pageCap: Number.POSITIVE_INFINITY,
  pastLastPage: 'empty',
  firstPage: 1,
  cursorLife: 'forever',
  deadCursor: 'refuse',
  detail: 'record',
};
