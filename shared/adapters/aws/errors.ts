import { isServerError, isThrottlingError, isTransientError } from '@smithy/core/retry';
import type { ErrorCode } from '../../base/error-codes.ts';
import { BrandReportsError, type ErrorKind } from '../../base/errors.ts';
import { fieldOf, textOf } from '../error-fields.ts';

/** Without timeouts, a request that hangs would block a run forever. The SDK retries transient failures. */
export const awsClientOptions = {
  maxAttempts: 5,
  requestHandler: {
    connectionTimeout: 5_000,
    requestTimeout: 120_000,
    socketTimeout: 30_000,
    throwOnRequestTimeout: true,
  },
};

/** Parts of the names of errors that the SDK does not classify and that an operator must fix. */
const CONFIG_ERROR = new RegExp(
  [
    // Access that is refused, and credentials that are missing, wrong, or expired.
    'Access|Auth|Forbidden|Credentials|Token|Signature|UnrecognizedClient',
    // Another region, or no bucket.
    'Bucket|LocationConstraint|Redirect',
    // A KMS key that this role may not use, or that is disabled.
    'KMS|cryption',
    // A Glue database that is a link to another catalog.
    'FederationSource',
  ].join('|'),
  'i',
);
const CONFIG_STATUSES: readonly number[] = [301, 401, 403];

/** Parts of the names of errors that the SDK does not classify and that a retry may fix. */
const TRANSIENT_ERROR = new RegExp(
  [
    // From Glue, for a single event of a request, and from the sign-in server that provides credentials.
    'ConcurrentModification|Internal|OperationTimeout|SlowDown',
    // S3: a body that was truncated or changed in transit, an upload that was cleaned up while it was under way, and
    // failures of single keys of a deletion, which have no status.
    'BadDigest|IncompleteBody|NoSuchUpload|ServiceUnavailable',
  ].join('|'),
);
const TRANSIENT_STATUSES: readonly number[] = [408, 409];

/** I9: without the error and request of the SDK, which may hold signed headers. @param doing e.g. `Reading s3://bucket/key` */
export function awsError(error: unknown, doing: string, nextStep: string): BrandReportsError {
  if (error instanceof BrandReportsError) return error;
  const failure = awsFailure(error);
  const { name, message, status } = failure;
  const kind = errorKind(failure);
  const [code, hint] = ADVICE[kind];
  return new BrandReportsError(
    kind,
    code,
    `${doing} failed: ${safeMessage(name, message)}. ${hint ?? nextStep}`,
    {
      context: { awsError: name, ...(status !== undefined && { status }) },
    },
  );
}

type AwsKind = Extract<ErrorKind, 'transient' | 'config' | 'bug'>;

const ADVICE: Record<AwsKind, readonly [code: ErrorCode, hint?: string]> = {
  transient: ['aws_unavailable', 'Run again later.'],
  config: ['aws_refused'],
  bug: ['aws_unexpected', 'This is not expected: please report it.'],
};

interface AwsFailure {
  name: string;
  message: string;
  /** The HTTP status; missing if no response arrived. */
  status?: number;
}

export function awsFailure(error: unknown): AwsFailure {
  const status = fieldOf(fieldOf(error, '$metadata'), 'httpStatusCode');
  return {
    name: textOf(error, 'name'),
    message: textOf(error, 'message'),
    ...(typeof status === 'number' && { status }),
  };
}

export async function unlessFailedWith<T>(
  expected: readonly string[],
  response: Promise<T>,
): Promise<T | undefined> {
  try {
    return await response;
  } catch (error) {
    if (expected.includes(awsFailure(error).name)) return undefined;
    throw error;
  }
}

function errorKind(failure: AwsFailure): AwsKind {
  const { name, message, status = 0 } = failure;
  const $metadata = failure.status === undefined ? {} : { httpStatusCode: failure.status };
  const sdkError = { name, message, $metadata };
  if (isThrottlingError(sdkError) || isTransientError(sdkError) || isServerError(sdkError))
    return 'transient';
  if (CONFIG_STATUSES.includes(status) || CONFIG_ERROR.test(name)) return 'config';
  if (message.includes('Region is missing')) return 'config';
  if (TRANSIENT_STATUSES.includes(status) || TRANSIENT_ERROR.test(name)) return 'transient';
  // Without a response, the cause is the network, unless it is a bug in this program.
  return status === 0 && !/^(Type|Range|Reference)Error$/.test(name) ? 'transient' : 'bug';
}

/** I9: a refused signature quotes the signed headers, including the session token. */
function safeMessage(name: string, message: string): string {
  return /signature|authorization/i.test(name + message) ? name : `${name}: ${message}`.replace(/\.$/, '');
}
