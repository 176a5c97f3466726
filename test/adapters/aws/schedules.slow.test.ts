import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { writeSchedules } from '../../../shared/adapters/aws/schedules.ts';
import { retryWhileAccessDenied } from '../../../shared/adapters/aws/retry-access-denied.ts';
import { startSchedulerServer } from '../../fakes/scheduler-server.ts';
import { virtualTime } from '../../fakes/virtual-time.ts';

const GROUP = 'BrandReports-order_list';
const TARGET = {
  functionArn: `arn:aws:lambda:us-east-1:123456789012:function:${GROUP}`,
  roleArn: 'arn:aws:iam::123456789012:role/scheduler',
  queueArn: 'arn:aws:sqs:us-east-1:123456789012:undelivered',
  enabled: true,
};
const start = (brand: string, expression = 'cron(12 * * * ? *)', windowMinutes = 0) => ({
  brand,
  timeZone: 'America/New_York',
  expression,
  windowMinutes,
});
const brands = (count: number, expression?: string) =>
  Array.from({ length: count }, (_, index) => start(`brand-${index}`, expression));

let server: Awaited<ReturnType<typeof startSchedulerServer>>;

beforeEach(async () => {
  server = await startSchedulerServer([GROUP]);
});
afterEach(async () => {
  server.client.destroy();
  await server.close();
});

const publish = (starts: Parameters<typeof writeSchedules>[2], target: Partial<typeof TARGET> = {}) =>
  writeSchedules(server.client, GROUP, starts, { ...TARGET, ...target });
const held = () => [...(server.held.get(GROUP) ?? [])];
const names = () => held().map(([name]) => name);
/** Calls without lists. */
const callsOf = async (work: () => Promise<unknown>) => {
  server.calls.length = 0;
  await work();
  return server.calls.filter((action) => action !== 'ListSchedules');
};

describe('the schedules of a group', () => {
  it('start the function for the brand, in its zone, retry twice, and then send the event to the queue', async () => {
    await publish([start('acme'), start('globex', 'rate(45 minutes)', 15)]);
    const [acme, globex] = held();
    expect(acme?.[0]).toMatch(/^acme-[0-9a-f]{22}$/);
    expect(acme?.[1].schedule).toEqual({
      Description: expect.stringContaining('Change the settings'),
      ScheduleExpression: 'cron(12 * * * ? *)',
      ScheduleExpressionTimezone: 'America/New_York',
      FlexibleTimeWindow: { Mode: 'OFF' },
      State: 'ENABLED',
      Target: {
        Arn: TARGET.functionArn,
        RoleArn: TARGET.roleArn,
        Input: '{"brand":"acme"}',
        DeadLetterConfig: { Arn: TARGET.queueArn },
        RetryPolicy: { MaximumRetryAttempts: 2, MaximumEventAgeInSeconds: 900 },
      },
    });
    expect(globex?.[1].schedule).toMatchObject({
      FlexibleTimeWindow: { Mode: 'FLEXIBLE', MaximumWindowInMinutes: 15 },
    });
  });

  it('have names that AWS allows, with the longest brand', async () => {
    await publish([start('a'.repeat(41))]);
    expect(names()).toEqual([expect.stringMatching(/^[0-9a-zA-Z_.-]{1,64}$/)]);
  });

  it.each<[string, () => Promise<void>, string[]]>([
    ['nothing has changed', () => publish(brands(120)), []],
    ['a brand was added', () => publish(brands(121)), ['CreateSchedule']],
    ['a brand was removed', () => publish(brands(119)), ['DeleteSchedule']],
    [
      'a brand has another schedule: the new one comes first',
      () => publish([...brands(119), start('brand-119', 'cron(13 * * * ? *)')]),
      ['CreateSchedule', 'DeleteSchedule'],
    ],
  ])('cost a call for each difference: %s', async (_name, work, expected) => {
    await publish(brands(120));
    expect(await callsOf(work)).toEqual(expected);
    expect(await callsOf(work)).toEqual([]);
  });

  it.each<[string, Partial<typeof TARGET>]>([
    ['they are switched off', { enabled: false }],
    ['the function has another name', { functionArn: `${TARGET.functionArn}2` }],
    ['another role is set', { roleArn: `${TARGET.roleArn}2` }],
    ['another queue is set', { queueArn: `${TARGET.queueArn}2` }],
  ])('are replaced if %s, and are back after a rollback', async (_name, change) => {
    await publish(brands(3));
    const before = held().map(([, { schedule }]) => schedule);
    await publish(brands(3), change);
    expect(held()).toHaveLength(3);
    expect(held().map(([, { schedule }]) => schedule)).not.toEqual(before);
    await publish(brands(3));
    expect(held().map(([, { schedule }]) => schedule)).toEqual(before);
  });

  it('match the settings again after a person has edited, deleted and added a schedule', async () => {
    await publish(brands(3));
    const before = held().map(([, { schedule }]) => schedule);
    const [first, second] = held();
    if (!first || !second) throw new Error('nothing is held');
    const [edited, stored] = first;
    const group = server.held.get(GROUP);
    const schedule = { ...stored.schedule, State: 'DISABLED', ScheduleExpression: 'rate(1 minute)' };
    group?.set(edited, { ...stored, schedule, modifiedAt: stored.createdAt + 60 });
    group?.set('mine', stored);
    group?.delete(second[0]);
    expect((await callsOf(() => publish(brands(3)))).sort()).toEqual([
      ...['CreateSchedule', 'DeleteSchedule', 'UpdateSchedule'],
    ]);
    const after = held().map(([, { schedule }]) => schedule);
    expect(after).toHaveLength(3);
    expect(after).toEqual(expect.arrayContaining(before));
  });

  it('are completed after a run that died halfway, and after lost responses', async () => {
    await publish(brands(40));
    for (const name of names().slice(10, 30)) server.held.get(GROUP)?.delete(name);
    server.faults.loseAnswers = 10;
    await publish(brands(45, 'cron(13 * * * ? *)'));
    expect(held().map(([, { schedule }]) => schedule.ScheduleExpression)).toEqual(
      Array(45).fill('cron(13 * * * ? *)'),
    );
  });

  it('are removed, and a group that does not exist has no schedules', async () => {
    await publish(brands(120));
    await publish([]);
    expect(held()).toEqual([]);
    await writeSchedules(server.client, 'BrandReports-clicks_detail', [], TARGET);
  });

  it('are 300 in each of five groups within seconds, even though AWS throttles', async () => {
    const groups = [1, 2, 3, 4, 5].map((report) => `group-${report}`);
    for (const group of groups) server.held.set(group, new Map());
    // The lowest rate that a region allows.
    server.faults.perSecond = 250;
    const began = performance.now();
    for (const group of groups) await writeSchedules(server.client, group, brands(300), TARGET);
    expect(performance.now() - began).toBeLessThan(30_000);
    for (const group of groups) expect(server.held.get(group)?.size).toBe(300);
  }, 60_000);

  it.each<[string, () => void, RegExp]>([
    ['no permission', () => (server.faults.deny = true), /iam:PassRole\. Restore what/],
    ['no group', () => server.held.clear(), /group BrandReports-order_list failed.*ResourceNotFound/],
    ['a role that is not active yet', () => (server.faults.assume = true), /to assume the role/],
  ])(
    'wait for the permissions of a new stack, and then name what is missing: %s',
    async (_name, spoil, message) => {
      spoil();
      const time = virtualTime(0);
      const publication = retryWhileAccessDenied(time, () => publish(brands(1)));
      await expect(publication).rejects.toMatchObject({
        kind: 'config',
        message: expect.stringMatching(message),
      });
      expect(time.wallMs()).toBe(60_000);
    },
  );
});
