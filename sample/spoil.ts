import { isJsonObject, type Json, type JsonObject } from '../shared/base/json.ts';
import { textOf } from './actions/select.ts';
import { listing } from './cursors.ts';
import type { Envelope } from './envelope.ts';
import type { Fault } from './faults.ts';
import type { RequestLog } from './request.ts';

/** The response to the last request, changed by a content fault. */
export function spoil(
  envelope: Envelope,
  fault: Fault | undefined,
  requests: readonly RequestLog[],
): Envelope {
  switch (fault?.kind) {
    case 'code':
      return { code: fault.code, msg: fault.msg, data: {} };
    case 'other_id':
      return { ...envelope, data: { id: 'another' } };
    case 'missing_list':
      return { ...envelope, data: withLists(envelope.data, () => []) };
    case 'empty_page':
      return withNext({ ...envelope, data: withLists(envelope.data, (key) => [[key, []]]) }, 'more');
    case 'repeated_cursor':
      return withNext(envelope, cursorsSent(requests).at(-1));
    case 'cycling_cursor':
      return withNext(envelope, cursorsSent(requests).at(-2));
    default:
      return envelope;
  }
}

function withLists(data: JsonObject, entriesOf: (key: string) => [string, Json][]): JsonObject {
  const entries = Object.entries(data).flatMap(([key, value]): [string, Json][] =>
    Array.isArray(value) ? entriesOf(key) : key === 'count' ? [[key, 0]] : [[key, value]],
  );
  return Object.fromEntries(entries);
}

/** The response with another next cursor; unchanged if `cursor` is undefined. */
function withNext(envelope: Envelope, cursor: string | undefined): Envelope {
  if (cursor === undefined) return envelope;
  if (isJsonObject(envelope.data.pageInfo))
    return { ...envelope, data: { ...envelope.data, pageInfo: { hasNextPage: true, endCursor: cursor } } };
  return 'cursor' in envelope ? { ...envelope, cursor } : { ...envelope, data: { ...envelope.data, cursor } };
}

/** The cursors that the current read of the list has sent so far; the first page has no cursor. */
function cursorsSent(requests: readonly RequestLog[]): (string | undefined)[] {
  const last = requests.at(-1);
  const sent = requests
    .filter((other) => last !== undefined && isSameListing(other, last))
    .map(({ fields: { cursor, first } }) =>
      textOf(cursor ?? (first === 0 || first === '0' ? undefined : first)),
    );
  return sent.slice(sent.lastIndexOf(undefined));
}

function isSameListing(one: RequestLog, other: RequestLog): boolean {
  return (
    one.brand === other.brand && one.action === other.action && listing(one.fields) === listing(other.fields)
  );
}
