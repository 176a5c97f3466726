import { type BrandReportsError, configError } from '../errors.ts';

/** @param why the beginning of the message */
export function badLake(why: string): BrandReportsError {
  return configError('bad_lake', `${why}. Name a folder, or s3://bucket/prefix with or without a database.`);
}
