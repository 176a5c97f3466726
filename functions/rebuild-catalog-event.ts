import * as z from 'zod/mini';
import type { TestEvents } from '../shared/adapters/aws/test-events.ts';
import { BrandReportsError } from '../shared/errors.ts';
import { object, parseInput, text } from '../shared/validation/input.ts';
import { parseJson } from '../shared/json.ts';
import type { Adopted } from './adoption.ts';

/** CloudFormation's request to a custom resource, as far as it is used. */
const request = z.object({
  RequestType: z.enum(['Create', 'Update', 'Delete']),
  ResponseURL: z.string().check(z.refine(isResponseUrl)),
  StackId: z.string(),
  RequestId: z.string(),
  LogicalResourceId: z.string(),
  PhysicalResourceId: z.optional(z.string()),
  ResourceProperties: z.optional(z.unknown()),
  OldResourceProperties: z.optional(z.unknown()),
});

export type CloudFormationRequest = z.infer<typeof request>;

/**
 * @returns the request of CloudFormation, or `undefined` for `{}`: a rebuild started by hand
 * @throws BrandReportsError `config` for everything else
 */
export function parseRebuildEvent(event: unknown): CloudFormationRequest | undefined {
  const parsed = z.safeParse(request, event);
  if (parsed.success) return parsed.data;
  if (typeof event === 'object' && event !== null && Object.keys(event).length === 0) return undefined;
  // I9: the event is not quoted, because anyone with its ResponseURL could respond for the stack.
  throw new BrandReportsError(
    'config',
    'event',
    'the event is neither {}, which rebuilds the catalog by hand, nor a request of CloudFormation to a custom resource: test with {}',
  );
}

const properties = z.object({
  adopted: z._default(object({ bucket: z.optional(z.string()), database: z.optional(z.string()) }), {}),
  testEvents: z._default(
    z.array(
      object({
        functionName: text('the name of a function: letters, digits, "-" and "_", 64 at most', (name) =>
          /^[\w-]{1,64}$/.test(name),
        ),
        events: z.array(
          object({
            name: text('the name of an event: letters, digits, "-" and "_", 64 at most', (name) =>
              /^[\w-]{1,64}$/.test(name),
            ),
            // CloudFormation turns numbers and booleans in properties into text: JSON text stays as it is.
            value: text('an event as JSON text', isJson),
          }),
        ),
      }),
    ),
    [],
  ),
});

/** What the stack tells the function at a deployment. */
export interface RebuildProperties {
  adopted: Adopted;
  /** By function. */
  testEvents: ReadonlyMap<string, TestEvents>;
}

/**
 * The properties `{adopted: {bucket, database}, testEvents: [{functionName, events: [{name, value}]}]}` with each `value`
 * as JSON text. Others are CloudFormation's own, or the nonce.
 * @throws BrandReportsError `config`
 */
export function parseRebuildProperties(resourceProperties: unknown): RebuildProperties {
  const parsed = parseInput(properties, resourceProperties, 'properties', 'ResourceProperties');
  const testEvents = parsed.testEvents.map(
    ({ functionName, events }) =>
      [functionName, Object.fromEntries(events.map(({ name, value }) => [name, parseJson(value)]))] as const,
  );
  return { adopted: parsed.adopted, testEvents: new Map(testEvents) };
}

const nonced = z.object({ nonce: z.string() });

/** An update of the resource, by the nonces before and after it. */
export interface NoncePair {
  from: string;
  to: string;
}

/** @returns `undefined` for a request that updates nothing */
export function noncePair({
  RequestType,
  ResourceProperties,
  OldResourceProperties,
}: CloudFormationRequest): NoncePair | undefined {
  const [to, from] = [ResourceProperties, OldResourceProperties].map(
    (each) => nonced.safeParse(each).data?.nonce,
  );
  return RequestType === 'Update' && from !== undefined && to !== undefined ? { from, to } : undefined;
}

function isJson(text: string): boolean {
  try {
    parseJson(text);
    return true;
  } catch {
    return false;
  }
}

/** A signed address of S3; plain HTTP on the loopback only. */
function isResponseUrl(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' || (protocol === 'http:' && /^(localhost|127(\.\d+){3})$/.test(hostname));
}
