/**
 * Serves the part of EventBridge's schema registry that stores the shared test events of the Lambda console.
 * Fault: `deny` refuses every call.
 */
import type { IncomingMessage } from 'node:http';
import { SchemasClient } from '@aws-sdk/client-schemas';
import { isJsonObject, parseJson } from '../../shared/json.ts';
import { type Access, PLACE, accessKeyOf } from './access.ts';
import { stringOf } from './aws-json-server.ts';
import { awsTestOptions } from './aws-test-options.ts';
import { startHttpServer } from './http-server.ts';

const ACTIONS: Readonly<Record<string, string>> = {
  'POST registry': 'CreateRegistry',
  'GET schema': 'DescribeSchema',
  'POST schema': 'CreateSchema',
  'PUT schema': 'UpdateSchema',
  'DELETE schema': 'DeleteSchema',
};

interface Schema {
  Type: string;
  Content: string;
  version: number;
  tags: Record<string, string>;
}

interface Answer {
  status: number;
  fault?: string;
  output?: object;
}

function arnOf(key: string): string {
  return `arn:aws:schemas:${PLACE}:schema/${key}`;
}

function tagsOf(body: Buffer): Record<string, string> {
  const input = parseJson(body.toString());
  const given = isJsonObject(input) && isJsonObject(input.tags) ? input.tags : {};
  return Object.fromEntries(Object.entries(given).map(([key, value]) => [key, stringOf(value)]));
}

export async function startSchemasServer({ access = () => true }: { access?: Access } = {}) {
  const registries = new Set<string>();
  const schemas = new Map<string, Schema>();
  const counts = { tagged: 0 };
  /** Every call is refused. */
  const faults = { deny: false };

  function tag(role: string, arn: string, body: Buffer): Answer {
    const stored = [...schemas].find(([key]) => arnOf(key) === arn)?.[1];
    if (!access(role, 'schemas:TagResource', arn)) return { status: 403, fault: 'ForbiddenException' };
    if (!stored) return { status: 404, fault: 'NotFoundException' };
    Object.assign(stored.tags, tagsOf(body));
    counts.tagged += 1;
    return { status: 204 };
  }

  function answer(request: IncomingMessage, body: Buffer): Answer {
    if (faults.deny) return { status: 403, fault: 'ForbiddenException' };
    const [, arn] = /^\/tags\/(.+)$/.exec(request.url ?? '') ?? [];
    if (arn !== undefined) return tag(accessKeyOf(request), decodeURIComponent(arn), body);
    const [, registry = '', schema] =
      /^\/v1\/registries\/name\/([^/]+)(?:\/schemas\/name\/([^/]+))?$/.exec(request.url ?? '') ?? [];
    const call = `${request.method} ${schema === undefined ? 'registry' : 'schema'}`;
    const resources = [`registry/${registry}`, ...(schema ? [`schema/${registry}/${schema}`] : [])];
    const may = (resource: string) =>
      access(accessKeyOf(request), `schemas:${ACTIONS[call]}`, `arn:aws:schemas:${PLACE}:${resource}`);
    if (!resources.every(may)) return { status: 403, fault: 'ForbiddenException' };
    if (call === 'POST registry') {
      if (registries.has(registry)) return { status: 409, fault: 'ConflictException' };
      registries.add(registry);
      return { status: 201, output: { RegistryName: registry } };
    }
    const key = `${registry}/${schema}`;
    const stored = schemas.get(key);
    if (!registries.has(registry) || (!stored && call !== 'POST schema'))
      return { status: 404, fault: 'NotFoundException' };
    if (stored && call === 'POST schema') return { status: 409, fault: 'ConflictException' };
    if (call === 'GET schema')
      return {
        status: 200,
        output: { ...stored, SchemaArn: arnOf(key), tags: stored?.tags },
      };
    if (call === 'DELETE schema') {
      schemas.delete(key);
      return { status: 204 };
    }
    const input = parseJson(body.toString());
    const { Type, Content } = isJsonObject(input) ? input : {};
    const given = tagsOf(body);
    if (Object.keys(given).length > 0 && !access(accessKeyOf(request), 'schemas:TagResource', arnOf(key)))
      return { status: 403, fault: 'ForbiddenException' };
    schemas.set(key, {
      Type: stringOf(Type),
      Content: stringOf(Content),
      version: (stored?.version ?? 0) + 1,
      tags: { ...stored?.tags, ...given },
    });
    return { status: call === 'POST schema' ? 201 : 200, output: {} };
  }

  const server = await startHttpServer((request, body, response) => {
    const { status, fault, output = { Message: fault } } = answer(request, body);
    response.writeHead(status, {
      'content-type': 'application/json',
      ...(fault && { 'x-amzn-errortype': fault }),
    });
    response.end(status === 204 ? undefined : JSON.stringify(output));
  });
  return {
    ...server,
    registries,
    schemas,
    counts,
    faults,
    client: new SchemasClient(awsTestOptions(server.url)),
  };
}
