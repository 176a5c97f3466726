/** Loads the reader and writer of Parquet with the first file: a run sends its first request without them. */
export const loadParquet = () => import('./parquet.ts');

/** Loads the comparison of two files with the first day that has changed. */
export const loadDiff = () => import('./diff.ts');
/** Loads the comparison of two files whose fields have other columns. */
export const loadRetyped = () => import('./retyped.ts');
/** Loads the reader of whole snapshots, which reads Parquet as columns of different values. */
export const loadCodedFile = () => import('./coded-columns.ts');
