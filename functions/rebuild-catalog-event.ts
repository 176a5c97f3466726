import * as z from 'zod/mini';
import type { TestEvents } from '../shared/adapters/aws/test-events.ts';
import { BrandReportsError } from '../shared/errors.ts';
import { object, parseInput, text } from '../shared/validation/input.ts';
import { parseJson } from '../shared/json.ts';

/** What CloudFormation asks of a custom resource, as far as the answer needs it. */
const request = z.object({
  RequestType: z.enum(['Create', 'Update', 'Delete']),
  ResponseURL: z.string().check(z.refine(isAnswerable)),
  StackId: z.string(),
  RequestId: z.string(),
  LogicalResourceId: z.string(),
  PhysicalResourceId: z.optional(z.string()),
  ResourceProperties: z.optional(z.unknown()),
  OldResourceProperties: z.optional(z.unknown()),
});

export type CloudFormationRequest = z.infer<typeof request>;

/**
 * @returns the request of CloudFormation, or `undefined` for `{}`: somebody sets up by hand
 * @throws BrandReportsError `config` for everything else
 */
export function parseSetupEvent(event: unknown): CloudFormationRequest | undefined {
  const parsed = z.safeParse(request, event);
  if (parsed.success) return parsed.data;
  if (typeof event === 'object' && event !== null && Object.keys(event).length === 0) return undefined;
  // The event is not quoted: its ResponseURL lets whoever knows it answer for the stack.
  throw new BrandReportsError(
    'config',
    'event',
    'the event is neither {}, which sets up by hand, nor a request of CloudFormation for a custom resource',
  );
}

const properties = z.object({
  testEvents: z._default(
    z.array(
      object({
        functionName: text('the name of a function', (name) => /^[\w-]{1,64}$/.test(name)),
        events: z.array(
          object({
            name: text("an event's name: letters, digits, - and _", (name) => /^[\w-]{1,64}$/.test(name)),
            // CloudFormation makes text of every number and boolean in properties: JSON text stays what it is.
            value: text('an event as JSON text', isJson),
          }),
        ),
      }),
    ),
    [],
  ),
});

/**
 * The test events of each function, from `{testEvents: [{functionName, events: [{name, value}]}]}` with each `value`
 * as JSON text; other properties are CloudFormation's or there to make a deployment differ.
 * @throws BrandReportsError `config`
 */
export function parseTestEvents(resourceProperties: unknown): Map<string, TestEvents> {
  const { testEvents } = parseInput(properties, resourceProperties, 'properties', 'ResourceProperties');
  return new Map(
    testEvents.map(({ functionName, events }) => [
      functionName,
      Object.fromEntries(events.map(({ name, value }) => [name, parseJson(value)])),
    ]),
  );
}

const nonced = z.object({ nonce: z.iso.datetime() });

/** CloudFormation takes an update back by an update to what was before: to an earlier nonce. */
export function isRollback({ ResourceProperties, OldResourceProperties }: CloudFormationRequest): boolean {
  const [next, before] = [ResourceProperties, OldResourceProperties].map((of) => nonced.safeParse(of).data);
  return next !== undefined && before !== undefined && next.nonce < before.nonce;
}

function isJson(text: string): boolean {
  try {
    parseJson(text);
    return true;
  } catch {
    return false;
  }
}

/** A signed address of S3; plain HTTP on the loopback alone. */
function isAnswerable(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' || (protocol === 'http:' && /^(localhost|127(\.\d+){3})$/.test(hostname));
}
