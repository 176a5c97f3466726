/*
 * Lets operators start and stop what the stack runs, and read its logs. They read no data of the lake and no secret, and
 * change neither code nor configuration.
 */
import { Stack } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import type { DeploymentSettings } from '../shared/settings/deployment.ts';
import { type BackfillStateMachine, MAP_LABEL } from './backfill-state-machine.ts';
import type { FailureQueue } from './failure-queue.ts';
import { instanceName, output } from './names.ts';
import { type Grantee, allowIn, arnInStack, rolePolicy } from './grants.ts';
import type { Lake } from './lake.ts';
import type { PipelineFunction } from './pipeline-function.ts';

export interface OperatorsProps {
  deployment: DeploymentSettings;
  functions: readonly PipelineFunction[];
  backfill: BackfillStateMachine;
  queue: FailureQueue;
  lake: Lake;
}

/** Calls of console pages that AWS allows on no narrower resource: lists of the region. */
const CONSOLE_LISTS: Readonly<Record<string, string[]>> = {
  // The list of functions, and the limits above it.
  lambda: ['ListFunctions', 'GetAccountSettings'],
  states: ['ListStateMachines'],
  sqs: ['ListQueues'],
  // The list of groups. The other actions refer to a query of Logs Insights or a session of Live Tail.
  logs: ['DescribeLogGroups', 'GetQueryResults', 'StopQuery', 'StopLiveTail'],
  // The list of alarms, and the graph of an alarm's metric.
  cloudwatch: ['DescribeAlarms', 'ListMetrics', 'GetMetricData'],
};

export class Operators extends Construct {
  readonly #props: OperatorsProps;

  constructor(scope: Construct, id: string, props: OperatorsProps) {
    super(scope, id);
    this.#props = props;
    const name = instanceName(this);
    const policy = rolePolicy(this, {
      managedPolicyName: `${name}-operators-${Stack.of(this).region}`,
      description: `Run the pipeline ${name} from the console`,
      roleNames: props.deployment.operatorRoles,
    });
    this.grant(policy);
    output(this, 'OperatorsPolicyArn', {
      value: policy.managedPolicyArn,
      description:
        'The setting operatorRoles attaches this policy to roles: start, stop and watch the pipeline, without its data',
    });
  }

  grant(grantee: Grantee): void {
    const { functions, backfill, queue, lake } = this.#props;
    this.#grantFunctions(grantee, functions);
    this.#grantBackfill(grantee, backfill);
    queue.grantOperate(grantee);
    this.#grantLogs(grantee, functions, backfill);
    const alarms = arnInStack(this, 'cloudwatch', `alarm:${instanceName(this)}-*`);
    allowIn(grantee, 'cloudwatch', ['DescribeAlarmHistory'], [alarms]);
    lake.grantReadPage(grantee);
    for (const [service, actions] of Object.entries(CONSOLE_LISTS)) allowIn(grantee, service, actions, ['*']);
  }

  #grantFunctions(grantee: Grantee, functions: OperatorsProps['functions']): void {
    // The page of a function reads its configuration before it shows the tab "Test".
    const see = ['GetFunction', 'GetFunctionConfiguration', 'GetFunctionEventInvokeConfig', 'ListTags'];
    const arns = functions.map((each) => each.function.functionArn);
    allowIn(grantee, 'lambda', ['InvokeFunction', ...see], arns);
  }

  #grantBackfill(grantee: Grantee, { stateMachine }: BackfillStateMachine): void {
    const { stateMachineName: name, stateMachineArn } = stateMachine;
    const start = ['StartExecution', 'ListExecutions', 'DescribeStateMachine'];
    allowIn(grantee, 'states', start, [stateMachineArn]);
    // The name of a map run, and of its executions, contains the label.
    const executions = [name, `${name}/${MAP_LABEL}`].map((each) =>
      arnInStack(this, 'states', `execution:${each}:*`),
    );
    const look = [
      'DescribeExecution',
      'DescribeStateMachineForExecution',
      'GetExecutionHistory',
      'ListMapRuns',
    ];
    allowIn(grantee, 'states', [...look, 'StopExecution'], executions);
    const mapRuns = arnInStack(this, 'states', `mapRun:${name}/${MAP_LABEL}:*`);
    allowIn(grantee, 'states', ['DescribeMapRun', 'ListExecutions'], [mapRuns]);
  }

  #grantLogs(
    grantee: Grantee,
    functions: readonly PipelineFunction[],
    { logGroup }: BackfillStateMachine,
  ): void {
    const read = ['DescribeLogStreams', 'FilterLogEvents', 'GetLogEvents', 'StartQuery', 'StartLiveTail'];
    // With and without the `:*` of streams, which Live Tail leaves out. The names of the functions' groups end in
    // random letters, so no other group's name begins with one of them. Both forms of each name would exceed the size
    // of one policy.
    const names = [
      ...functions.map((each) => `${each.logGroup.logGroupName}*`),
      logGroup.logGroupName,
      `${logGroup.logGroupName}:*`,
    ];
    const arns = names.map((name) => arnInStack(this, 'logs', `log-group:${name}`));
    allowIn(grantee, 'logs', read, arns);
  }
}
