export { type DamagedDocument, type RepairOutcome, repairLake } from './repair.ts';
