import { BrandReportsError, type ErrorKind } from '../../errors.ts';
import { fieldOf, textOf } from '../error-fields.ts';

/** For every AWS client: a request that hangs ends, one that failed in passing is tried again. */
export const awsClientOptions = {
  maxAttempts: 5,
  requestHandler: {
    connectionTimeout: 5_000,
    requestTimeout: 120_000,
    socketTimeout: 30_000,
    throwOnRequestTimeout: true,
  },
};

const TRANSIENT =
  /throttl|slowdown|toomanyrequests|requestlimit|unavailable|internal|timeout|concurrent|nosuchupload|baddigest|incompletebody/i;
const CONFIG =
  /accessdenied|forbidden|unauthorized|credential|token|unrecognizedclient|signature|accesskey|nosuchbucket|invalidbucket|permanentredirect|authorizationheader|kms|cryption|federation/i;

/**
 * A failure of an AWS call. It carries neither the SDK's error nor its request: both may hold signed headers.
 * @param doing what was tried, e.g. `Reading s3://bucket/key`
 * @param nextStep what an operator can do, e.g. the permissions that it needs
 */
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

const ADVICE: Record<AwsKind, readonly [code: string, hint?: string]> = {
  transient: ['aws_unavailable', 'Run again later.'],
  config: ['aws_refused'],
  bug: ['aws_unexpected', 'This is not expected: please report it.'],
};

interface AwsFailure {
  name: string;
  message: string;
  /** Missing where no answer came. */
  status?: number;
}

/** What an SDK error says about itself. */
export function awsFailure(error: unknown): AwsFailure {
  const status = fieldOf(fieldOf(error, '$metadata'), 'httpStatusCode');
  return {
    name: textOf(error, 'name'),
    message: textOf(error, 'message'),
    ...(typeof status === 'number' && { status }),
  };
}

function errorKind({ name, message, status = 0 }: AwsFailure): AwsKind {
  if (status >= 500) return 'transient';
  if ([301, 401, 403].includes(status) || CONFIG.test(name) || message.includes('Region is missing'))
    return 'config';
  if ([408, 409, 429].includes(status) || TRANSIENT.test(name)) return 'transient';
  // Without an answer it is the network, unless it is our own mistake.
  return status === 0 && !/^(Type|Range|Reference)Error$/.test(name) ? 'transient' : 'bug';
}

/** Refusals of a signature quote the signed headers, session token included. */
function safeMessage(name: string, message: string): string {
  return /signature|authorization/i.test(name + message) ? name : `${name}: ${message}`.replace(/\.$/, '');
}
