/**
 * Judges each call that a role makes in the local AWS. It applies the policies that CloudFormation has given to the
 * role and to the bucket, if `../iam/policy.ts` supports them. moto has found the session and checked its signature.
 * Calls that nobody judges are counted too.
 */
import * as z from 'zod/mini';
import { type JsonObject, isJsonObject, parseJson } from '../../shared/json.ts';
import { type Access, PLACE } from '../fakes/access.ts';
import { type Needed, stringOf } from '../fakes/aws-json-server.ts';
import { neededInEvents } from '../fakes/events-server.ts';
import { neededInGlue } from '../fakes/glue-server.ts';
import { neededInSecrets } from '../fakes/secrets-server.ts';
import { policyOf } from '../iam/policy.ts';

const documentSchema = z.object({ Statement: z.array(z.unknown()) });
const callSchema = z.object({
  accessKey: z.string(),
  role: z.string(),
  /** The policies of the role. */
  tags: z.record(z.string(), z.string()),
  /** In moto's words, e.g. `lambda:Invoke`. */
  action: z.string(),
  /** In moto's words: right for S3. */
  resource: z.string(),
  method: z.string(),
  path: z.string(),
  headers: z.record(z.string(), z.string()),
  body: z.string(),
  topic: z.string(),
  keys: z.array(z.string()),
  policies: z.array(documentSchema),
  bucketPolicy: z.nullable(documentSchema),
});
type Call = z.infer<typeof callSchema>;

export interface Judged {
  role: string;
  action: string;
  resource: string;
}

export type Judge = ReturnType<typeof newJudge>;

export function newJudge() {
  const allowed: Judged[] = [];
  const refused: Judged[] = [];
  /** Calls of roles that moto never authorizes: the service, the method and the path. */
  const unjudged: string[] = [];
  /** The rights of a session's role at its last call, by the access key. */
  const sessions = new Map<string, (needed: Needed) => boolean>();

  function judge(call: Call): boolean {
    const { role, accessKey, tags, policies, bucketPolicy } = call;
    const ofRole = policyOf(policies.flatMap(({ Statement }) => Statement));
    const everything = { Effect: 'Allow', Action: '*', Resource: '*' };
    const ofBucket = policyOf([everything, ...(bucketPolicy?.Statement ?? [])]);
    const ofPrincipal = Object.fromEntries(
      Object.entries(tags).map(([key, value]) => [`aws:PrincipalTag/${key}`, value]),
    );
    const may = ({ action, resources, context }: Needed) => {
      const request = { 'aws:SecureTransport': 'true', 's3:TlsVersion': '1.3', ...ofPrincipal, ...context };
      return resources.every((resource) => {
        const isAllowed = [ofRole, ofBucket].every((allows) => allows(action, resource, request));
        (isAllowed ? allowed : refused).push({ role, action, resource });
        return isAllowed;
      });
    };
    sessions.set(accessKey, may);
    return neededBy(call).every(may);
  }

  /** For a service that moto does not simulate. */
  const access: Access = (accessKey, action, resource) =>
    sessions.get(accessKey)?.({ action, resources: [resource] }) ?? false;

  return {
    allows: (call: unknown) => judge(z.parse(callSchema, call)),
    ...{ access, allowed, refused, unjudged },
  };
}

/** Names of actions that differ between moto and IAM. */
const ACTIONS: Readonly<Record<string, string>> = {
  's3:HeadBucket': 's3:ListBucket',
  'lambda:Invoke': 'lambda:InvokeFunction',
};

/** @throws Error for a service with unknown resources, so that nothing is allowed by mistake */
function neededBy(call: Call): Needed[] {
  const { action: called, resource, path, headers, keys, topic, body } = call;
  const action = ACTIONS[called] ?? called;
  const [service = '', operation = ''] = action.split(':');
  const input = jsonIn(body);
  if (service === 's3') {
    const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = headers;
    const context = {
      ...(ifMatch !== undefined && { 's3:if-match': ifMatch }),
      ...(ifNoneMatch !== undefined && { 's3:if-none-match': ifNoneMatch }),
    };
    const resources = keys.length > 0 ? keys.map((key) => `${resource}/${key}`) : [resource];
    return [{ action, resources, context }];
  }
  if (service === 'glue') return [neededInGlue(operation, input)];
  if (service === 'secretsmanager') return [neededInSecrets(operation, input)];
  if (service === 'events') return [neededInEvents(operation, input)];
  if (service === 'sns') return [{ action, resources: [topic] }];
  if (service === 'states')
    return [{ action, resources: [stringOf(input.executionArn ?? input.stateMachineArn)] }];
  if (service === 'lambda') {
    const [, name = ''] = /\/functions\/([^/?]+)/.exec(decodeURIComponent(path)) ?? [];
    const resource = name.startsWith('arn:') ? name : `arn:aws:lambda:${PLACE}:function:${name}`;
    return [{ action, resources: [resource] }];
  }
  throw new Error(`nothing is known here of the resources of ${action}`);
}

function jsonIn(body: string): JsonObject {
  if (!body.startsWith('{')) return {};
  const json = parseJson(body);
  return isJsonObject(json) ? json : {};
}
