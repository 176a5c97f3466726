export { type DamagedDocument, restoreDocuments } from './restore.ts';
