/*
 * Sends events to a bus of EventBridge. An event may arrive twice: PutEvents can accept some entries of a request and refuse
 * others, and after an error the caller sends all events again in its next run.
 */
import { EventBridgeClient, PutEventsCommand, type PutEventsRequestEntry } from '@aws-sdk/client-eventbridge';
import type { BrandReportsError } from '../../base/errors.ts';
import { stringifyJson } from '../../base/json.ts';
import type { EventSink } from '../../ports.ts';
import { awsClientOptions, awsError } from './errors.ts';

/** The `source` of every event; roles of the stack may send only events with this source. */
export const EVENT_SOURCE = 'brand-reports';

/** So many events have a few kilobytes each, far below the limit of a request (256 kB). */
const MAX_ENTRIES = 10;
const LONE_SURROGATE = /\\ud[89a-f][\da-f]{2}(?<=(?<!\\)(?:\\\\)*\\.{5})/g;

/** @param lakeUrl the `resources` of each event, by which consumers distinguish deployments */
export function eventBus(busArn: string, lakeUrl: string): EventSink {
  const [, partition = '', , region = ''] = busArn.split(':');
  const Resources = [lakeUrl.replace('s3://', `arn:${partition}:s3:::`)];
  const client = new EventBridgeClient({ ...awsClientOptions, region });
  return {
    async send(events) {
      const entries = events.map(({ type: DetailType, detail }) => {
        // Other parsers of JSON refuse half a surrogate pair, which a service may send.
        const Detail = stringifyJson(detail).replaceAll(LONE_SURROGATE, '\\ufffd');
        return { EventBusName: busArn, Source: EVENT_SOURCE, DetailType, Resources, Detail };
      });
      try {
        for (let from = 0; from < entries.length; from += MAX_ENTRIES)
          await putEvents(client, busArn, entries.slice(from, from + MAX_ENTRIES));
      } catch (error) {
        throw refusal(error, busArn);
      }
    },
  };
}

async function putEvents(client: EventBridgeClient, busArn: string, batch: PutEventsRequestEntry[]) {
  const { Entries = [] } = await client.send(new PutEventsCommand({ Entries: batch }));
  // The results are in the order of the entries.
  const refused = batch.flatMap((_entry, index) => {
    const { EventId, ErrorCode: name = 'NoResult', ErrorMessage: message = '' } = Entries[index] ?? {};
    if (EventId !== undefined) return [];
    return refusal({ name, message, $metadata: { httpStatusCode: 400 } }, busArn);
  });
  const [error] = [...refused.filter(({ kind }) => kind !== 'transient'), ...refused];
  if (error) throw error;
}

function refusal(error: unknown, busArn: string): BrandReportsError {
  const nextStep = `Grant events:PutEvents on the bus with the source ${EVENT_SOURCE}, as the stack does: deploy again.`;
  return awsError(error, `Sending events to ${busArn}`, nextStep);
}
