/*
 * Creates a group of EventBridge Scheduler for each report. The function rebuild-catalog writes the schedules of the
 * group from the settings (shared/adapters/aws/schedules.ts), and the schedules are deleted with the group. With a
 * schedule for each report of each brand, a template would be full at about 60 brands: CloudFormation allows 500
 * resources.
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
  /** The functions that the schedules start. */
  functions: readonly ReportFunction[];
  /** All reports: schedules of a report that is no longer enabled are deleted. */
  reports: ReportRegistry;
  /** The queue for events that a schedule could not deliver. */
  undelivered: FailureQueue;
}

/** A group for the schedules of each function, and the role by which Scheduler starts the functions. */
export class Schedules extends Construct {
  /** The variables that a function needs to write the schedules. */
  readonly environment: Readonly<Record<string, string>>;
  readonly #role: Role;
  readonly #reports: ReportRegistry;

  constructor(scope: Construct, id: string, { functions, reports, undelivered }: SchedulesProps) {
    super(scope, id);
    this.#reports = reports;
    const removalPolicy = RemovalPolicy.DESTROY;
    const groups = functions.map(
      // The id contains only the report, so that an instance keeps its ids in an app with another name.
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

  /** Lets a function write the schedules in the groups, and in no other group. */
  grantPublish(grantee: Grantee): void {
    const schedules = (group: string) =>
      Stack.of(this).formatArn({ service: 'scheduler', resource: 'schedule', resourceName: `${group}/*` });
    const grant = (actions: string[], resourceArns: string[], conditions = {}) =>
      Grant.addToPrincipal({ grantee, actions, resourceArns, conditions });
    grant(
      ['scheduler:CreateSchedule', 'scheduler:UpdateSchedule', 'scheduler:DeleteSchedule'],
      Object.keys(this.#reports).map((report) => schedules(`${instanceName(this)}-${report}`)),
    );
    // AWS has no narrower resource for a list.
    grant(['scheduler:ListSchedules'], [schedules('*')]);
    grant(['iam:PassRole'], [this.#role.roleArn], {
      StringEquals: { 'iam:PassedToService': 'scheduler.amazonaws.com' },
    });
  }
}
