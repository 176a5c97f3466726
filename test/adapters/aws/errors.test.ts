import { describe, expect, it } from '@jest/globals';
import { awsError } from '../../../shared/adapters/aws/errors.ts';
import { BrandReportsError } from '../../../shared/base/errors.ts';

function sdkError(name: string, httpStatusCode?: number, message = 'said so'): Error {
  return Object.assign(new Error(message), { name, $metadata: { httpStatusCode } });
}

function failure(error: unknown): BrandReportsError {
  return awsError(error, 'Reading s3://lake/key', 'Grant s3:GetObject.');
}

describe('a failure of AWS', () => {
  it.each<[name: string, status: number | undefined, kind: string]>([
    ['AccessDenied', 403, 'config'],
    ['ExpiredTokenException', 400, 'config'],
    ['SignatureDoesNotMatch', 403, 'config'],
    ['RequestTimeTooSkewed', 403, 'config'],
    ['CredentialsProviderError', undefined, 'config'],
    ['NoSuchBucket', 404, 'config'],
    ['PermanentRedirect', 301, 'config'],
    ['KMS.DisabledException', 400, 'config'],
    ['AnyName', 401, 'config'],
    ['SlowDown', 503, 'transient'],
    ['ThrottlingException', 400, 'transient'],
    ['RequestTimeout', 400, 'transient'],
    ['InternalError', 500, 'transient'],
    ['InternalError', undefined, 'transient'],
    ['AnyName', 599, 'transient'],
    ['AnyName', 408, 'transient'],
    ['ConditionalRequestConflict', 409, 'transient'],
    ['ConcurrentModificationException', 400, 'transient'],
    ['BadDigest', 400, 'transient'],
    ['TimeoutError', undefined, 'transient'],
    ['Error', undefined, 'transient'],
    ['InvalidRequest', 400, 'bug'],
    ['ValidationException', 400, 'bug'],
    ['TypeError', undefined, 'bug'],
  ])('%s with status %s is of kind %s', (name, status, kind) => {
    expect(failure(sdkError(name, status))).toMatchObject({ kind, context: { awsError: name } });
  });

  it('that requires a region is of kind config', () => {
    expect(failure(sdkError('Error', undefined, 'Region is missing')).kind).toBe('config');
  });

  it('names what was attempted, the failure and the next step', () => {
    expect(failure(sdkError('AccessDenied', 403)).message).toBe(
      'Reading s3://lake/key failed: AccessDenied: said so. Grant s3:GetObject.',
    );
    expect(failure(sdkError('SlowDown', 503)).message).toMatch(/Run again later\.$/);
  });

  it('I9: never quotes a signature, and does not contain the error of the SDK', () => {
    const error = failure(sdkError('SignatureDoesNotMatch', 403, 'the canonical string was tok-SENSITIVE'));
    expect(error.message).not.toContain('SENSITIVE');
    expect(error.cause).toBeUndefined();
  });

  it('stays unchanged if it is already a BrandReportsError', () => {
    const known = new BrandReportsError('transient', 'object_missing', 'gone');
    expect(failure(known)).toBe(known);
  });
});
