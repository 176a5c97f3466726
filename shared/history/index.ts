export { changesTable, changesInRows } from './change-rows.ts';
export { changeViews } from './change-views.ts';
export { logChange, recordChange } from './record-change.ts';
export { versionAt, versionsOf } from './versions.ts';
