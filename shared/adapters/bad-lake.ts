import { BrandReportsError } from '../errors.ts';

/** The `config` error for an address that is not a lake. @param why the beginning of the message */
export function badLake(why: string): BrandReportsError {
  return new BrandReportsError(
    'config',
    'bad_lake',
    `${why}. Name a folder, or s3://bucket/prefix with or without a database.`,
  );
}
