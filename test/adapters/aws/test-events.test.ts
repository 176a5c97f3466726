import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type TestEvents,
  publishTestEvents,
  removeTestEvents,
} from '../../../shared/adapters/aws/test-events.ts';
import { parseJson } from '../../../shared/json.ts';
import { startSchemasServer } from '../../fakes/schemas-server.ts';

const REGISTRY = 'lambda-testevent-schemas';
const KEY = `${REGISTRY}/_BrandReports-order_list-schema`;
const FUNCTION = 'BrandReports-order_list';
const EVENTS = { 'Sync-now': {}, 'Read-a-range-again': { brand: 'acme', from: '2026-01-01' } };

describe('test events', () => {
  let server: Awaited<ReturnType<typeof startSchemasServer>>;

  const publish = (name: string, events: TestEvents, tags = {}) =>
    publishTestEvents(server.client, name, events, tags);
  const schema = () => server.schemas.get(KEY);
  const document = () => parseJson(schema()?.Content ?? 'null');

  beforeEach(async () => {
    server = await startSchemasServer();
  });
  afterEach(async () => {
    server.client.destroy();
    await server.close();
  });

  it('are examples of an OpenAPI document in the registry of the console', async () => {
    await publish(FUNCTION, EVENTS);
    expect([...server.registries]).toEqual([REGISTRY]);
    expect(schema()).toMatchObject({ Type: 'OpenApi3', version: 1 });
    expect(document()).toEqual({
      openapi: '3.0.0',
      info: { version: '1.0.0', title: 'Event' },
      paths: {},
      components: {
        schemas: { Event: { type: 'object' } },
        examples: {
          'Sync-now': { value: {} },
          'Read-a-range-again': { value: { brand: 'acme', from: '2026-01-01' } },
        },
      },
    });
  });

  it('are added to an existing registry', async () => {
    server.registries.add(REGISTRY);
    await publish(FUNCTION, EVENTS);
    expect(schema()).toBeDefined();
  });

  it('are written only if they differ', async () => {
    await publish(FUNCTION, EVENTS);
    await publish(FUNCTION, EVENTS);
    expect(schema()?.version).toBe(1);
    await publish(FUNCTION, { 'Sync-now': { brand: 'acme' } });
    expect(schema()?.version).toBe(2);
    expect(document()).toMatchObject({
      components: { examples: { 'Sync-now': { value: { brand: 'acme' } } } },
    });
  });

  it('are tagged when they are created, and later if the tags change, without removing other people’s tags', async () => {
    await publish(FUNCTION, EVENTS, { team: 'data' });
    expect(schema()?.tags).toEqual({ team: 'data' });
    await publish(FUNCTION, EVENTS, { team: 'data' });
    expect(server.counts.tagged).toBe(0);
    Object.assign(schema()?.tags ?? {}, { mine: 'x' });
    await publish(FUNCTION, EVENTS, { team: 'sales', cost: '7' });
    expect(schema()).toMatchObject({ version: 1, tags: { mine: 'x', team: 'sales', cost: '7' } });
    expect(server.counts.tagged).toBe(1);
  });

  it('leave events that people have saved alone', async () => {
    server.registries.add(REGISTRY);
    const theirs = { openapi: '3.0.0', components: { examples: { mine: { value: { big: 1 } } } } };
    server.schemas.set(KEY, { Type: 'OpenApi3', Content: JSON.stringify(theirs), version: 3, tags: {} });
    await publish(FUNCTION, EVENTS);
    expect(document()).toMatchObject({
      components: { examples: { mine: { value: { big: 1 } }, 'Sync-now': { value: {} } } },
    });
  });

  it.each(['no JSON', '[]', '{"components":{"examples":7}}'])(
    'replace a document that is %j',
    async (text) => {
      server.registries.add(REGISTRY);
      server.schemas.set(KEY, { Type: 'OpenApi3', Content: text, version: 1, tags: {} });
      await publish(FUNCTION, EVENTS);
      expect(document()).toMatchObject({ components: { examples: { 'Sync-now': { value: {} } } } });
    },
  );

  it('are removed with their function; the registry stays with the events of other functions', async () => {
    await publish(FUNCTION, EVENTS);
    await publish('other', EVENTS);
    await removeTestEvents(server.client, FUNCTION);
    await removeTestEvents(server.client, FUNCTION);
    expect([...server.schemas.keys()]).toEqual([`${REGISTRY}/_other-schema`]);
    expect([...server.registries]).toEqual([REGISTRY]);
  });

  it.each([
    ['saving', () => publish(FUNCTION, EVENTS)],
    ['removing', () => removeTestEvents(server.client, FUNCTION)],
  ])('name when %s the missing permissions', async (_name, act) => {
    server.faults.deny = true;
    await expect(act()).rejects.toMatchObject({
      kind: 'config',
      code: 'aws_refused',
      message: expect.stringMatching(
        /BrandReports-order_list failed.*schemas:CreateRegistry.*_BrandReports-order_list-schema/,
      ),
    });
  });
});
