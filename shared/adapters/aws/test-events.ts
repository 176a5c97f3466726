import { isDeepStrictEqual } from 'node:util';
import {
  CreateRegistryCommand,
  CreateSchemaCommand,
  DeleteSchemaCommand,
  DescribeSchemaCommand,
  type SchemasClient,
  TagResourceCommand,
  UpdateSchemaCommand,
} from '@aws-sdk/client-schemas';
import { type Json, type JsonObject, isJsonObject, parseJson, stringifyJson } from '../../json.ts';
import { REGISTRY, schemaName } from './test-event-schemas.ts';
import { awsError, unlessFailedWith } from './errors.ts';

const MISSING = 'NotFoundException';
const EXISTS = 'ConflictException';

/** The tags of a schema, by key. */
type Tags = Readonly<Record<string, string>>;

/** The events that the Lambda console offers for a function, by name. */
export type TestEvents = Readonly<Record<string, Json>>;

/** The shareable test events of Lambda functions, with one schema per function. Failures are BrandReportsErrors. */
export function createTestEvents(client: SchemasClient) {
  const schemaOf = (functionName: string) => ({
    RegistryName: REGISTRY,
    SchemaName: schemaName(functionName),
  });

  async function publish(functionName: string, events: TestEvents, tags: Tags): Promise<void> {
    const schema = schemaOf(functionName);
    const found = await unlessFailedWith(MISSING, client.send(new DescribeSchemaCommand(schema)));
    const isTagged = Object.entries(tags).every(([key, value]) => found?.Tags?.[key] === value);
    if (found?.SchemaArn !== undefined && !isTagged)
      await client.send(new TagResourceCommand({ ResourceArn: found.SchemaArn, Tags: tags }));
    const before = parsed(found?.Content);
    const document = withEvents(before, events);
    if (isDeepStrictEqual(document, before)) return;
    const written = { ...schema, Type: 'OpenApi3' as const, Content: stringifyJson(document) };
    if (found) {
      await client.send(new UpdateSchemaCommand(written));
    } else {
      await unlessFailedWith(EXISTS, client.send(new CreateRegistryCommand({ RegistryName: REGISTRY })));
      await client.send(new CreateSchemaCommand({ ...written, ...(!isTagged && { Tags: tags }) }));
    }
  }

  return {
    /** Saves these events and these tags of their schema; other events of the function, which people saved, stay. */
    publish: (functionName: string, events: TestEvents, tags: Tags = {}) =>
      inRegistry(functionName, 'Saving', publish(functionName, events, tags)),
    /** Removes all events of a function. The registry belongs to the account and stays. */
    remove: (functionName: string) =>
      inRegistry(
        functionName,
        'Removing',
        unlessFailedWith(MISSING, client.send(new DeleteSchemaCommand(schemaOf(functionName)))),
      ),
  };
}

async function inRegistry(functionName: string, doing: string, work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    throw awsError(
      error,
      `${doing} the test events of ${functionName}`,
      `Grant schemas:CreateRegistry on the registry ${REGISTRY}, and schemas:DescribeSchema, CreateSchema, UpdateSchema, TagResource (if the settings have tags) and DeleteSchema on its schema ${schemaName(functionName)}.`,
    );
  }
}

/** The document that the console writes: an OpenAPI document with the events as its examples. */
function withEvents(before: JsonObject, events: TestEvents): JsonObject {
  const components = isJsonObject(before.components) ? before.components : {};
  const examples = isJsonObject(components.examples) ? components.examples : {};
  const own = Object.entries(events).map(([name, value]) => [name, { value }] as const);
  return {
    openapi: '3.0.0',
    info: { version: '1.0.0', title: 'Event' },
    paths: {},
    ...before,
    components: {
      schemas: { Event: { type: 'object' } },
      ...components,
      examples: { ...examples, ...Object.fromEntries(own) },
    },
  };
}

function parsed(content: string | undefined): JsonObject {
  try {
    const document = parseJson(content ?? '{}');
    return isJsonObject(document) ? document : {};
  } catch {
    return {};
  }
}
