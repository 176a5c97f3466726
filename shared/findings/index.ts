export { listed } from './field-findings.ts';
export { findingFacts, logFindings } from './finding-facts.ts';
export {
  findingsText,
  type Finding,
  type FindingFacts,
  entriesIn,
  findingsOf,
  comparedWith,
} from './findings.ts';
