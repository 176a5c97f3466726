export { CHANGE_COLUMNS, beforeShape } from './before-table.ts';
export {
  type HistoryContext,
  type Replaced,
  areChangesIntact,
  endOfAge,
  historyAfter,
} from './day-history.ts';
export { haveMoved, movedSince } from './moved-records.ts';
export { rowsAt } from './rows-at.ts';
