import { hash } from 'node:crypto';
import type { Credentials } from '../ports.ts';

/** The digest of the authentication header: 64 lower-case hexadecimal digits (docs/interface.md, section 5). */
export function digestOf(credentials: Credentials, action: string, utcDate: string): string {
  const { token, secret } = credentials;
  return hash('sha256', [token, action, utcDate, secret].join(';'), 'hex');
}

/** The headers of one attempt (docs/interface.md, section 5); `service` is part of two of their names. @param utcDate an HTTP-date */
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
