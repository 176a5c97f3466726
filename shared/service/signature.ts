import { hash } from 'node:crypto';
import type { Credentials } from '../ports.ts';

/** The digest of the authentication header, 64 lowercase hex digits (interface document, section 5). */
export function digestOf(credentials: Credentials, action: string, utcDate: string): string {
  const { token, secret } = credentials;
  return hash('sha256', [token, action, utcDate, secret].join(';'), 'hex');
}

/** The headers of one attempt (section 5); `service` stands in the names of two of them. */
export function signedHeaders(
  service: string,
  action: string,
  credentials: Credentials,
  utcDate: string,
): Record<string, string> {
  return {
    'Content-Type': 'application/json',
    [`X-${service}-DATE`]: utcDate,
    [`X-${service}-AUTHENTICATION`]: digestOf(credentials, action, utcDate),
  };
}
