import { describe, expect, it } from '@jest/globals';
import { Match } from 'aws-cdk-lib/assertions';
import * as z from 'zod/mini';
import { backfillTemplate } from './backfill-stack.ts';
import { type Doubles, execute } from './execute.ts';
import { ACME } from './stack.ts';

const template = backfillTemplate({ brands: { acme: ACME } });
const INPUT = { report: 'order_list', brand: 'acme' };
const ITEMS = ['2026-03', '2026-02', '2026-01'].map((month) => ({
  read: { ...INPUT, from: `${month}-01`, to: `${month}-28`, requestsPerSecond: 1 },
  progress: { read: 0 },
}));

const roundSchema = z.object({
  read: z.looseObject({ from: z.string() }),
  progress: z.object({ read: z.number() }),
});
type Script = Record<string, (object | Error)[]>;

/** A function that answers the rounds of each month as the script says, `end` for those that it does not name. */
function scripted(script: Script): { invoke: Doubles['invoke']; rounds: string[] } {
  const rounds: string[] = [];
  const left = Object.fromEntries(Object.entries(script).map(([month, answers]) => [month, [...answers]]));
  const invoke = async (payload: unknown) => {
    if (z.safeParse(z.object({ plan: z.unknown() }), payload).success) return { items: ITEMS };
    const concluding = z.safeParse(
      z.object({ conclude: z.object({ months: z.array(z.unknown()) }) }),
      payload,
    );
    if (concluding.success) return concluding.data.conclude;
    const { read, progress: before } = z.parse(roundSchema, payload);
    const month = read.from.slice(0, 7);
    rounds.push(`${month} ${before.read}`);
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
  return { invoke, rounds };
}

function named(name: string): Error {
  return Object.assign(new Error('from AWS'), { name });
}

describe('the state machine of the backfill', () => {
  it('asks for a plan with its own input and name, and those that are running', async () => {
    const payloads: unknown[] = [];
    const invoke = async (payload: unknown) => {
      payloads.push(payload);
      return { failure: { error: 'BackfillRefused', cause: 'because' } };
    };
    const { error } = await execute(template, INPUT, { invoke, running: ['mine', 'another'] });
    expect(payloads).toEqual([
      {
        plan: INPUT,
        execution: expect.stringMatching(/:mine$/),
        running: [
          expect.objectContaining({ ExecutionArn: expect.stringMatching(/:mine$/) }),
          expect.objectContaining({ ExecutionArn: expect.stringMatching(/:another$/) }),
        ],
      },
    ]);
    expect(error).toEqual({ name: 'BackfillRefused', cause: 'because' });
  });

  it('reads each month in rounds until its end, and ends with them all', async () => {
    const { invoke, rounds } = scripted({ '2026-02': [{ next: 'again' }, { next: 'again' }] });
    const { output } = await execute(template, INPUT, { invoke });
    expect(rounds.toSorted()).toEqual(['2026-01 0', '2026-02 0', '2026-02 1', '2026-02 2', '2026-03 0']);
    expect(output).toEqual(['2026-03', '2026-02', '2026-01'].map((month) => ({ month, next: 'end' })));
  });

  it('waits before a round where the one before says so', async () => {
    const { invoke, rounds } = scripted({ '2026-01': [{ next: 'wait', waitSeconds: 60 }] });
    const { entered } = await execute(template, INPUT, { invoke });
    expect(entered.filter(({ name }) => name === 'Wait')).toEqual([
      { name: 'Wait', input: expect.objectContaining({ waitSeconds: 60 }) },
    ]);
    expect(rounds).toContain('2026-01 1');
  });

  it.each([
    ['is throttled', 'Lambda.TooManyRequestsException', 20],
    ['fails inside Lambda', 'Lambda.ServiceException', 6],
    ['crashes', 'Runtime.ExitError', 2],
    ['takes longer than it may', 'States.Timeout', 2],
  ])('tries again where a function %s (%s), but not for ever', async (_name, error, times) => {
    const failing = (count: number) => Array.from({ length: count }, () => named(error));
    const mended = scripted({ '2026-01': failing(times) });
    const { output, retried } = await execute(template, INPUT, mended);
    expect(output).toContainEqual({ month: '2026-01', next: 'end' });
    expect(retried).toEqual(Array.from({ length: times }, () => 'Read on'));

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

  it('fails as the conclusion says', async () => {
    const { invoke } = scripted({});
    const failure = { error: 'BackfillIncomplete', cause: '1 of 3 months are not complete' };
    const concluding: Doubles['invoke'] = async (payload) => ({
      ...z.parse(z.looseObject({}), await invoke(payload)),
      ...(JSON.stringify(payload).startsWith('{"conclude"') && { failure }),
    });
    const { error } = await execute(template, INPUT, { invoke: concluding });
    expect(error).toEqual({ name: failure.error, cause: failure.cause });
  });

  it('reads as many months at the same time as the settings say, in standard executions that may all fail', () => {
    const three = backfillTemplate({ brands: { acme: ACME }, deployment: { backfillConcurrency: 3 } });
    const definition = JSON.stringify(three.findResources('AWS::StepFunctions::StateMachine'));
    expect(definition).toContain('\\"MaxConcurrency\\":3');
    expect(definition).toContain('\\"ToleratedFailurePercentage\\":100');
    expect(definition).toContain('\\"Mode\\":\\"DISTRIBUTED\\",\\"ExecutionType\\":\\"STANDARD\\"');
  });

  it('may list its own executions alone', () => {
    template.hasResourceProperties('AWS::IAM::Policy', {
      PolicyDocument: {
        Statement: Match.arrayWith([
          Match.objectLike({
            Action: 'states:ListExecutions',
            Resource: { 'Fn::Join': ['', Match.arrayWith([':stateMachine:BrandReports-backfill'])] },
          }),
        ]),
      },
    });
  });

  it('logs all that it does, and traces it', () => {
    template.hasResourceProperties('AWS::StepFunctions::StateMachine', {
      StateMachineName: 'BrandReports-backfill',
      LoggingConfiguration: { Level: 'ALL' },
      TracingConfiguration: { Enabled: true },
    });
  });
});
