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
import { inAws, unlessFailedWith } from './errors.ts';

const MISSING = 'NotFoundException';
const EXISTS = 'ConflictException';

/** The tags of a schema, by key. */
type Tags = Readonly<Record<string, string>>;

/** The events that the Lambda console offers for a function, by name. */
export type TestEvents = Readonly<Record<string, Json>>;

/**
 * Saves the shareable test events of a function, in one schema with these tags. Other events of the function, which
 * people saved, stay. Failures are BrandReportsErrors.
 */
export function publishTestEvents(
  client: SchemasClient,
  functionName: string,
  events: TestEvents,
  tags: Tags,
): Promise<void> {
  return inRegistry(functionName, 'Saving', publish(client, functionName, events, tags));
}

/** Removes all events of a function. The registry belongs to the account and stays. */
export async function removeTestEvents(client: SchemasClient, functionName: string): Promise<void> {
  const removal = client.send(new DeleteSchemaCommand(schemaOf(functionName)));
  await inRegistry(functionName, 'Removing', unlessFailedWith([MISSING], removal));
}

function schemaOf(functionName: string) {
  return { RegistryName: REGISTRY, SchemaName: schemaName(functionName) };
}

async function publish(client: SchemasClient, functionName: string, events: TestEvents, tags: Tags) {
  const schema = schemaOf(functionName);
  const found = await unlessFailedWith([MISSING], client.send(new DescribeSchemaCommand(schema)));
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
    await unlessFailedWith([EXISTS], client.send(new CreateRegistryCommand({ RegistryName: REGISTRY })));
    await client.send(new CreateSchemaCommand({ ...written, ...(!isTagged && { Tags: tags }) }));
  }
}

function inRegistry<T>(functionName: string, doing: string, work: Promise<T>): Promise<T> {
  return inAws(
    `${doing} the test events of ${functionName}`,
    `Grant schemas:CreateRegistry on the registry ${REGISTRY}, and schemas:DescribeSchema, CreateSchema, UpdateSchema, TagResource (if the settings have tags) and DeleteSchema on its schema ${schemaName(functionName)}.`,
    work,
  );
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
