import { describe, expect, it } from '@jest/globals';
import { Match } from 'aws-cdk-lib/assertions';
import * as z from 'zod/mini';
import { backfillTemplate } from './backfill-stack.ts';
import { type Doubles, execute } from './execute.ts';
import { ACME } from './stack.ts';

const template = backfillTemplate({ brands: { acme: ACME } });
const INPUT = { brands: ['acme', 'globex', 'initech'] };

const planSchema = z.object({ plan: z.looseObject({}) });
const concludingSchema = z.object({ conclude: z.array(z.unknown()) });
const runSchema = z.object({ brand: z.string(), run: z.number() });
type Script = Record<string, (string | Error)[]>;

/** A function whose runs of each brand end as the script says, and `complete` without a script. */
function scripted(script: Script): { invoke: Doubles['invoke']; runs: string[] } {
  const runs: string[] = [];
  const left = Object.fromEntries(Object.entries(script).map(([brand, ends]) => [brand, [...ends]]));
  const invoke = async (payload: unknown) => {
    if (z.safeParse(planSchema, payload).success)
      return { items: INPUT.brands.map((brand) => ({ brand, run: 0 })) };
    const concluding = z.safeParse(concludingSchema, payload);
    if (concluding.success) return { brands: concluding.data.conclude };
    const { brand, run } = z.parse(runSchema, payload);
    runs.push(`${brand} ${run}`);
    const end = left[brand]?.shift() ?? 'complete';
    if (end instanceof Error) throw end;
    return { brand, run: run + 1, status: end };
  };
  return { invoke, runs };
}

function named(name: string): Error {
  return Object.assign(new Error('from AWS'), { name });
}

describe('the state machine of the backfill', () => {
  it('passes its input to the function, and fails with the refusal', async () => {
    const payloads: unknown[] = [];
    const invoke = async (payload: unknown) => {
      payloads.push(payload);
      return { failure: { error: 'BackfillRefused', cause: 'because' } };
    };
    const { error } = await execute(template, INPUT, { invoke });
    expect(payloads).toEqual([{ plan: INPUT }]);
    expect(error).toEqual({ name: 'BackfillRefused', cause: 'because' });
  });

  it('repeats the run of each brand until it is complete or failed, and lists all brands', async () => {
    const { invoke, runs } = scripted({ globex: ['again', 'wait', 'again'], initech: ['wait', 'failed'] });
    const { output, entered } = await execute(template, INPUT, { invoke });
    expect(runs.toSorted()).toEqual([
      'acme 0',
      ...[0, 1, 2, 3].map((run) => `globex ${run}`),
      ...[0, 1].map((run) => `initech ${run}`),
    ]);
    expect(entered.filter(({ name }) => name === 'Wait')).toHaveLength(2);
    expect(output).toEqual([
      { brand: 'acme', run: 1, status: 'complete' },
      { brand: 'globex', run: 4, status: 'complete' },
      { brand: 'initech', run: 2, status: 'failed' },
    ]);
  });

  it.each([
    ['is throttled', 'Lambda.TooManyRequestsException', 20],
    ['fails inside Lambda', 'Lambda.ServiceException', 6],
    ['crashes', 'Runtime.ExitError', 2],
    ['exceeds its timeout', 'States.Timeout', 2],
  ])('retries if a function %s (%s), but not forever', async (_name, error, times) => {
    const failing = (count: number) => Array.from({ length: count }, () => named(error));
    const recovering = scripted({ acme: failing(times) });
    const { output, retried } = await execute(template, INPUT, recovering);
    expect(output).toContainEqual({ brand: 'acme', run: 1, status: 'complete' });
    expect(retried).toEqual(Array.from({ length: times }, () => 'ReadBrand'));

    const broken = scripted({ acme: failing(times + 1) });
    expect((await execute(template, INPUT, broken)).output).toEqual([
      { brand: 'acme', status: 'failed', why: expect.stringContaining(error) },
      { brand: 'globex', run: 1, status: 'complete' },
      { brand: 'initech', run: 1, status: 'complete' },
    ]);
  });

  it('reads two brands concurrently, each in a standard execution', () => {
    const definition = JSON.stringify(template.findResources('AWS::StepFunctions::StateMachine'));
    expect(definition).toContain('\\"MaxConcurrency\\":2');
    expect(definition).toContain('\\"Mode\\":\\"DISTRIBUTED\\",\\"ExecutionType\\":\\"STANDARD\\"');
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
