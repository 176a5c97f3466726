import { Stack } from 'aws-cdk-lib';
import type { Alarm } from 'aws-cdk-lib/aws-cloudwatch';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { DeploymentSettings } from '../shared/settings/deployment.ts';
import {
  FUNCTION_ALARMS,
  type ObservedFunction,
  type ObservedStack,
  REPORT_ALARMS,
  STACK_ALARMS,
} from './alarm-table.ts';
import { Alarms } from './alarms.ts';
import { consoleLink } from './console-link.ts';
import { ReportsDashboard } from './dashboard.ts';
import { ObservedReport } from './observed-report.ts';
import { output } from './output.ts';

export interface ObservabilityProps extends ObservedStack {
  deployment: DeploymentSettings;
  /** The functions that sync. The namespace of their metrics is the stack's name. */
  functions: readonly ObservedFunction[];
  /** Draws which days are in the lake; it heads the dashboard. */
  calendar: IFunction;
}

/** Shows an operator what is missing: alarms, and a dashboard named after the stack. */
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
    const alarms = new Alarms(this, 'Alarms', deployment);
    new ReportsDashboard(this, 'Dashboard', {
      observed,
      functions: Object.fromEntries(functions.map(({ report, function: syncs }) => [report, syncs])),
      queues,
      stateMachine,
      calendar,
      behindAfterHours: deployment.behindAfterHours,
      alarms: new Map([
        ...[...Map.groupBy(observed, ({ brand }) => brand)].map(
          ([brand, reports]) => [brand, reports.flatMap((report) => reportAlarms(alarms, report))] as const,
        ),
        ['the stack', stackAlarms(alarms, props)],
      ]),
    });
    output(this, 'Dashboard', {
      value: consoleLink(this, 'cloudwatch', `dashboards:name=${stackName}`),
      description: 'The dashboard: which days are in the lake, what is missing, what to do',
    });
    output(this, 'AlarmTopicArn', {
      value: alarms.topic.topicArn,
      description: 'The topic that every alarm notifies: subscribe to it',
    });
  }
}

function reportAlarms(alarms: Alarms, observed: ObservedReport): Alarm[] {
  const { brand, report } = observed;
  return alarms.add(REPORT_ALARMS, observed, { brand, report, function: observed.function.functionName });
}

function stackAlarms(alarms: Alarms, { functions, ...stack }: ObservabilityProps): Alarm[] {
  const { undelivered, failed } = stack.queues;
  return [
    ...functions.flatMap((syncs) =>
      alarms.add(FUNCTION_ALARMS, syncs, { report: syncs.report, function: syncs.function.functionName }),
    ),
    ...alarms.add(STACK_ALARMS, stack, { undelivered: undelivered.queueName, failed: failed.queueName }),
  ];
}
