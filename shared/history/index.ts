export { CHANGE_COLUMNS, beforeShape } from './before-table.ts';
export {
  type HistoryContext,
  areChangesIntact,
  endOfAge,
  historyAfter,
} from './day-history.ts';
export { rowsAt } from './rows-at.ts';
