import { type ErrorKind, BrandReportsError } from '../errors.ts';

/** For every AWS client: a request that hangs ends, one that failed in passing is tried again. */
export const awsClientOptions = {
  maxAttempts: 5,
  requestHandler: {
    connectionTimeout: 5_000,
    requestTimeout: 30_000,
    socketTimeout: 30_000,
    throwOnRequestTimeout: true,
  },
};

const TRANSIENT =
  /throttl|slowdown|toomanyrequests|requestlimit|unavailable|internal|timeout|concurrent|nosuchupload|baddigest|incompletebody/i;
const CONFIG =
  /accessdenied|forbidden|unauthorized|credential|token|unrecognizedclient|signature|accesskey|nosuchbucket|invalidbucket|permanentredirect|authorizationheader|kms|encryptionfailure|decryptionfailure|federation/i;

/**
 * A failure of an AWS call. It carries neither the SDK's error nor its request: both may hold signed headers.
 * @param doing what was tried, e.g. `Reading s3://bucket/key`
 * @param nextStep what an operator can do, e.g. the permissions that it needs
 */
export function awsError(error: unknown, doing: string, nextStep: string): BrandReportsError {
  if (error instanceof BrandReportsError) return error;
  const { name, message, status } = awsFailure(error);
  const kind = kindOf(error, name, message, status);
  const [code, hint] = ADVICE[kind];
  return new BrandReportsError(kind, code, `${doing} failed: ${told(name, message)}. ${hint ?? nextStep}`, {
    context: { awsError: name, ...(status !== undefined && { status }) },
  });
}

type AwsKind = Extract<ErrorKind, 'transient' | 'config' | 'bug'>;

const ADVICE: Record<AwsKind, readonly [code: string, hint?: string]> = {
  transient: ['aws_unavailable', 'Run again later.'],
  config: ['aws_refused'],
  bug: ['aws_unexpected', 'This is not expected: please report it.'],
};

/** What an SDK error says about itself; `status` is missing where no answer came. */
export function awsFailure(error: unknown): { name: string; message: string; status: number | undefined } {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  const metadata: unknown = error instanceof Error && '$metadata' in error ? error.$metadata : undefined;
  const status: unknown =
    typeof metadata === 'object' && metadata !== null && 'httpStatusCode' in metadata
      ? metadata.httpStatusCode
      : undefined;
  return { name, message, status: typeof status === 'number' ? status : undefined };
}

function kindOf(error: unknown, name: string, message: string, status: number | undefined): AwsKind {
  if (status === 401 || status === 403 || status === 301) return 'config';
  if (status !== undefined && (status >= 500 || status === 408 || status === 409 || status === 429))
    return 'transient';
  if (TRANSIENT.test(name)) return 'transient';
  if (CONFIG.test(name) || message.includes('Region is missing')) return 'config';
  const ours = error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;
  return status === undefined && !ours ? 'transient' : 'bug';
}

/** Refusals of a signature quote the signed headers, session token included. */
function told(name: string, message: string): string {
  return /signature|authorization/i.test(name + message) ? name : `${name}: ${message}`.replace(/\.$/, '');
}
