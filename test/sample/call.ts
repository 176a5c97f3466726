import { digestOf } from '../../sample/authenticate.ts';
import { seedBrand } from '../../sample/seed.ts';
import { type SampleService, startSampleService } from '../../sample/server.ts';
import { isJsonObject, type Json, type JsonObject, parseJson, stringifyJson } from '../../shared/json.ts';

/** The differences of a request from a correct one. `undefined` removes a part. */
export interface Changes {
  method?: string;
  query?: Record<string, string | undefined>;
  headers?: Record<string, string | undefined>;
  body?: string;
}

/** Sends a correct call of the brand `acme`, with the changes. */
export async function request(
  service: SampleService,
  action: string,
  fields: JsonObject = {},
  { method = 'POST', query = {}, headers = {}, body = stringifyJson(fields) }: Changes = {},
): Promise<Response> {
  const { acme } = service.brands;
  if (acme === undefined) throw new Error('The service has no brand acme');
  const date = new Date().toUTCString();
  const inQuery = method === 'GET' ? texts(fields) : {};
  const routing = { bid: acme.bid, token: acme.token, action, version: '1.0' };
  const correct = {
    'Content-Type': 'application/json',
    [`X-${service.serviceName}-DATE`]: date,
    [`X-${service.serviceName}-AUTHENTICATION`]: digestOf(acme.token, action, date, acme.secret),
  };
  return fetch(`${acme.baseUrl}?${queryOf({ ...routing, ...query, ...inQuery })}`, {
    method,
    headers: present({ ...correct, ...headers }),
    body: method === 'POST' ? body : null,
    redirect: 'manual',
  });
}

/** The envelope of the response to such a call. */
export async function call(
  service: SampleService,
  action: string,
  fields: JsonObject = {},
  changes: Changes = {},
): Promise<{ code: Json; msg: Json; data: JsonObject; [other: string]: Json }> {
  const envelope = parseJson(await (await request(service, action, fields, changes)).text());
  if (!isJsonObject(envelope)) throw new Error('The answer is not an object');
  const { code = null, msg = null, data, ...others } = envelope;
  return { code, msg, data: objectOf(data), ...others };
}

export function objectOf(value: Json | undefined): JsonObject {
  if (!isJsonObject(value)) throw new Error(`${stringifyJson(value ?? null)} is not an object`);
  return value;
}

const running: SampleService[] = [];
/** For `afterAll` of each suite: a hook in this module would belong only to the first suite of a group that imports it. */
export const closeServices = () => Promise.all(running.splice(0).map((service) => service.close()));

/** Starts a service with the brand `acme` in New York, which `closeServices` closes. */
export async function startAcme(): Promise<SampleService> {
  const timeZone = 'America/New_York';
  const days = { from: new Date('2026-10-31T12:00:00Z'), to: new Date('2026-11-04T05:00:00Z') };
  const records = seedBrand({ seed: 7, timeZone, ...days, clicksPerDay: 45 });
  const acme = { timeZone, bid: '1001', token: 'a-token', secret: 'a-secret', records };
  const service = await startSampleService({ brands: { acme } });
  running.push(service);
  return service;
}

export function queryOf(parameters: Record<string, string | undefined>): string {
  return new URLSearchParams(present(parameters)).toString();
}

function texts(fields: JsonObject): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : stringifyJson(value),
    ]),
  );
}

function present(entries: Record<string, string | undefined>): [string, string][] {
  return Object.entries(entries).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, value]],
  );
}
