/**
 * WebAssembly traps only after the end of the memory, so each region below has its own limit.
 * The command `npm run fuzz -- --checked` runs a build that traps at any load or store outside the regions, and at any store into
 * the text.
 *
 * - Static data: three constant places from 1024 to `__heap_base`, 200 bytes.
 * - Pieces: `allocate` grows the memory before it returns a piece, and traps at 4 GiB. A load may pass the end of a piece
 *   by 8 bytes, a store never.
 * - Text: `beginText` reserves space for it and 16 zeros; `JsonText` copies at most 128 MiB. A zero ends every read, and the
 *   widest load has 16 bytes. One load goes further: the byte after a guessed key, which may be longer than the rest of
 *   the text. It stays in the memory, because the key itself lies after the text, and no key contains the zeros.
 * - Values and records of a scan: `Numbers` doubles its piece before it stores. A list has at most 2^19 records; a value
 *   takes 12 bytes here and at least 4 in the text.
 * - Observed kinds, order and last record by field: one number a key, added with the key; at most 2^16 keys.
 * - Keys and literals: `append` grows their bytes and ends before it copies, and traps at 2^22 literals. Half of the slots
 *   are free, so each search ends.
 * - Columns: a row finds its block of 256 codes by its number, and `addBlock` grows the list of blocks first.
 * - Pieces of callers in `shared/table`: one number, hash or stored value for each row or code that they pass as a count.
 *   A code that is not below the count is NULL and is no index. `encodeValues` needs space for the bytes of the values and
 *   their lengths.
 */
export { seedHashes } from './bytes';
export { allocate, allocateZeros, release, releaseAll } from './memory';
export { beginOfValue, endOfSpace, endOfString, endOfValue } from './json';
export { beginText, endOfRecords, foundAt } from './scan';
export { appendRecords, beginRows, codesAt, rowBytes, rowCount } from './columns';
export { addHashes, hashValues, mixSums } from './row-sums';
export { plainTexts, shortNumbers } from './literal-values';
export { encodeValues, extremesOf, presentValues } from './column-values';
