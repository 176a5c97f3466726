/** What is called from outside. An instance serves either texts or the rows of one row group. */
export { allocate, release } from './memory';
export { beginOfValue, endOfSpace, endOfString, endOfValue } from './json';
export { beginText, endOfRecords, foundAt } from './scan';
export { appendRecords, beginRows, codesAt, rowBytes, rowCount } from './columns';
