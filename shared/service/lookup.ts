import {
  type Json,
  type JsonObject,
  isCanonicalInteger,
  isJsonObject,
  numberText,
  rawNumber,
} from '../base/json.ts';
import type { ReportService } from '../ports.ts';
import { withoutZeros } from '../records/record-list.ts';
import type { Lookup, UpstreamRecord } from '../reports/definition.ts';
import { contractError, describeKind, isNothing, objectsOf, wholeData } from './envelope.ts';

/**
 * Looks up one upstream record. Returns the service's records for it, or an empty list if the service has no record
 * (docs/explanation/interface.md, section 4.2; the shape of the response is not documented). Each returned record has
 * the field `lookup.answerField`.
 * @throws BrandReportsError of the service; `contract` if the response is about another record
 */
export async function lookUp(
  service: ReportService,
  action: string,
  lookup: Lookup,
  upstream: UpstreamRecord,
): Promise<JsonObject[]> {
  const response = await service.call(action, lookupFields(lookup, upstream));
  return recordsIn(action, wholeData(response), lookup).map((record) =>
    withKey(service, action, lookup, record, upstream.key),
  );
}

/** Numbers are documented, but tables contain text: canonical digits are sent as numbers, other values as text. */
function lookupFields({ key, optional }: Lookup, upstream: UpstreamRecord): JsonObject {
  const integerKey = isCanonicalInteger(upstream.key);
  const more = optional.flatMap(({ column, field }) => {
    const value = upstream.optional[column] ?? '';
    const fits = value !== '' && (!integerKey || isCanonicalInteger(value));
    return fits ? [[field, integerOrText(value)] as const] : [];
  });
  return { [key.field]: integerOrText(upstream.key), ...Object.fromEntries(more) };
}

function integerOrText(text: string): Json {
  return isCanonicalInteger(text) ? rawNumber(text) : text;
}

/**
 * The records of a response, from the first of these places that fits: `data` itself if it has the key, `data.list`,
 * the only value in `data`, or `data` itself. Null and empty values contain no record.
 */
function recordsIn(action: string, data: JsonObject, { answerField }: Lookup): JsonObject[] {
  const inner = Object.hasOwn(data, answerField) ? data : wrapped(data);
  if (inner === null) return [];
  const records = Array.isArray(inner) ? objectsOf(action, inner) : [isJsonObject(inner) ? inner : data];
  return records.filter((record) => Object.keys(record).length > 0);
}

function wrapped(data: JsonObject): Json | undefined {
  const values = Object.values(data);
  if (Array.isArray(data.list)) return data.list;
  if (data.list !== undefined && isNothing(data.list)) return null;
  return values.length === 1 ? values[0] : data;
}

/** I8: refuses a record of another key. A record without a key is accepted and gets the requested key. */
function withKey(
  service: ReportService,
  action: string,
  { key, answerField }: Lookup,
  record: JsonObject,
  requested: string,
): JsonObject {
  const { [answerField]: named, ...rest } = record;
  if (named === undefined || named === null) return { [answerField]: requested, ...rest };
  const found = typeof named === 'string' ? named : numberText(named);
  if (found !== undefined && withoutZeros(found) === withoutZeros(requested)) return record;
  const shown = found === undefined ? describeKind(named) : service.quote(found);
  const message = `requested ${key.field} ${service.quote(requested)}, but the response is about ${answerField} ${shown}`;
  throw contractError(action, 'other_id', message);
}
