/**
 * Judges each call that a role makes in the local AWS, by the policies that CloudFormation has given to the role and to
 * the bucket there, as far as `../iam/policy.ts` knows them. moto has found the session and checked its signature. What
 * is judged by nobody is counted too, so that the end of a run can say it.
 */
import * as z from 'zod/mini';
import { type JsonObject, isJsonObject, parseJson } from '../../shared/json.ts';
import { type Access, PLACE } from '../fakes/access.ts';
import { type Needed, stringOf } from '../fakes/aws-json-server.ts';
import { neededInEvents } from '../fakes/events-server.ts';
import { neededInGlue } from '../fakes/glue-server.ts';
import { neededInScheduler } from '../fakes/scheduler-server.ts';
import { neededInSecrets } from '../fakes/secrets-server.ts';
import { policyOf } from '../iam/policy.ts';

const documentSchema = z.object({ Statement: z.array(z.unknown()) });
const callSchema = z.object({
  accessKey: z.string(),
  role: z.string(),
  /** Of the role. */
  tags: z.record(z.string(), z.string()),
  /** As moto calls it, e.g. `lambda:Invoke`. */
  action: z.string(),
  /** As moto sees it: right for S3 and SQS. */
  resource: z.string(),
  method: z.string(),
  path: z.string(),
  headers: z.record(z.string(), z.string()),
  body: z.string(),
  /** Of SNS. */
  topic: z.string(),
  /** Of the objects that one call deletes. */
  keys: z.array(z.string()),
  policies: z.array(documentSchema),
  bucketPolicy: z.nullable(documentSchema),
});
type Call = z.infer<typeof callSchema>;

/** A call that was judged: who, what, on what. */
export interface Judged {
  role: string;
  action: string;
  resource: string;
}

/** What nothing here enforces, and why a run passes without it. */
const NOT_JUDGED = [
  'trust policies of roles: sessions are made by the server of the local AWS itself',
  'policies of queues and the topic: they let services of AWS in, which call nothing here',
  'keys of KMS: the stack of this test has none (test/iam/people.slow.test.ts judges their statements)',
  'what Lambda does for a function by its role: logs and events that failed',
  'what Scheduler does by its role: no schedule fires here',
  'Athena, Logs and CloudWatch: nothing of them runs here',
];

export type Judge = ReturnType<typeof newJudge>;

export function newJudge() {
  const allowed: Judged[] = [];
  const refused: Judged[] = [];
  /** Calls of roles that moto authorizes nowhere: the service, the method and the path. */
  const unjudged: string[] = [];
  /** What the role of a session may do, by its access key: as it was at its last call. */
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

  /** For a service that is not moto's. */
  const access: Access = (accessKey, action, resource) =>
    sessions.get(accessKey)?.({ action, resources: [resource] }) ?? false;

  /** For people: which actions were judged, how often, and what was not. */
  function summary(): string {
    const counts = [...Map.groupBy([...allowed, ...refused], ({ action }) => action)];
    const lines = counts.map(([action, calls]) => `  ${action}: ${calls.length}`).sort();
    return [
      'Judged by the policies of the role and of the bucket:',
      ...lines,
      'Judged by nobody:',
      ...[...new Set(unjudged)].map((call) => `  ${call}`),
      ...NOT_JUDGED.map((what) => `  ${what}`),
    ].join('\n');
  }

  return {
    allows: (call: unknown) => judge(z.parse(callSchema, call)),
    ...{ access, allowed, refused, unjudged, summary },
  };
}

/** moto's names of actions that IAM calls otherwise. */
const ACTIONS: Readonly<Record<string, string>> = {
  's3:HeadBucket': 's3:ListBucket',
  'lambda:Invoke': 'lambda:InvokeFunction',
};

/** @throws Error for a service whose resources are not known here, rather than allow by mistake */
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
  if (service === 'scheduler') return neededInScheduler(operation, path, input);
  if (service === 'sns') return [{ action, resources: [topic] }];
  if (service === 'sqs') return [{ action, resources: [resource] }];
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
