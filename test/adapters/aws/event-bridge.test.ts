import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { eventBus } from '../../../shared/adapters/aws/event-bridge.ts';
import { parseJson } from '../../../shared/base/json.ts';
import type { LakeEvent } from '../../../shared/ports.ts';
import { AwsFault } from '../../fakes/aws-json-server.ts';
import { DEFAULT_BUS, startEventsServer } from '../../fakes/events-server.ts';

const ACCOUNT = '123456789012';
const OWN_BUS = `arn:aws:events:us-east-1:${ACCOUNT}:event-bus/data`;
const FOREIGN_BUS = 'arn:aws:events:eu-central-1:999999999999:event-bus/data';
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
const send = (events: LakeEvent[], bus = DEFAULT_BUS) =>
  eventBus(bus, 's3://lake/prod', ACCOUNT).send(events);
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
  it.each<[name: string, bus: string, code: string | undefined, kind: string, message: RegExp]>([
    [
      'does not exist',
      OWN_BUS,
      undefined,
      'config',
      /:event-bus\/data failed: ResourceNotFoundException.*events\.bus.*Create/,
    ],
    [
      'refuses the source',
      FOREIGN_BUS,
      'NotAuthorizedForSourceException',
      'config',
      /999.*allow another account/,
    ],
    [
      'denies the permission',
      DEFAULT_BUS,
      'AccessDeniedException',
      'config',
      /default failed: AccessDenied.*events\.bus/,
    ],
    ['refuses an event temporarily', DEFAULT_BUS, 'InternalFailure', 'transient', /Run again later/],
    ['gives an unknown reason', DEFAULT_BUS, 'SomethingNew', 'bug', /SomethingNew it was/],
  ])('because it %s fails with its name and the next step', async (_name, bus, code, kind, message) => {
    server.buses.add(FOREIGN_BUS);
    server.faults.refuse = () => (code === undefined ? undefined : refuse(code));
    await expect(send(many(1), bus)).rejects.toMatchObject({ kind, message: expect.stringMatching(message) });
    expect(server.received).toEqual([]);
  });

  it('receives after it was created, without a restart of the program', async () => {
    const bus = eventBus(OWN_BUS, 's3://lake', ACCOUNT);
    await expect(bus.send([event(1)])).rejects.toThrow('ResourceNotFoundException');
    server.buses.add(OWN_BUS);
    await bus.send([event(1)]);
    expect(sequences()).toEqual([1]);
  });
});
