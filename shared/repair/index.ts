export { lostVersions } from './lost-versions.ts';
export { type DamagedDocument, type RepairOutcome, repairLake } from './repair.ts';
