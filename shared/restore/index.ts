export { lostVersions } from './lost-versions.ts';
export { type DamagedDocument, restoreDocuments } from './restore.ts';
