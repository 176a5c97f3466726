import { Stack } from 'aws-cdk-lib';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import type { DeploymentSettings } from '../shared/settings/deployment.ts';
import { type ObservedStack, problemsMetric } from './alarm-table.ts';
import { Alarms } from './alarms.ts';
import { consoleLink } from './console-link.ts';
import { type ObservedFunction, ReportsDashboard } from './dashboard.ts';
import { output } from './output.ts';

export interface ObservabilityProps extends Omit<ObservedStack, 'problems'> {
  deployment: DeploymentSettings;
  /** The functions that sync. */
  functions: readonly ObservedFunction[];
  /** Draws which days are in the lake; it heads the dashboard. The namespace of its metric is the stack's name. */
  calendar: IFunction;
  /** The topic that every alarm notifies. */
  topic: ITopic;
}

/** Shows an operator what is missing: alarms and, by a setting, a dashboard named after the stack. */
export class Observability extends Construct {
  constructor(scope: Construct, id: string, props: ObservabilityProps) {
    super(scope, id);
    const { deployment, functions, queues, stateMachine, calendar, topic } = props;
    const { stackName } = Stack.of(this);
    const stack = { queues, stateMachine, problems: problemsMetric(stackName) };
    const { all: alarms } = new Alarms(this, 'Alarms', { deployment, topic, stack });
    if (!deployment.dashboard) return;
    new ReportsDashboard(this, 'Dashboard', { ...stack, functions, calendar, alarms });
    output(this, 'Dashboard', {
      value: consoleLink(this, 'cloudwatch', `dashboards:name=${stackName}`),
      description: 'The dashboard: which days are in the lake, what is missing, what to do',
    });
  }
}
