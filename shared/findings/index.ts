export { findingFacts, runDataChecks } from './data-checks.ts';
export {
  findingsText,
  type Finding,
  type FindingFacts,
  entriesIn,
  findingsOf,
  carriedChecks,
  COMPARED_DAYS,
} from './findings.ts';
export { type FindingPlace, findingSql, ledgerTableSql } from './finding-sql.ts';
