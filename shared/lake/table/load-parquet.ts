/** What reads and writes Parquet, loaded by the first file: a run sends its first request without it. */
export const loadParquet = () => import('./parquet.ts');

/** What compares two files, loaded by the first day that has changed. */
export const loadDiff = () => import('./diff.ts');
/** What compares two files whose fields have other columns. */
export const loadRetyped = () => import('./retyped.ts');
/** Reads Parquet as columns of different values: for what reads whole snapshots. */
export const loadCodedFile = () => import('./coded-columns.ts');
