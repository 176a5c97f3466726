/** How this service reads what the interface document leaves open. The first value named is the default. */
export interface Readings {
  /** Whether a record at `end_time` itself is inside the range. */
  endTime: 'inclusive' | 'exclusive';
  /** What becomes of a request whose `start_time` equals its `end_time`. */
  equalTimes: 'answered' | 'refused';
  timestampUnit: 'seconds' | 'milliseconds';
  /** Where the range of `end_date` ends: with its day, or at its first instant, counted in or not. */
  endDate: 'whole_day' | 'midnight_inclusive' | 'midnight_exclusive';
  /** What `endCursor` names: the last record's place counted from 0, the next one's, the last one's counted from 1, the first again as ten digits, or nothing a reader could tell. */
  endCursor: 'last' | 'next' | 'last_from_one' | 'padded' | 'opaque';
  /** Whether the page begins with the record that an `endCursor` of a last place names, or behind it. */
  first: 'inclusive' | 'exclusive';
  /** What `cursor` is when no more items remain. */
  finalCursor: 'null' | 'absent' | 'empty';
  cursorIn: 'data' | 'envelope';
  /** The key of the records in `data` of orders and transactions. */
  listKey: string;
  /** The most records a page holds, whatever was asked for. */
  pageCap: number;
  pastLastPage: 'empty' | 'repeat';
  firstPage: 1 | 0;
  /** Until when an opaque cursor is taken: always, until the service restarts, or for so many further requests. */
  cursorLife: 'forever' | 'restart' | number;
  /** Where a click's detail is: `data` is the record, `data.list` holds it, or `data.click` is it. */
  detail: 'record' | 'list' | 'named';
  /** Whether a click's detail repeats the click's `id`. */
  detailHasId: boolean;
}

export const defaultReadings: Readings = {
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
  detail: 'record',
  detailHasId: true,
};
