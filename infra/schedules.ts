/*
 * Creates a group of EventBridge Scheduler for each report. The function rebuild-catalog writes the schedules of the
 * group from the settings (shared/adapters/aws/schedules.ts), and the schedules are deleted with the group. With a
 * schedule for each report of each brand, a template would be full at about 60 brands: CloudFormation allows 500
 * resources.
 */
import { RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { ScheduleGroup } from 'aws-cdk-lib/aws-scheduler';
import { Construct } from 'constructs';
import type { ReportRegistry } from '../shared/reports/definition.ts';
import type { FailureQueue } from './failure-queue.ts';
import { instanceName } from './instance-name.ts';
import { type Grantee, allow, arnInStack } from './grants.ts';
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
    const arns = functions.map((each) => each.function.functionArn);
    allow(this.#role, ['lambda:InvokeFunction'], arns);
    undelivered.grantSend(this.#role);
    this.environment = {
      SCHEDULED_FUNCTIONS: arnInStack(this, 'lambda', `function:${instanceName(this)}-`),
      SCHEDULER_ROLE: this.#role.roleArn,
      UNDELIVERED_QUEUE: undelivered.queueArn,
    };
  }

  /** Lets a function write the schedules in the groups, and in no other group. */
  grantPublish(grantee: Grantee): void {
    const schedules = (group: string) => arnInStack(this, 'scheduler', `schedule/${group}/*`);
    allow(
      grantee,
      ['scheduler:CreateSchedule', 'scheduler:UpdateSchedule', 'scheduler:DeleteSchedule'],
      Object.keys(this.#reports).map((report) => schedules(`${instanceName(this)}-${report}`)),
    );
    // AWS has no narrower resource for a list.
    allow(grantee, ['scheduler:ListSchedules'], [schedules('*')]);
    allow(grantee, ['iam:PassRole'], [this.#role.roleArn], {
      StringEquals: { 'iam:PassedToService': 'scheduler.amazonaws.com' },
    });
  }
}
