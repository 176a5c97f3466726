import { BrandReportsError } from '../errors.ts';
import { type Json, type JsonObject, isJsonObject } from '../json.ts';
import type { ReportService, ServiceResponse } from '../ports.ts';
import { type RecordList, recordListOf, recordsOfList } from '../records/record-list.ts';

/** The response violates the interface: nothing of it is used. */
export function contractError(action: string, code: string, message: string): BrandReportsError {
  return new BrandReportsError('contract', code, `${action}: ${message}`, { context: { action } });
}

/**
 * I8: the records of a page: `data.list`, otherwise the only array in `data` (docs/interface.md, sections 4.3 and 4.4, do
 * not say where it is). @throws BrandReportsError `contract` where neither exists
 */
export function recordsOf(
  service: ReportService,
  action: string,
  { data, scanned }: ServiceResponse,
): RecordList {
  if (scanned) return scanned.records;
  const arrays = Object.values(data).filter(Array.isArray);
  const list = 'list' in data ? data.list : arrays.length === 1 ? arrays[0] : undefined;
  if (!Array.isArray(list)) {
    const keys = service.quote(Object.keys(data).join(', '));
    const message = `no list of records in the response: "list" or a single array is expected in "data", which has ${keys === '' ? 'no keys' : `the keys ${keys}`}`;
    throw contractError(action, 'missing_list', message);
  }
  return recordListOf(objectsOf(action, list));
}

/** `data` of a response, whole. */
export function wholeData({ data, scanned }: ServiceResponse): JsonObject {
  return scanned ? { ...data, [scanned.field]: recordsOfList(scanned.records) } : data;
}

/** The list as objects. @throws BrandReportsError `contract` where an element is not an object */
export function objectsOf(action: string, list: readonly Json[]): JsonObject[] {
  if (list.every(isJsonObject)) return [...list];
  const position = list.findIndex((element) => !isJsonObject(element));
  throw contractError(
    action,
    'bad_record',
    `element ${position} of the list is ${describeKind(list[position])}, an object is expected`,
  );
}

/** The kind of a value, for messages. */
export function describeKind(value: Json | undefined): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return isJsonObject(value) ? 'an object' : typeof value === 'object' ? 'a number' : `a ${typeof value}`;
}
