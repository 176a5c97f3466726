/*
 * Sends events to a bus of EventBridge. An event may arrive twice: PutEvents can accept some entries of a request and refuse
 * others. Only refused entries are sent again here, but after an error the caller keeps all events for its next run.
 */
import type { EventBridgeClient, PutEventsRequestEntry } from '@aws-sdk/client-eventbridge';
import type { BrandReportsError } from '../../errors.ts';
import { stringifyJson } from '../../json.ts';
import type { EventSink, LakeEvent } from '../../ports.ts';
import { sleepWithJitter } from '../system-clock.ts';
import { awsClientOptions, awsError } from './errors.ts';

/** The `source` of every event; roles of the stack may send only events with this source. */
export const EVENT_SOURCE = 'brand-reports';

/** The limit of a request, and therefore of an event. */
const MAX_BYTES = 256 * 1024;
const MAX_ENTRIES = 10;
const EVENT_RETRY = { maxAttempts: 6, baseMs: 100, capMs: 5_000 };

/** Loads the client with the first event, because most runs have no event. */
const loadSdk = () => import('@aws-sdk/client-eventbridge');

/** @param lakeUrl the `resources` of each event, by which consumers distinguish deployments @param account of this program */
export function eventBus(busArn: string, lakeUrl: string, account: string): EventSink {
  const [, partition = '', , region = '', owner = ''] = busArn.split(':');
  const Resources = [lakeUrl.replace('s3://', `arn:${partition}:s3:::`)];
  // PutEvents reports success for a bus that does not exist. The default bus always exists, and only a bus's own
  // account may describe it.
  const isChecked = owner === account && !busArn.endsWith(':event-bus/default');
  let opened: EventBridgeClient | undefined;
  const open = async () => {
    const { DescribeEventBusCommand, EventBridgeClient } = await loadSdk();
    const client = new EventBridgeClient({ ...awsClientOptions, region });
    if (isChecked) await client.send(new DescribeEventBusCommand({ Name: busArn }));
    return client;
  };
  return {
    async send(events) {
      const entries = events.map(({ type: DetailType, detail }) => {
        const entry = { EventBusName: busArn, Source: EVENT_SOURCE, DetailType, Resources };
        return { ...entry, Detail: detailText(detail, MAX_BYTES - sizeOf(entry)) };
      });
      try {
        opened ??= await open();
        for (const batch of batchesOf(entries)) await putEvents(opened, busArn, batch);
      } catch (error) {
        throw refusal(error, busArn);
      }
    },
  };
}

async function putEvents(client: EventBridgeClient, busArn: string, batch: PutEventsRequestEntry[]) {
  const { PutEventsCommand } = await loadSdk();
  let left = batch;
  for (let retry = 0; left.length > 0; retry++) {
    if (retry > 0) await sleepWithJitter(retry - 1, EVENT_RETRY);
    const { Entries = [] } = await client.send(new PutEventsCommand({ Entries: left }));
    // The results are in the order of the entries.
    const refused = left.flatMap((entry, index) => {
      const { EventId, ErrorCode: name = 'NoResult', ErrorMessage: message = '' } = Entries[index] ?? {};
      if (EventId !== undefined) return [];
      return [{ entry, error: refusal({ name, message, $metadata: { httpStatusCode: 400 } }, busArn) }];
    });
    const isLast = retry + 1 === EVENT_RETRY.maxAttempts;
    const final = refused.find(({ error }) => isLast || error.kind !== 'transient');
    if (final) throw final.error;
    left = refused.map(({ entry }) => entry);
  }
}

function refusal(error: unknown, busArn: string): BrandReportsError {
  const allowed = `Allowed in the setting events.bus: the name of a bus in the deployment's account and region, or the ARN of any bus. Create this bus, or correct the setting, and deploy.`;
  const policy = `If the bus exists, its own policy has to allow another account events:PutEvents with the source ${EVENT_SOURCE}.`;
  return awsError(error, `Sending events to ${busArn}`, `${allowed} ${policy}`);
}

/** The size as AWS counts it. */
function sizeOf({
  Source = '',
  DetailType = '',
  Detail = '',
  Resources = [],
}: PutEventsRequestEntry): number {
  return [Source, DetailType, Detail, ...Resources].reduce(
    (bytes, text) => bytes + Buffer.byteLength(text),
    0,
  );
}

/** The escape of half a surrogate pair: a service may send it, and other JSON parsers refuse it. */
const LONE_SURROGATE = /\\ud[89a-f][\da-f]{2}(?<=(?<!\\)(?:\\\\)*\\.{5})/g;

/** Leaves out the largest fields: otherwise an event that is too large, and all events after it, would fail forever. */
function detailText(detail: LakeEvent['detail'], maxBytes: number, omitted: string[] = []): string {
  const whole = { ...detail, ...(omitted.length > 0 && { omitted }) };
  const text = stringifyJson(whole).replaceAll(LONE_SURROGATE, '\\ufffd');
  if (Buffer.byteLength(text) <= maxBytes) return text;
  const sizes = Object.entries(detail).map(([name, value]) => ({ name, size: stringifyJson(value).length }));
  const { name } = sizes.reduce((a, b) => (b.size > a.size ? b : a), { name: '', size: 0 });
  const { [name]: _largest, ...rest } = detail;
  return name === '' ? '{}' : detailText(rest, maxBytes, [...omitted, name]);
}

function batchesOf(entries: readonly PutEventsRequestEntry[]): PutEventsRequestEntry[][] {
  const batches: PutEventsRequestEntry[][] = [];
  let bytes = 0;
  for (const entry of entries) {
    const size = sizeOf(entry);
    const last = batches.at(-1);
    const fits = last !== undefined && last.length < MAX_ENTRIES && bytes + size <= MAX_BYTES;
    if (fits) last.push(entry);
    else batches.push([entry]);
    bytes = fits ? bytes + size : size;
  }
  return batches;
}
