/*
 * A template with a schedule for each report of each brand would end at about 60 brands: CloudFormation allows 500
 * resources. So the template has a group of EventBridge Scheduler for each report, which goes with all that is in it, and
 * the function rebuild-catalog makes the schedules in it from the settings (shared/adapters/aws/schedules.ts).
 */
import { ArnFormat, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Grant, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { ScheduleGroup } from 'aws-cdk-lib/aws-scheduler';
import { Construct } from 'constructs';
import type { ReportRegistry } from '../shared/reports/definition.ts';
import type { FailureQueue } from './failure-queue.ts';
import { instanceName } from './instance-name.ts';
import type { Grantee } from './key-grants.ts';
import type { ReportFunction } from './report-function.ts';

export interface SchedulesProps {
  /** Those that are started. */
  functions: readonly ReportFunction[];
  /** All reports: the schedules of one that is no longer enabled are deleted. */
  reports: ReportRegistry;
  /** The queue for events that a schedule could not deliver. */
  undelivered: FailureQueue;
}

/** A group for the schedules of each function, and the role by which Scheduler starts the functions. */
export class Schedules extends Construct {
  /** What a function needs to make the schedules. */
  readonly environment: Readonly<Record<string, string>>;
  readonly #role: Role;
  readonly #reports: ReportRegistry;

  constructor(scope: Construct, id: string, { functions, reports, undelivered }: SchedulesProps) {
    super(scope, id);
    this.#reports = reports;
    const removalPolicy = RemovalPolicy.DESTROY;
    const groups = functions.map(
      // The id has the report alone: in an app with another name, the same instance keeps its ids.
      ({ name, report }) =>
        new ScheduleGroup(this, report.name, { scheduleGroupName: name, removalPolicy }).scheduleGroupArn,
    );
    this.#role = new Role(this, 'Role', {
      description: 'EventBridge Scheduler starts the functions of the reports',
      assumedBy: new ServicePrincipal('scheduler.amazonaws.com', {
        conditions: {
          StringEquals: { 'aws:SourceAccount': Stack.of(this).account, 'aws:SourceArn': groups },
        },
      }),
    });
    Grant.addToPrincipal({
      grantee: this.#role,
      actions: ['lambda:InvokeFunction'],
      resourceArns: functions.map((each) => each.function.functionArn),
    });
    undelivered.grantSend(this.#role);
    this.environment = {
      SCHEDULED_FUNCTIONS: Stack.of(this).formatArn({
        service: 'lambda',
        resource: 'function',
        resourceName: `${instanceName(this)}-`,
        arnFormat: ArnFormat.COLON_RESOURCE_NAME,
      }),
      SCHEDULER_ROLE: this.#role.roleArn,
      UNDELIVERED_QUEUE: undelivered.queueArn,
    };
  }

  /** Lets a function make the schedules in the groups, and in no others. */
  grantPublish(grantee: Grantee): void {
    const schedules = (group: string) =>
      Stack.of(this).formatArn({ service: 'scheduler', resource: 'schedule', resourceName: `${group}/*` });
    const grant = (actions: string[], resourceArns: string[], conditions = {}) =>
      Grant.addToPrincipal({ grantee, actions, resourceArns, conditions });
    grant(
      ['scheduler:CreateSchedule', 'scheduler:UpdateSchedule', 'scheduler:DeleteSchedule'],
      Object.keys(this.#reports).map((report) => schedules(`${instanceName(this)}-${report}`)),
    );
    // AWS knows no narrower resource for a list.
    grant(['scheduler:ListSchedules'], [schedules('*')]);
    grant(['iam:PassRole'], [this.#role.roleArn], {
      StringEquals: { 'iam:PassedToService': 'scheduler.amazonaws.com' },
    });
  }
}
