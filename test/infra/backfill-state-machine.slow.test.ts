import { describe, expect, it } from '@jest/globals';
import { Match } from 'aws-cdk-lib/assertions';
import * as z from 'zod/mini';
import { backfillTemplate } from './backfill-stack.ts';
import { type Doubles, execute } from './execute.ts';
import { ACME } from './stack.ts';

const template = backfillTemplate({ brands: { acme: ACME } });
const INPUT = { report: 'order_list', brand: 'acme' };
const ITEMS = ['2026-03', '2026-02', '2026-01'].map((month) => ({
  read: { ...INPUT, from: `${month}-01`, to: `${month}-28` },
  progress: { read: 0 },
}));

const runSchema = z.object({
  read: z.looseObject({ from: z.string() }),
  progress: z.object({ read: z.number() }),
});
type Script = Record<string, (object | Error)[]>;

/**
 * A function that returns the results of the script for each month, run by run, and `end` for months without a script.
 */
function scripted(script: Script): { invoke: Doubles['invoke']; runs: string[] } {
  const runs: string[] = [];
  const left = Object.fromEntries(Object.entries(script).map(([month, answers]) => [month, [...answers]]));
  const invoke = async (payload: unknown) => {
    if (z.safeParse(z.object({ plan: z.unknown() }), payload).success) return { items: ITEMS };
    const concluding = z.safeParse(
      z.object({ conclude: z.object({ months: z.array(z.unknown()) }) }),
      payload,
    );
    if (concluding.success) return concluding.data.conclude;
    const { read, progress: before } = z.parse(runSchema, payload);
    const month = read.from.slice(0, 7);
    runs.push(`${month} ${before.read}`);
    const answer = left[month]?.shift() ?? { next: 'end' };
    if (answer instanceof Error) throw answer;
    return {
      read,
      progress: { read: before.read + 1 },
      waitSeconds: 0,
      outcome: { month, ...answer },
      ...answer,
    };
  };
  return { invoke, runs };
}

function named(name: string): Error {
  return Object.assign(new Error('from AWS'), { name });
}

describe('the state machine of the backfill', () => {
  it('requests a plan with its input and name, and with the inputs and names of the running executions', async () => {
    const payloads: unknown[] = [];
    const invoke = async (payload: unknown) => {
      payloads.push(payload);
      return { failure: { error: 'BackfillRefused', cause: 'because' } };
    };
    const { error } = await execute(template, INPUT, {
      invoke,
      running: { mine: INPUT, another: { brand: 'globex' } },
    });
    expect(payloads).toEqual([
      {
        plan: INPUT,
        execution: expect.stringMatching(/:mine$/),
        running: [
          { ExecutionArn: expect.stringMatching(/:mine$/), Input: JSON.stringify(INPUT) },
          { ExecutionArn: expect.stringMatching(/:another$/), Input: '{"brand":"globex"}' },
        ],
      },
    ]);
    expect(error).toEqual({ name: 'BackfillRefused', cause: 'because' });
  });

  it('runs the function until each month ends, and lists all months', async () => {
    const { invoke, runs } = scripted({ '2026-02': [{ next: 'again' }, { next: 'again' }] });
    const { output } = await execute(template, INPUT, { invoke });
    expect(runs.toSorted()).toEqual(['2026-01 0', '2026-02 0', '2026-02 1', '2026-02 2', '2026-03 0']);
    expect(output).toEqual(['2026-03', '2026-02', '2026-01'].map((month) => ({ month, next: 'end' })));
  });

  it.each([
    ['is throttled', 'Lambda.TooManyRequestsException', 20],
    ['fails inside Lambda', 'Lambda.ServiceException', 6],
    ['crashes', 'Runtime.ExitError', 2],
    ['exceeds its timeout', 'States.Timeout', 2],
  ])('retries if a function %s (%s), but not forever', async (_name, error, times) => {
    const failing = (count: number) => Array.from({ length: count }, () => named(error));
    const recovering = scripted({ '2026-01': failing(times) });
    const { output, retried } = await execute(template, INPUT, recovering);
    expect(output).toContainEqual({ month: '2026-01', next: 'end' });
    expect(retried).toEqual(Array.from({ length: times }, () => 'ReadMonth'));

    const broken = scripted({ '2026-01': failing(times + 1) });
    expect((await execute(template, INPUT, broken)).output).toEqual([
      { month: '2026-03', next: 'end' },
      { month: '2026-02', next: 'end' },
      {
        from: '2026-01-01',
        to: '2026-01-28',
        status: 'failed',
        why: expect.stringContaining(error),
      },
    ]);
  });

  it('reads two months concurrently, in standard executions that may all fail', () => {
    const definition = JSON.stringify(template.findResources('AWS::StepFunctions::StateMachine'));
    expect(definition).toContain('\\"MaxConcurrency\\":2');
    expect(definition).toContain('\\"ToleratedFailurePercentage\\":100');
    expect(definition).toContain('\\"Mode\\":\\"DISTRIBUTED\\",\\"ExecutionType\\":\\"STANDARD\\"');
  });

  it.each([
    ['list', 'states:ListExecutions', ':stateMachine:BrandReports-backfill'],
    ['describe', 'states:DescribeExecution', ':execution:BrandReports-backfill:*'],
  ])('may %s only its own executions', (_what, Action, resource) => {
    template.hasResourceProperties('AWS::IAM::Policy', {
      PolicyDocument: {
        Statement: Match.arrayWith([
          Match.objectLike({ Action, Resource: { 'Fn::Join': ['', Match.arrayWith([resource])] } }),
        ]),
      },
    });
  });

  it('logs everything, and is not traced', () => {
    template.hasResourceProperties('AWS::StepFunctions::StateMachine', {
      StateMachineName: 'BrandReports-backfill',
      LoggingConfiguration: { Level: 'ALL' },
      TracingConfiguration: Match.absent(),
    });
    expect(JSON.stringify(template)).not.toContain('xray:');
  });
});
