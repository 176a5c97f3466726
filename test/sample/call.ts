import { digestOf } from '../../sample/authenticate.ts';
import type { SampleRecords } from '../../sample/brand.ts';
import { seedBrand } from '../../sample/seed.ts';
import { type SampleOptions, type SampleService, startSampleService } from '../../sample/server.ts';
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

export function listOf(data: JsonObject, key = 'list'): JsonObject[] {
  const list = data[key];
  if (!Array.isArray(list)) throw new Error(`data.${key} is not a list`);
  return list.map(objectOf);
}

const running: SampleService[] = [];
/** For `afterAll` of each suite: a hook in this module would belong only to the first suite of a group that imports it. */
export const closeServices = () => Promise.all(running.splice(0).map((service) => service.close()));

/** Starts a service that `closeServices` closes. */
export async function start(options: SampleOptions): Promise<SampleService> {
  const service = await startSampleService(options);
  running.push(service);
  return service;
}

/** Starts a service with the brand `acme` in New York, and records around the end of summer time. */
export function startAcme(
  options: SampleOptions = {},
  records: Partial<SampleRecords> = {},
): Promise<SampleService> {
  const acme = {
    timeZone: 'America/New_York',
    bid: '1001',
    token: 'a-token',
    secret: 'a-secret',
    records: { ...ordinaryRecords, ...records },
  };
  return start({ brands: { acme }, ...options });
}

export function seededRecords(clicksPerDay: number): SampleRecords {
  return seedBrand({
    seed: 7,
    timeZone: 'America/New_York',
    from: new Date('2026-10-31T12:00:00Z'),
    to: new Date('2026-11-04T05:00:00Z'),
    clicksPerDay,
  });
}

export const ordinaryRecords = seededRecords(45);

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
