import { isJsonObject, type Json, type JsonObject, parseJson } from '../shared/base/json.ts';
import type { Fault } from './faults.ts';
import type { Sent } from './send.ts';

/** The only methods (docs/explanation/interface.md, section 1). */
export type Method = 'GET' | 'POST';

export function isMethod(method: string): method is Method {
  return method === 'GET' || method === 'POST';
}

export interface Routing {
  bid: string;
  token: string;
  action: string;
  version: string;
}

/** The four routing parameters of the query string; `undefined` if one is missing. */
export function routingOf(query: URLSearchParams): Routing | undefined {
  const [bid, token, action, version] = ['bid', 'token', 'action', 'version'].map((name) => query.get(name));
  return bid && token && action && version ? { bid, token, action, version } : undefined;
}

export function queryFields(query: URLSearchParams): JsonObject {
  const {
    bid: _bid,
    token: _token,
    action: _action,
    version: _version,
    ...fields
  } = Object.fromEntries(query);
  return fields;
}

/** The fields of a body, which may repeat the routing parameters; `undefined` if the body is not a JSON object. */
export function bodyFields(body: string): JsonObject | undefined {
  let json: Json;
  try {
    json = parseJson(body === '' ? '{}' : body);
  } catch {
    return undefined;
  }
  if (!isJsonObject(json)) return undefined;
  const { bid: _bid, token: _token, action: _action, version: _version, ...fields } = json;
  return fields;
}

/** A request that reached a brand. It contains no credential and no digest (I9). */
export interface RequestLog extends Sent {
  /** Counted from 1. */
  number: number;
  method: Method;
  brand: string;
  action: string;
  fields: JsonObject;
  /** The date header, as sent. */
  date?: string;
  fault?: Fault['kind'];
}
