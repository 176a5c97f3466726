/** Loads the reader and writer of Parquet with the first file: a run sends its first request without them. */
export const loadParquet = () => import('./parquet.ts');

export const loadCodedFile = () => import('./coded-columns.ts');
