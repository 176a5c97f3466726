/**
 * Serves EventBridge's PutEvents over real HTTP. Of the events in one request, some can be accepted
 * and others refused. Faults: `refuse` decides about each event; `failNext` answers whole requests with an error.
 */
import { isJsonObject, type JsonObject, parseJson } from '../../shared/base/json.ts';
import { type Access, PLACE } from './access.ts';
import { AwsFault, type Needed, startAwsJsonServer, stringOf } from './aws-json-server.ts';

export const DEFAULT_BUS = `arn:aws:events:${PLACE}:event-bus/default`;

export interface ReceivedEvent {
  bus: string;
  type: string;
  resources: unknown;
  detail: JsonObject;
}

const MAX_BYTES = 256 * 1024;

export async function startEventsServer({ access = () => true }: { access?: Access } = {}) {
  const received: ReceivedEvent[] = [];
  const requests: number[] = [];
  const faults = {
    failNext: [] as AwsFault[],
    refuse: (_event: ReceivedEvent): { ErrorCode: string; ErrorMessage: string } | undefined => undefined,
  };
  const server = await startAwsJsonServer(
    {
      PutEvents: ({ Entries }) => {
        const failure = faults.failNext.shift();
        if (failure) throw failure;
        const entries = Array.isArray(Entries) ? Entries.filter(isJsonObject) : [];
        requests.push(entries.length);
        const bytes = entries.reduce((sum, entry) => sum + sizeOf(entry), 0);
        if (entries.length > 10 || bytes > MAX_BYTES) throw new AwsFault('ValidationException', 'too large');
        const results = entries.map((entry) => {
          const detail = parseJson(stringOf(entry.Detail));
          const event = {
            bus: stringOf(entry.EventBusName),
            type: stringOf(entry.DetailType),
            resources: entry.Resources,
            detail: isJsonObject(detail) ? detail : {},
          };
          const refused = faults.refuse(event);
          if (!refused) received.push(event);
          return refused ?? { EventId: `event-${received.length}` };
        });
        const FailedEntryCount = results.filter((result) => 'ErrorCode' in result).length;
        return { FailedEntryCount, Entries: results };
      },
    },
    neededInEvents,
    access,
  );
  return { ...server, received, requests, faults };
}

function neededInEvents(operation: string, { Entries }: JsonObject): Needed {
  const entries = Array.isArray(Entries) ? Entries.filter(isJsonObject) : [];
  const action = `events:${operation}`;
  const sources = [...new Set(entries.map(({ Source }) => stringOf(Source)))];
  return {
    action,
    resources: entries.map(({ EventBusName }) => stringOf(EventBusName)),
    context: { 'events:source': sources.join() },
  };
}

function sizeOf({ Source, DetailType, Detail, Resources }: JsonObject): number {
  const texts = [Source, DetailType, Detail, ...(Array.isArray(Resources) ? Resources : [])];
  return texts.reduce((bytes: number, text) => bytes + Buffer.byteLength(stringOf(text)), 0);
}
