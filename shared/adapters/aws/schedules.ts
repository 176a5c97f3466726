/*
 * Changes the schedules of EventBridge Scheduler to match the settings. The name of a schedule contains a hash of its
 * contents, so the list of a group shows which schedules are missing or obsolete. It does not matter who wrote them: an
 * earlier version, a rollback, or a run that died halfway. New schedules are created before old ones are deleted. A change may therefore
 * start a function once too often, which finds no due days, but never once too seldom.
 */
import { hash } from 'node:crypto';
import {
  CreateScheduleCommand,
  DeleteScheduleCommand,
  type ScheduleSummary,
  type SchedulerClient,
  type SchedulerClientConfig,
  UpdateScheduleCommand,
  paginateListSchedules,
} from '@aws-sdk/client-scheduler';
import { forEachConcurrent } from '../../concurrency.ts';
import { awsClientOptions, inAws, unlessFailedWith } from './errors.ts';

/** Regions allow 250 to 5,000 calls a second. The SDK slows down after a call was throttled. */
export const schedulerClientOptions: SchedulerClientConfig = {
  ...awsClientOptions,
  retryMode: 'adaptive',
  maxAttempts: 20,
};
const CONCURRENCY = 20;
/** The most schedules that a list returns. */
const PAGE_SIZE = 100;
/** A name has 64 characters; the brand takes up to 41, and a hyphen takes one. */
const HASH_LENGTH = 22;
/** AWS sets both times of a new schedule within this time. A person needs longer to change a schedule. */
const EDITED_AFTER_MS = 1_000;

/** When a function starts for a brand. */
interface BrandStart {
  brand: string;
  timeZone: string;
  expression: string;
  /** 0: exactly at the minute. */
  windowMinutes: number;
}

/** The common properties of all schedules in a group. */
export interface ScheduleTarget {
  functionArn: string;
  /** The role with which Scheduler starts the function. */
  roleArn: string;
  /** The queue that receives events that could not be delivered. */
  queueArn: string;
  enabled: boolean;
}

/**
 * Gives the group exactly these schedules, and undoes edits made by hand. Failures are BrandReportsErrors.
 * @param group may be missing only if there are no starts
 */
export function writeSchedules(
  client: SchedulerClient,
  group: string,
  starts: readonly BrandStart[],
  target: ScheduleTarget,
): Promise<void> {
  return inAws(
    `Writing the schedules of the group ${group}`,
    `The stack creates the group, the role ${target.roleArn}, and the permissions scheduler:ListSchedules, CreateSchedule, UpdateSchedule, DeleteSchedule and iam:PassRole. Restore what somebody has removed, then test rebuild-catalog with {}.`,
    write(client, group, starts, target),
  );
}

async function write(
  client: SchedulerClient,
  GroupName: string,
  starts: readonly BrandStart[],
  target: ScheduleTarget,
): Promise<void> {
  const wanted = new Map<string, ReturnType<typeof scheduleOf>[1]>(
    starts.map((start) => scheduleOf(start, target)),
  );
  const held = await schedulesIn(client, GroupName);
  await forEachConcurrent([...wanted], CONCURRENCY, async ([Name, schedule]) => {
    const found = held.get(Name);
    if (found && !isEdited(found)) return;
    const input = { GroupName, Name, ...schedule };
    // The name exists if this is a retry, or if another run was faster; its contents are the same.
    await (found
      ? client.send(new UpdateScheduleCommand(input))
      : unlessFailedWith(['ConflictException'], client.send(new CreateScheduleCommand(input))));
  });
  const obsolete = [...held.keys()].filter((name) => !wanted.has(name));
  await forEachConcurrent(obsolete, CONCURRENCY, async (Name) => {
    const deletion = client.send(new DeleteScheduleCommand({ GroupName, Name }));
    await unlessFailedWith(['ResourceNotFoundException'], deletion);
  });
}

/** The schedules of the group by name; empty if the group does not exist. */
async function schedulesIn(client: SchedulerClient, GroupName: string) {
  const held = new Map<string, ScheduleSummary>();
  const list = async () => {
    for await (const { Schedules = [] } of paginateListSchedules(
      { client, pageSize: PAGE_SIZE },
      { GroupName },
    ))
      for (const schedule of Schedules) held.set(schedule.Name ?? '', schedule);
  };
  await unlessFailedWith(['ResourceNotFoundException'], list());
  return held;
}

function isEdited({ CreationDate, LastModificationDate }: ScheduleSummary): boolean {
  return Number(LastModificationDate) - Number(CreationDate) > EDITED_AFTER_MS;
}

function scheduleOf({ brand, timeZone, expression, windowMinutes }: BrandStart, target: ScheduleTarget) {
  const schedule = {
    Description: `Starts a run for ${brand}. Change the settings and deploy: what is edited here is written anew.`,
    ScheduleExpression: expression,
    ScheduleExpressionTimezone: timeZone,
    FlexibleTimeWindow:
      windowMinutes === 0
        ? { Mode: 'OFF' as const }
        : { Mode: 'FLEXIBLE' as const, MaximumWindowInMinutes: windowMinutes },
    State: target.enabled ? ('ENABLED' as const) : ('DISABLED' as const),
    Target: {
      Arn: target.functionArn,
      RoleArn: target.roleArn,
      Input: JSON.stringify({ brand }),
      DeadLetterConfig: { Arn: target.queueArn },
      // The next start is the retry.
      RetryPolicy: { MaximumRetryAttempts: 2, MaximumEventAgeInSeconds: 900 },
    },
  };
  const contents = hash('sha256', JSON.stringify(schedule), 'hex').slice(0, HASH_LENGTH);
  return [`${brand}-${contents}`, schedule] as const;
}
