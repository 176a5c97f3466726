/** What is called from outside. An instance serves one text, one row group, one column or the hashes of some rows at a time. */
export { seedHashes } from './bytes';
export { allocate, allocateZeros, release, releaseAll } from './memory';
export { beginOfValue, endOfSpace, endOfString, endOfValue } from './json';
export { beginText, endOfRecords, foundAt } from './scan';
export { appendRecords, beginRows, codesAt, rowBytes, rowCount } from './columns';
export { addHashes, hashTexts, hashUnits, mixSums } from './row-sums';
export { plainTexts, shortNumbers } from './literal-values';
export { countRows, sumUnits } from './column-facts';
export {
  bytesOfValues,
  encodeBits,
  encodeValues,
  extremesOf,
  nextPart,
  presentValues,
  storeUnits,
} from './column-values';
export { packNumbers, packedRoom } from './packed-numbers';
