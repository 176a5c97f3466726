/** What is called from outside. An instance serves a text, the rows of a row group, or the hashes of rows. */
export { allocate, allocateZeros, release, releaseAll } from './memory';
export { beginOfValue, endOfSpace, endOfString, endOfValue } from './json';
export { beginText, endOfRecords, foundAt } from './scan';
export { appendRecords, beginRows, codesAt, rowBytes, rowCount } from './columns';
export { addHashes, hashTexts, hashUnits, mixSums } from './row-sums';
export { bytesOfValues, encodeValues, greatestOf, leastOf, presentValues } from './column-values';
