/**
 * Serves the part of EventBridge Scheduler that creates schedules in groups. Faults: `deny` refuses every call;
 * `perSecond` throttles calls above that rate; `loseAnswers` performs the call and then breaks the connection; `assume`
 * refuses the role as too new.
 */
import type { IncomingMessage } from 'node:http';
import { SchedulerClient } from '@aws-sdk/client-scheduler';
import { schedulerClientOptions } from '../../shared/adapters/aws/schedules.ts';
import { isJsonObject, type JsonObject, parseJson, stringifyJson } from '../../shared/json.ts';
import { type Access, PLACE, accessKeyOf } from './access.ts';
import { type Needed, stringOf } from './aws-json-server.ts';
import { awsTestOptions } from './aws-test-options.ts';
import { startHttpServer } from './http-server.ts';

const ACTIONS: Readonly<Record<string, string>> = {
  GET: 'ListSchedules',
  POST: 'CreateSchedule',
  PUT: 'UpdateSchedule',
  DELETE: 'DeleteSchedule',
};
const INVALID_ROLE =
  'The execution role you provide must allow AWS EventBridge Scheduler to assume the role.';

interface Stored {
  schedule: JsonObject;
  createdAt: number;
  modifiedAt: number;
}

interface Answer {
  status: number;
  fault?: string;
  output?: JsonObject;
}

/** @param groups the names of the groups that exist */
export async function startSchedulerServer(
  groups: readonly string[],
  { access = () => true }: { access?: Access } = {},
) {
  /** By group, then by name. */
  const held = new Map(groups.map((group) => [group, new Map<string, Stored>()]));
  const faults = { deny: false, perSecond: Number.POSITIVE_INFINITY, loseAnswers: 0, assume: false };
  /** Calls by action, throttled calls included. */
  const calls: string[] = [];
  let second = { at: 0, calls: 0 };

  function isThrottled(): boolean {
    const at = Math.floor(performance.now() / 1000);
    second = { at, calls: second.at === at ? second.calls + 1 : 1 };
    return second.calls > faults.perSecond;
  }

  function answer(request: IncomingMessage, body: Buffer): Answer {
    const { [request.method ?? '']: action = '' } = ACTIONS;
    const parsed = body.length > 0 ? parseJson(body.toString()) : {};
    const input = isJsonObject(parsed) ? parsed : {};
    const { group, name, query } = placeOf(request.url ?? '', input);
    calls.push(action);
    const isAllowed = neededInScheduler(action, request.url ?? '', input).every((needed) =>
      needed.resources.every((on) => access(accessKeyOf(request), needed.action, on, needed.context)),
    );
    if (faults.deny || !isAllowed) return { status: 403, fault: 'AccessDeniedException' };
    if (isThrottled()) return { status: 429, fault: 'ThrottlingException' };
    if (faults.assume)
      return { status: 400, fault: 'ValidationException', output: { Message: INVALID_ROLE } };
    const schedules = held.get(group);
    if (!schedules) return { status: 404, fault: 'ResourceNotFoundException' };
    if (action === 'ListSchedules') return { status: 200, output: page(schedules, query) };
    const stored = schedules.get(name);
    if (action === 'CreateSchedule' ? stored : !stored)
      return stored
        ? { status: 409, fault: 'ConflictException' }
        : { status: 404, fault: 'ResourceNotFoundException' };
    if (action === 'DeleteSchedule') schedules.delete(name);
    else {
      const { ClientToken: _token, GroupName: _group, ...schedule } = input;
      const now = Date.now() / 1000;
      schedules.set(name, { schedule, createdAt: stored?.createdAt ?? now, modifiedAt: now });
    }
    return { status: 200, output: {} };
  }

  function page(schedules: ReadonlyMap<string, Stored>, query: URLSearchParams): JsonObject {
    const from = Number(query.get('NextToken') ?? 0);
    const to = from + Math.min(100, Number(query.get('MaxResults') ?? 50));
    const Schedules = [...schedules].slice(from, to).map(([Name, { schedule, createdAt, modifiedAt }]) => ({
      ...{ Name, State: stringOf(schedule.State) },
      ...{ CreationDate: createdAt, LastModificationDate: modifiedAt },
    }));
    return { Schedules, ...(to < schedules.size && { NextToken: String(to) }) };
  }

  const server = await startHttpServer((request, body, response) => {
    const { status, fault, output = { Message: fault ?? '' } } = answer(request, body);
    if (status === 200 && request.method !== 'GET' && faults.loseAnswers > 0) {
      faults.loseAnswers -= 1;
      response.destroy();
      return;
    }
    response.writeHead(status, {
      'content-type': 'application/json',
      ...(fault && { 'x-amzn-errortype': fault }),
    });
    response.end(stringifyJson(output));
  });
  const client = new SchedulerClient({ ...awsTestOptions(server.url), ...schedulerClientOptions });
  return { ...server, held, faults, calls, client };
}

/** The action on a schedule, and the role that its target is given. */
export function neededInScheduler(operation: string, url: string, input: JsonObject): Needed[] {
  const { group, name } = placeOf(url, input);
  const resource = operation === 'ListSchedules' ? '*/*' : `${group}/${name}`;
  const { RoleArn: role } = isJsonObject(input.Target) ? input.Target : {};
  const context = { 'iam:PassedToService': 'scheduler.amazonaws.com' };
  const passed = role === undefined ? [] : [{ action: 'iam:PassRole', resources: [stringOf(role)], context }];
  return [
    { action: `scheduler:${operation}`, resources: [`arn:aws:scheduler:${PLACE}:schedule/${resource}`] },
    ...passed,
  ];
}

function placeOf(url: string, input: JsonObject) {
  const { pathname, searchParams: query } = new URL(url, 'http://scheduler');
  const group = query.get('groupName') ?? query.get('ScheduleGroup') ?? stringOf(input.GroupName);
  return { group, name: pathname.replace(/^\/schedules\/?/, ''), query };
}
