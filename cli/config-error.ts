import type { ErrorCode } from '../shared/error-codes.ts';
import { BrandReportsError } from '../shared/errors.ts';

/** The error of a command that a person called wrongly, or whose settings or files are wrong: exit code 2. */
export function configError(code: ErrorCode, message: string): BrandReportsError {
  return new BrandReportsError('config', code, message);
}
