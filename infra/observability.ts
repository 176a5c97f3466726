import { Stack } from 'aws-cdk-lib';
import type { Alarm } from 'aws-cdk-lib/aws-cloudwatch';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { IStateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import type { DeploymentSettings } from '../shared/settings/deployment.ts';
import { Alarms } from './alarms.ts';
import { consoleLink } from './console-link.ts';
import { ReportsDashboard } from './dashboard.ts';
import { ObservedReport } from './observed-report.ts';
import { output } from './output.ts';

export interface ObservabilityProps {
  deployment: DeploymentSettings;
  /** The functions that sync. Their metrics have the stack's name for a namespace. */
  functions: readonly { report: string; function: IFunction; schedules: Readonly<Record<string, string>> }[];
  /** Where events go that came to nothing, by the names that alarms and graphs give them. */
  queues: Readonly<Record<string, IQueue>>;
  /** Backfills. */
  stateMachine: IStateMachine;
  /** Draws which days are in; it heads the dashboard. */
  calendar: IFunction;
}

/** Tells an operator what is missing, by alarms and a dashboard named after the stack. */
export class Observability extends Construct {
  constructor(scope: Construct, id: string, props: ObservabilityProps) {
    super(scope, id);
    const { deployment, functions, queues, stateMachine, calendar } = props;
    const { stackName } = Stack.of(this);
    const observed = functions.flatMap(({ report, function: syncs, schedules }) =>
      Object.entries(schedules).map(
        ([brand, schedule]) => new ObservedReport(stackName, { brand, report, schedule, function: syncs }),
      ),
    );
    const alarms = new Alarms(this, 'Alarms', deployment.alarmEmail);
    new ReportsDashboard(this, 'Dashboard', {
      observed,
      functions: Object.fromEntries(functions.map(({ report, function: syncs }) => [report, syncs])),
      queues,
      stateMachine,
      calendar,
      staleAfterHours: deployment.staleAfterHours,
      alarms: new Map([
        ...[...Map.groupBy(observed, ({ brand }) => brand)].map(
          ([brand, reports]) =>
            [brand, reports.flatMap((of) => reportAlarms(alarms, of, deployment))] as const,
        ),
        ['the stack', stackAlarms(alarms, props)],
      ]),
    });
    output(this, 'Dashboard', {
      value: consoleLink(this, 'cloudwatch', `dashboards:name=${stackName}`),
      description: 'The dashboard: is everything in, and if not, what is missing',
    });
    output(this, 'AlarmTopicArn', { value: alarms.topic.topicArn, description: 'Everything that alarms' });
  }
}

function reportAlarms(
  alarms: Alarms,
  of: ObservedReport,
  { schedules, staleAfterHours }: DeploymentSettings,
): Alarm[] {
  return [
    // Where nothing is started by itself, nothing is late.
    ...(schedules ? [alarms.onStaleness(of, staleAfterHours)] : []),
    alarms.onFailures(of),
    alarms.onThrottling(of),
  ];
}

function stackAlarms(alarms: Alarms, { functions, queues, stateMachine }: ObservabilityProps): Alarm[] {
  return [
    ...functions.map(({ report, function: syncs, schedules }) =>
      alarms.onCrashes(report, { function: syncs, schedules: Object.values(schedules) }),
    ),
    ...Object.entries(queues).map(([name, queue]) => alarms.onMessages(name, queue)),
    alarms.onFailedBackfills(stateMachine),
  ];
}
