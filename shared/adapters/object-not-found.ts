import { BrandReportsError } from '../errors.ts';

/** An object that something named is not there: a later try reads anew what is named. */
export function objectNotFound(where: string): BrandReportsError {
  return new BrandReportsError('transient', 'object_missing', `${where} is gone. Run again.`);
}
