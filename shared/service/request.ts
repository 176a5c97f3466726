import { hash } from 'node:crypto';
import { type Json, type JsonObject, numberText, stringifyJson } from '../base/json.ts';
import type { Credentials, HttpRequest } from '../ports.ts';

/** Routing parameters are always in the query string; with GET the fields are too (docs/explanation/interface.md, section 4). */
export function buildRequest(
  { baseUrl, method }: { baseUrl: string; method: HttpRequest['method'] },
  routing: Readonly<Record<string, string>>,
  fields: JsonObject,
  headers: Record<string, string>,
): HttpRequest {
  const parameters = { ...routing, ...(method === 'GET' && textFields(fields)) };
  const query = Object.entries(parameters).map(([name, value]) => `${encode(name)}=${encode(value)}`);
  const url = new URL(baseUrl);
  url.search = [url.search.slice(1), ...query].filter((part) => part !== '').join('&');
  return { url: url.href, method, headers, body: method === 'POST' ? stringifyJson(fields) : undefined };
}

// A slash is allowed in a query string, and docs/explanation/interface.md writes actions with a slash.
function encode(text: string): string {
  return encodeURIComponent(text).replaceAll('%2F', '/');
}

function textFields(fields: JsonObject): Record<string, string> {
  const text = (value: Json) =>
    typeof value === 'string' ? value : (numberText(value) ?? stringifyJson(value));
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, text(value)]));
}

/** The digest of the authentication header: 64 lower-case hexadecimal digits (docs/explanation/interface.md, section 5). */
export function digestOf(credentials: Credentials, action: string, utcDate: string): string {
  const { token, secret } = credentials;
  return hash('sha256', [token, action, utcDate, secret].join(';'), 'hex');
}

/** The headers of one attempt (docs/explanation/interface.md, section 5); `service` is part of two of their names. @param utcDate an HTTP-date */
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
