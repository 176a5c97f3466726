export { beforeShape } from './before-table.ts';
export { changesTable, isOfContent, summaryOfRows } from './change-rows.ts';
export { changeViews } from './change-views.ts';
export { appendChanges, areIntact, rewriteChanges } from './day-changes.ts';
export { logChange, recordChange } from './record-change.ts';
export { rowsAt } from './rows-at.ts';
export { type Version, versionAt, versionsOf } from './versions.ts';
