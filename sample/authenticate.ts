import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { SampleBrand } from './brand.ts';
import { type Envelope, refusal } from './envelope.ts';

/** The parts of a call that identify its sender and its time. */
export interface Signed extends Signature {
  bid: string;
  token: string;
  action: string;
}

interface Signature {
  contentType: string;
  date: string;
  digest: string;
}

/** The three headers of docs/explanation/interface.md, section 5; empty where they are missing. */
export function signatureOf(headers: IncomingHttpHeaders, serviceName: string): Signature {
  const header = (name: string) => String(headers[name.toLowerCase()] ?? '');
  return {
    contentType: header('Content-Type'),
    date: header(`X-${serviceName}-DATE`),
    digest: header(`X-${serviceName}-AUTHENTICATION`),
  };
}

/** The digest of docs/explanation/interface.md, section 5: SHA-256, lowercase hex, of the four parts joined by semicolons. */
export function digestOf(token: string, action: string, utcDate: string, secret: string): string {
  return hash('sha256', [token, action, utcDate, secret].join(';'));
}

/**
 * Checks the rules of docs/explanation/interface.md, section 5, in order. @returns the refusal, or `undefined` for a
 * valid call
 */
export function authenticate(
  brand: SampleBrand,
  { bid, token, action, contentType, date, digest }: Signed,
  nowMs: number,
  driftSeconds: number,
): Envelope | undefined {
  const refuse = (why: string) => refusal('authentication', `authentication failed: ${why}`);
  if (!same(bid, brand.bid)) return refuse('unknown bid');
  if (!same(token, brand.token)) return refuse('unknown token');
  if (!/^application\/json *(;|$)/i.test(contentType)) return refuse('Content-Type must be application/json');
  if (!isHttpDate(date)) return refuse('the date header must be the time in HTTP-date format, in GMT');
  if (!same(digest, digestOf(token, action, date, brand.secret))) return refuse('the digest does not match');
  if (Math.abs(Date.parse(date) - nowMs) > driftSeconds * 1000)
    return refuse(`the date is more than ${driftSeconds} seconds from the service's clock`);
  return undefined;
}

function isHttpDate(text: string): boolean {
  return new Date(text).toUTCString() === text;
}

function same(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
