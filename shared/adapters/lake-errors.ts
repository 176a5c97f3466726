import { BrandReportsError, configError } from '../base/errors.ts';

/** The error for an object that a document names but that no longer exists. A later run reads the document again. */
export function objectNotFound(where: string): BrandReportsError {
  return new BrandReportsError('transient', 'object_missing', `${where} is gone. Run again.`);
}

export function badLake(why: string): BrandReportsError {
  return configError('bad_lake', `${why}. Name a folder, or s3://bucket/prefix with or without a database.`);
}
