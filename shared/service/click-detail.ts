import {
  type Json,
  type JsonObject,
  isCanonicalInteger,
  isJsonObject,
  numberText,
  rawNumber,
} from '../json.ts';
import type { ReportService } from '../ports.ts';
import { contractError, describeKind, objectsOf } from './records.ts';

/** What names a click, as its record gives it. */
export interface ClickName {
  id: string;
  pbtid?: string | null;
}

/**
 * The details of one click; none where the service knows none (interface document, section 4.2; the shape of the
 * answer is not documented). Each record bears the `id` that was asked for.
 * @throws BrandReportsError of the service; `contract` where the answer names another click
 */
export async function fetchClickDetail(
  service: ReportService,
  action: string,
  click: ClickName,
): Promise<JsonObject[]> {
  const { data } = await service.call(action, lookupFields(click));
  return detailsIn(action, data).map((record) => named(service, action, record, click.id));
}

/** The document wants integers, click records give text: digits where they are canonical, the text otherwise. */
function lookupFields({ id, pbtid }: ClickName): JsonObject {
  const integerId = isCanonicalInteger(id);
  const known = pbtid !== undefined && pbtid !== null && pbtid !== '';
  const fits = known && (!integerId || isCanonicalInteger(pbtid));
  return { id: integerOrText(id), ...(fits && { pbtid: integerOrText(pbtid) }) };
}

function integerOrText(text: string): Json {
  return isCanonicalInteger(text) ? rawNumber(text) : text;
}

/** `data.list`, or the one object or list in `data`, or `data` itself; null and what is empty hold no detail. */
function detailsIn(action: string, data: JsonObject): JsonObject[] {
  const values = Object.values(data);
  const inner = Array.isArray(data.list) ? data.list : values.length === 1 ? values[0] : data;
  if (Array.isArray(inner)) return objectsOf(action, inner);
  if (inner === null) return [];
  const record = isJsonObject(inner) ? inner : data;
  return Object.keys(record).length === 0 ? [] : [record];
}

function named(service: ReportService, action: string, record: JsonObject, asked: string): JsonObject {
  const { id, ...rest } = record;
  if (id === undefined || id === null) return { id: asked, ...rest };
  const met = typeof id === 'string' ? id : numberText(id);
  if (met !== undefined && withoutZeros(met) === withoutZeros(asked)) return record;
  const shown = met === undefined ? describeKind(id) : service.quote(met);
  throw contractError(
    action,
    'other_id',
    `the detail of click ${service.quote(asked)} was asked for, the answer's id is ${shown}`,
  );
}

function withoutZeros(digits: string): string {
  return digits.replace(/^0+(?=\d)/, '');
}
