import {
  type Json,
  type JsonObject,
  isCanonicalInteger,
  isJsonObject,
  numberText,
  rawNumber,
} from '../json.ts';
import type { ReportService } from '../ports.ts';
import { withoutZeros } from '../records/record-list.ts';
import type { Lookup, UpstreamRecord } from '../reports/definition.ts';
import { contractError, describeKind, objectsOf, wholeData } from './envelope.ts';

/**
 * What the service returns for one upstream record; an empty list where it has nothing (docs/explanation/interface.md, section 4.2;
 * the shape of the response is not documented). Each record returned has the field `lookup.answerField`.
 * @throws BrandReportsError of the service; `contract` where the response names another record
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

/** Numbers are documented, tables hold text: digits where they are canonical, the text otherwise. */
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
 * `data` itself where it names the key, or else `data.list`, or the one object or list in `data`, or `data` itself; null
 * and empty values hold no record.
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
  return values.length === 1 ? values[0] : data;
}

/** I8: a response about another record is refused. One that names no record is accepted, and gets the requested key. */
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
  throw contractError(
    action,
    'other_id',
    `requested ${key.field} ${service.quote(requested)}, but the response is about ${answerField} ${shown}`,
  );
}
