import * as z from 'zod/mini';
import type { ErrorCode } from '../base/error-codes.ts';
import { BrandReportsError } from '../base/errors.ts';
import { isJsonObject } from '../base/json.ts';

// The error text of a schema contains only what is allowed. `parseInput` puts the path and the value before it.

export const NOT_A_SETTING = z.optional(z.never({ error: 'nothing: this report has no such setting' }));

export function object<Shape extends Record<string, z.ZodMiniType>>(shape: Shape) {
  const keys = Object.keys(shape).filter((key) => shape[key] !== NOT_A_SETTING);
  return z.strictObject(shape, {
    error: ({ code }) => (code === 'unrecognized_keys' ? keys.join(', ') || 'no key' : 'an object'),
  });
}

/** @param allowed what is allowed, for the message @param meant what a wrong value probably means */
export function text(
  allowed: string,
  test: (value: string) => boolean,
  meant = (_wrong: string): readonly string[] => [],
) {
  const error = ({ input }: { input?: unknown }) => {
    const likely = typeof input === 'string' ? meant(input).join(' or ') : '';
    return likely === '' ? allowed : `${allowed}; did you mean ${likely}?`;
  };
  return z.string({ error }).check(z.refine(test, { error }));
}

export function like(allowed: string, pattern: RegExp) {
  return text(allowed, (value) => pattern.test(value));
}

export function bool() {
  return z.boolean({ error: 'true, false' });
}

export function oneOf<const Words extends readonly string[]>(...words: Words) {
  return z.enum(words, { error: words.join(', ') });
}

export function number(min: number, max: number, allowed = `a number from ${min} to ${max}`) {
  return z
    .number({ error: allowed })
    .check(z.refine((value) => value >= min && value <= max, { error: allowed }));
}

export function integer(min: number, max: number) {
  const allowed = `a whole number from ${min} to ${max}`;
  return number(min, max, allowed).check(z.refine(Number.isSafeInteger, { error: allowed }));
}

/** @throws BrandReportsError `config` with a line for every problem: path, value, what is allowed */
export function parseInput<Output>(
  schema: z.ZodMiniType<Output>,
  input: unknown,
  code: ErrorCode,
  origin: string,
): Output {
  const parsed = z.safeParse(schema, input, { reportInput: true });
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.flatMap(problemLines);
  const lines = problems.map((problem) => `- ${problem}`).join('\n');
  throw new BrandReportsError('config', code, `${origin} cannot be used:\n${lines}`);
}

function problemLines(issue: z.core.$ZodIssue): string[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => unknownKey([...issue.path, key], issue.message));
  const allowed = issue.code === 'invalid_key' ? issue.issues[0]?.message : issue.message;
  return [`${pathText(issue.path)} is ${shownValue(issue.input, issue.path)}; allowed: ${allowed}`];
}

function unknownKey(path: PropertyKey[], allowed: string): string {
  const key = String(path.at(-1));
  const hint = /^(bid|token|secret|password|credentials?)$/i.test(key)
    ? '; credentials belong in the secret that secretName names, or in the file of --credentials'
    : '';
  return `${pathText(path)} is unknown; allowed: ${allowed}${hint}`;
}

function pathText(path: readonly PropertyKey[]): string {
  return path.map(String).join('.') || 'the top level';
}

/** I9: a key of credentials for a message, unless it may be a credential in the wrong place. */
export function shownKey(key: string | number): string {
  return isCredentialLike(String(key)) ? '…' : String(key);
}

function isCredentialLike(text: string): boolean {
  return /(?=[\w+=-]*\d)[\w+=-]{20}/.test(text);
}

/** I9: the value for the message, unless it may be a credential in the wrong place. */
function shownValue(input: unknown, path: readonly PropertyKey[]): string {
  if (input === undefined) return 'missing';
  if (Array.isArray(input)) return 'a list';
  if (typeof input !== 'string') return isJsonObject(input) ? 'an object' : JSON.stringify(input);
  const text = path.at(-1) === 'baseUrl' ? input.replace(/\/\/[^/]*@/, '//…@').replace(/\?.*/s, '?…') : input;
  if (path.at(-1) === 'secretName' || isCredentialLike(text)) return `a text of ${text.length} characters`;
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}
