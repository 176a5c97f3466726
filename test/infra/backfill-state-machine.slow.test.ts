import { describe, expect, it } from '@jest/globals';
import { Match, Template } from 'aws-cdk-lib/assertions';
import * as z from 'zod/mini';
import { type Doubles, execute } from './execute.ts';
import { ACME, stackOf } from './stack.ts';

const template = Template.fromStack(stackOf({ brands: { acme: ACME } }));
const BRANDS = ['acme', 'globex', 'initech'];

const eventSchema = z.looseObject({ brand: z.optional(z.string()) });
const [NOTHING, AGAIN, LATER, PERSON] = ['nothing', 'again', 'later', 'person'].map((next) => ({ next }));
type End = typeof NOTHING | Error;

/** A function whose runs of each brand end as the script says, and complete without a script. */
function scripted(script: Record<string, (End | undefined)[]>): {
  invoke: Doubles['invoke'];
  events: unknown[];
} {
  const events: unknown[] = [];
  const left = Object.fromEntries(Object.entries(script).map(([brand, ends]) => [brand, [...ends]]));
  const invoke = async (event: unknown) => {
    events.push(event);
    const { brand } = z.parse(eventSchema, event);
    if (brand === undefined) return { brands: BRANDS.map((each) => ({ brand: each })) };
    const end = left[brand]?.shift() ?? NOTHING;
    if (end instanceof Error) throw end;
    return { ...end, brands: [{ brand }] };
  };
  return { invoke, events };
}

function named(name: string): Error {
  return Object.assign(new Error('from AWS'), { name });
}

describe('the state machine of the backfill', () => {
  it('runs its input once, then with each brand', async () => {
    const input = { reports: ['orders'], from: '2026-01-01', to: '2026-01-31' };
    const { invoke, events } = scripted({});
    const { error } = await execute(template, input, { invoke });
    expect(error).toBeUndefined();
    expect(events[0]).toEqual(input);
    expect(events.slice(1)).toEqual(expect.arrayContaining(BRANDS.map((brand) => ({ ...input, brand }))));
    expect(events).toHaveLength(4);
  });

  it('repeats the run of each brand until it is complete, and names the brands that are not', async () => {
    const { invoke, events } = scripted({
      globex: [AGAIN, LATER, LATER, AGAIN],
      initech: [LATER, PERSON],
    });
    const { error, entered } = await execute(template, {}, { invoke });
    const of = (brand: string) => events.filter((event) => z.parse(eventSchema, event).brand === brand);
    expect(BRANDS.map((brand) => of(brand).length)).toEqual([1, 5, 2]);
    expect(entered.filter(({ name }) => name === 'Wait')).toHaveLength(3);
    expect(error).toEqual({
      name: 'BackfillIncomplete',
      cause: '["the others are complete","initech"]',
    });
  });

  it('gives a brand up after two hours of waits, and any number of runs that read something', async () => {
    const many = (end: End, count: number) => Array.from({ length: count }, () => end);
    const { invoke, events } = scripted({
      acme: [...many(LATER, 120), ...many(AGAIN, 30)],
      globex: many(LATER, 200),
    });
    const { error } = await execute(template, {}, { invoke });
    const of = (brand: string) => events.filter((event) => z.parse(eventSchema, event).brand === brand);
    expect(BRANDS.map((brand) => of(brand).length)).toEqual([151, 121, 1]);
    expect(error?.cause).toContain('"globex"]');
  });

  it('fails at once with an event that the function refuses', async () => {
    const invoke = async () => Promise.reject(named('BrandReportsError'));
    const { error, retried } = await execute(template, { brands: ['acme'] }, { invoke });
    expect([error?.name, retried]).toEqual(['BrandReportsError', []]);
  });

  it.each([
    ['is throttled', 'Lambda.TooManyRequestsException', 20],
    ['fails inside Lambda', 'Lambda.ServiceException', 6],
    ['crashes', 'Runtime.ExitError', 2],
    ['exceeds its timeout', 'States.Timeout', 2],
  ])('retries if the function %s (%s), but not forever', async (_name, error, times) => {
    const failing = (count: number) => Array.from({ length: count }, () => named(error));
    const recovering = scripted({ acme: failing(times) });
    const recovered = await execute(template, {}, recovering);
    expect(recovered.error).toBeUndefined();
    expect(recovered.retried).toEqual(Array.from({ length: times }, () => 'ReadBrand'));

    const broken = scripted({ acme: failing(times + 1) });
    expect((await execute(template, {}, broken)).error?.cause).toMatch(/^\["acme",/);
  });

  it('reads several brands concurrently, each in a standard execution', () => {
    const definitionOf = (settings: object) =>
      JSON.stringify(Template.fromStack(stackOf(settings)).findResources('AWS::StepFunctions::StateMachine'));
    const definition = definitionOf({ brands: { acme: ACME } });
    expect(definition).toContain('\\"MaxConcurrency\\":5');
    expect(definition).toContain('\\"Mode\\":\\"DISTRIBUTED\\",\\"ExecutionType\\":\\"STANDARD\\"');
    expect(definitionOf({ brands: { acme: ACME }, deployment: { brandsAtOnce: 2 } })).toContain(
      '\\"MaxConcurrency\\":2',
    );
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
