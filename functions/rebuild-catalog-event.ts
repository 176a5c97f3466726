import * as z from 'zod/mini';
import { BrandReportsError } from '../shared/errors.ts';
import { object, parseInput, text } from '../shared/validation/input.ts';

/** The fields of CloudFormation's request to a custom resource that the function uses. */
const request = z.object({
  RequestType: z.enum(['Create', 'Update', 'Delete']),
  ResponseURL: z.string(),
  StackId: z.string(),
  RequestId: z.string(),
  LogicalResourceId: z.string(),
  PhysicalResourceId: z.optional(z.string()),
  ResourceProperties: z.optional(z.unknown()),
  OldResourceProperties: z.optional(z.unknown()),
});

export type CloudFormationRequest = z.infer<typeof request>;

/** The region, and the server that stands for AWS. */
export interface ResponsePlace {
  region: string;
  /** If the environment names one: the local AWS of the tests. */
  endpoint?: string | undefined;
}

/**
 * @returns the request of CloudFormation, or `undefined` for `{}`: a rebuild started by hand
 * @throws BrandReportsError `config` for everything else
 */
export function parseRebuildEvent(event: unknown, place: ResponsePlace): CloudFormationRequest | undefined {
  const parsed = z.safeParse(request, event);
  if (parsed.success && isResponseUrl(parsed.data.ResponseURL, place)) return parsed.data;
  if (typeof event === 'object' && event !== null && Object.keys(event).length === 0) return undefined;
  // I9: the message does not quote the event, because anyone with its ResponseURL could respond for the stack.
  throw new BrandReportsError(
    'config',
    'event',
    'the event is neither {}, which rebuilds the catalog by hand, nor a request of CloudFormation to a custom resource. Test with {}',
  );
}

const properties = z.object({
  settings: object({
    hash: text('a SHA-256 in hexadecimal digits', (hash) => /^[0-9a-f]{64}$/.test(hash)),
    packed: text('settings as a deployment packs them', (packed) => packed !== ''),
  }),
});

/**
 * Parses the properties that the stack passes to the function at a deployment. CloudFormation's own properties and the
 * nonce are ignored.
 * @throws BrandReportsError `config`
 */
export function parseRebuildProperties(resourceProperties: unknown) {
  return parseInput(properties, resourceProperties, 'properties', 'ResourceProperties');
}

const nonced = z.object({ nonce: z.string() });

/** An update of the resource: the nonces before and after it. */
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

/**
 * The domains of S3 in the partitions of AWS, by the start of their region names. All other regions have
 * `amazonaws.com`.
 */
const S3_DOMAINS: readonly (readonly [string, string])[] = [
  ['cn-', 'amazonaws.com.cn'],
  ['eusc-', 'amazonaws.eu'],
  ['us-iso-', 'c2s.ic.gov'],
  ['us-isob-', 'sc2s.sgov.gov'],
  ['us-isof-', 'csp.hci.ic.gov'],
  ['eu-isoe-', 'cloud.adc-e.uk'],
];

/**
 * Whether CloudFormation takes responses at this address: an object of its bucket in the region. The address comes with
 * the event. Without this check, whoever may start the function could have it send requests from inside the account. A
 * domain such as `amazonaws.com` proves nothing: anybody's machines and buckets have such names.
 */
function isResponseUrl(address: string, { region, endpoint }: ResponsePlace): boolean {
  if (!URL.canParse(address)) return false;
  const { origin, username, password } = new URL(address);
  if (username !== '' || password !== '') return false;
  if (endpoint) return origin === new URL(endpoint).origin;
  const bucket = `cloudformation-custom-resource-response-${region.replaceAll('-', '')}`;
  const domain = S3_DOMAINS.find(([start]) => region.startsWith(start))?.[1] ?? 'amazonaws.com';
  const hosts = ['', `.${region}`, `-${region}`, `.dualstack.${region}`].map(
    (place) => `${bucket}.s3${place}.${domain}`,
  );
  return hosts.some((host) => origin === `https://${host}`);
}
