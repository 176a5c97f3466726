import { BrandReportsError } from '../errors.ts';
import { type Json, type JsonObject, isJsonObject } from '../json.ts';
import type { ReportService } from '../ports.ts';

/** The service broke its word: nothing of what was asked can be trusted. */
export function contractError(action: string, code: string, message: string): BrandReportsError {
  return new BrandReportsError('contract', code, `${action}: ${message}`, { context: { action } });
}

/**
 * The records of a page: `data.list`, otherwise the only array in `data` (where lists are is documented for clicks
 * and attribution alone).
 */
export function recordsOf(service: ReportService, action: string, data: JsonObject): JsonObject[] {
  const arrays = Object.values(data).filter(Array.isArray);
  const list = 'list' in data ? data.list : arrays.length === 1 ? arrays[0] : undefined;
  if (!Array.isArray(list)) {
    const keys = service.quote(Object.keys(data).join(', '));
    const message = `no list of records in the answer: "list" or one array alone is expected in "data", which has ${keys === '' ? 'no keys' : `the keys ${keys}`}`;
    throw contractError(action, 'missing_list', message);
  }
  return objectsOf(action, list);
}

/** The list, all of whose elements must be objects. */
export function objectsOf(action: string, list: readonly Json[]): JsonObject[] {
  if (list.every(isJsonObject)) return [...list];
  const position = list.findIndex((element) => !isJsonObject(element));
  throw contractError(
    action,
    'bad_record',
    `element ${position} of the list is ${describeKind(list[position])}, an object is expected`,
  );
}

/** What kind of value stands there, for messages. */
export function describeKind(value: Json | undefined): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return isJsonObject(value) ? 'an object' : typeof value === 'object' ? 'a number' : `a ${typeof value}`;
}
