import { BrandReportsError } from '../errors.ts';

/** An object that a document names does not exist (any more): a later run reads the document again. */
export function objectNotFound(where: string): BrandReportsError {
  return new BrandReportsError('transient', 'object_missing', `${where} is gone. Run again.`);
}
