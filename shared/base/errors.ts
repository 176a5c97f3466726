import type { ErrorCode } from './error-codes.ts';

/**
 * Who acts on an error: the operator (`config`, `auth`), time (`transient`), the service (`contract`), another run
 * (`conflict`), us (`bug`).
 */
export const ERROR_KINDS = ['config', 'auth', 'transient', 'contract', 'conflict', 'bug'] as const;

export type ErrorKind = (typeof ERROR_KINDS)[number];

/** Facts about an error for its handler; never a credential (I9). */
export type ErrorContext = Record<string, string | number | boolean>;

/** The one error class. `message` names the value found, what is allowed and the next step; never a credential. */
export class BrandReportsError extends Error {
  override readonly name = 'BrandReportsError';
  readonly kind: ErrorKind;
  readonly code: ErrorCode;
  readonly context: ErrorContext;

  constructor(
    kind: ErrorKind,
    code: ErrorCode,
    message: string,
    options: { context?: ErrorContext; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.code = code;
    this.context = options.context ?? {};
  }
}

export function configError(code: ErrorCode, message: string): BrandReportsError {
  return new BrandReportsError('config', code, message);
}

/** Any thrown value as a BrandReportsError; an unexpected one becomes a `bug`. */
export function asBrandReportsError(thrown: unknown): BrandReportsError {
  if (thrown instanceof BrandReportsError) return thrown;
  const message = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  return new BrandReportsError('bug', 'unexpected', message, { cause: thrown });
}

/** The error that ends a day or a report. I9: it redacts the message of a bug, which may quote text from outside. */
export function redactedFailure(
  thrown: unknown,
  service: { quote(text: string): string },
): BrandReportsError {
  const error = asBrandReportsError(thrown);
  const { kind, code, message, context } = error;
  return kind === 'bug'
    ? new BrandReportsError(kind, code, service.quote(message), { context, cause: thrown })
    : error;
}

/** The place of a bug, for the log. I9: without its message. */
export function stackOf({ kind, cause }: BrandReportsError): { stack?: string } {
  return kind === 'bug' && cause instanceof Error ? { stack: framesOf(cause) } : {};
}

export function framesOf({ stack = '' }: Error): string {
  return stack
    .split('\n')
    .filter((line) => /^ {4}at /.test(line))
    .join('\n');
}

/** Returns an expected failure, so that the caller can handle it. @throws the thrown value if it is a `bug` */
export function rethrowBugs(thrown: unknown): BrandReportsError {
  const error = asBrandReportsError(thrown);
  if (error.kind === 'bug') throw thrown;
  return error;
}
