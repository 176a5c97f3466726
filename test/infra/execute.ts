import type { Template } from 'aws-cdk-lib/assertions';
import { ExecutionError, StateMachine } from 'aws-local-stepfunctions';
import * as z from 'zod/mini';
import { isJsonObject } from '../../shared/base/json.ts';

export interface Doubles {
  /** Replaces every function; the `name` of a thrown error is the error of the task. */
  invoke: (payload: unknown) => Promise<unknown>;
}

export interface Ended {
  output?: unknown;
  error?: { name: string; cause: string };
  /** The states that were entered, with their inputs, including the states of child executions. */
  entered: { name: string; input: unknown }[];
  /** The tasks that were retried, with a name for each retry. */
  retried: string[];
}

const MACHINE = 'arn:aws:states:eu-central-1:123456789012:stateMachine:BrandReports-backfill';
/** The limit of a state's input and output, in bytes. */
const MAX_STATE_BYTES = 262_144;

const json = z.json();
const machineSchema = z.object({
  Properties: z.object({
    DefinitionString: z.object({ 'Fn::Join': z.tuple([z.literal(''), z.array(z.unknown())]) }),
  }),
});
/** The interpreter itself checks the definition. */
const definitionSchema = z.custom<ConstructorParameters<typeof StateMachine>[0]>(isJsonObject);
const taskSchema = z.object({ Type: z.literal('Task'), Resource: z.string() });

/** Executes the definition of the template's only state machine, without waiting for states and retries. */
export async function execute(template: Template, input: unknown, doubles: Doubles): Promise<Ended> {
  const definition = definitionIn(template);
  const tasks = tasksIn(definition);
  const machine = new StateMachine(z.parse(definitionSchema, definition), {
    validationOptions: { checkArn: false },
  });
  const { result, eventLogs } = machine.run(z.parse(json, input), {
    overrides: {
      taskResourceLocalHandlers: Object.fromEntries(
        tasks.map(([name, resource]) => [name, (given) => perform(resource, given, doubles)]),
      ),
      waitTimeOverrides: { Wait: 0 },
      retryIntervalOverrides: Object.fromEntries(tasks.map(([name]) => [name, 0])),
    },
  });
  const observed = observe(eventLogs);
  const ended = await result.then((output) => ({ output }), failure);
  return { ...ended, ...(await observed) };
}

/** The definition as CloudFormation would produce it: references become names. */
function definitionIn(template: Template): unknown {
  const machines = Object.values(template.findResources('AWS::StepFunctions::StateMachine'));
  const [{ Properties }] = z.parse(z.tuple([machineSchema]), machines);
  const [, parts] = Properties.DefinitionString['Fn::Join'];
  return JSON.parse(parts.map((part) => (typeof part === 'string' ? part : nameOf(part))).join(''));
}

function nameOf(reference: unknown): string {
  const { Ref } = z.parse(z.looseObject({ Ref: z.optional(z.string()) }), reference);
  return Ref === 'AWS::Partition' ? 'aws' : MACHINE;
}

/** Name and resource of every task, including the tasks of child executions. */
function tasksIn(definition: unknown): [name: string, resource: string][] {
  if (!isJsonObject(definition)) return [];
  return Object.entries(definition).flatMap(([name, inside]) => {
    const task = z.safeParse(taskSchema, inside);
    return task.success ? [[name, task.data.Resource]] : tasksIn(inside);
  });
}

async function perform(resource: string, given: unknown, { invoke }: Doubles): Promise<z.infer<typeof json>> {
  if (resource !== 'arn:aws:states:::lambda:invoke') throw new Error(`${resource} has no double`);
  const { Payload } = z.parse(z.object({ FunctionName: z.string(), Payload: json }), given);
  // Parsed from text, as after a transfer.
  return { Payload: z.parse(json, JSON.parse(JSON.stringify(await invoke(Payload)))) };
}

function failure(thrown: unknown): Pick<Ended, 'error'> {
  if (!(thrown instanceof ExecutionError) || !(thrown.cause instanceof Error)) throw thrown;
  return { error: { name: thrown.cause.name, cause: thrown.cause.message } };
}

/** @throws Error if the input of a state exceeds the limit */
async function observe(events: ReturnType<StateMachine['run']>['eventLogs']) {
  const entered: Ended['entered'] = [];
  const retried: string[] = [];
  for await (const event of events) {
    if (event.type === 'StateEntered') entered.push({ name: event.state.name, input: event.state.input });
    if (event.type === 'StateRetried') retried.push(event.state.name);
  }
  const large = entered.find(({ input }) => Buffer.byteLength(JSON.stringify(input)) > MAX_STATE_BYTES);
  if (large) throw new Error(`States.DataLimitExceeded before "${large.name}"`);
  return { entered, retried };
}
