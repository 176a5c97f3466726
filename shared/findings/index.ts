export { listed } from './field-findings.ts';
export { findingFacts, runDataChecks } from './data-checks.ts';
export {
  findingsText,
  type Finding,
  type FindingFacts,
  entriesIn,
  findingsOf,
  carriedChecks,
} from './findings.ts';
