import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { eventBus } from '../../../shared/adapters/aws/event-bridge.ts';
import { parseJson } from '../../../shared/base/json.ts';
import type { LakeEvent } from '../../../shared/ports.ts';
import { AwsFault } from '../../fakes/aws-json-server.ts';
import { DEFAULT_BUS, startEventsServer } from '../../fakes/events-server.ts';

const environment = process.env;
let server: Awaited<ReturnType<typeof startEventsServer>>;

beforeEach(async () => {
  // No wait before a retry.
  jest.spyOn(Math, 'random').mockReturnValue(0);
  server = await startEventsServer();
  process.env = {
    ...environment,
    AWS_ENDPOINT_URL_EVENTBRIDGE: server.url,
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
  };
});
afterEach(async () => {
  process.env = environment;
  jest.restoreAllMocks();
  await server.close();
});

const event = (sequence: number, more: LakeEvent['detail'] = {}): LakeEvent => ({
  type: 'Day Published',
  detail: { day: '2026-11-19', sequence, ...more },
});
const many = (count: number) => Array.from({ length: count }, (_, index) => event(index));
const send = (events: LakeEvent[]) => eventBus(DEFAULT_BUS, 's3://lake/prod').send(events);
const sequences = () => server.received.map(({ detail }) => detail.sequence);
const refuse = (ErrorCode: string) => ({ ErrorCode, ErrorMessage: `${ErrorCode} it was` });

describe('a bus of EventBridge receives', () => {
  it('an event with its type, the lake as its resource, and every digit', async () => {
    await send([event(1, { rows: parseJson('12345678901234567890') })]);
    const detail = { day: '2026-11-19', sequence: 1, rows: parseJson('12345678901234567890') };
    expect(server.received).toEqual([
      { bus: DEFAULT_BUS, type: 'Day Published', resources: ['arn:aws:s3:::lake/prod'], detail },
    ]);
  });

  it.each([
    ['no event in no request', 0, []],
    ['25 events in requests of ten', 25, [10, 10, 5]],
  ])('%s, in order', async (_name, count, requests) => {
    await send(many(count));
    expect(server.requests).toEqual(requests);
    expect(sequences()).toEqual(many(count).map(({ detail }) => detail.sequence));
  });

  it('text that every JSON parser accepts, whatever the service sent', async () => {
    await send([
      event(1, { why: 'a \ud83d cut 😀, \udc00\udbff, \\ud83d, \\\udc00' }),
      event(2, { why: '\\'.repeat(60_000) }),
    ]);
    expect(server.received[0]?.detail.why).toBe('a \ufffd cut 😀, \ufffd\ufffd, \\ud83d, \\\ufffd');
  });

  it('all events after requests that were throttled', async () => {
    server.faults.failNext.push(new AwsFault('ThrottlingException', 'slow down'));
    await send(many(2));
    expect(sequences()).toEqual([0, 1]);
  });
});

describe('a bus that does not receive', () => {
  it.each<[name: string, code: string, kind: string, message: RegExp]>([
    [
      'denies the permission',
      'AccessDeniedException',
      'config',
      /default failed: AccessDenied.*Grant events:/,
    ],
    ['refuses an event temporarily', 'InternalFailure', 'transient', /Run again later/],
    ['gives an unknown reason', 'SomethingNew', 'bug', /SomethingNew it was/],
  ])('because it %s fails with its name and the next step', async (_name, code, kind, message) => {
    server.faults.refuse = () => refuse(code);
    await expect(send(many(1))).rejects.toMatchObject({ kind, message: expect.stringMatching(message) });
    expect(server.received).toEqual([]);
  });
});
