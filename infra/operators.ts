/*
 * Without this construct, whoever is on call needs an administrator's role to press a test button. Operators start and
 * stop what the stack runs and read what it prints; they read no data of the lake and no secret, and change neither code
 * nor configuration. So they start all functions but `rebuild-catalog`, whose events from CloudFormation contain settings.
 */
import { ArnFormat, Stack } from 'aws-cdk-lib';
import { Grant } from 'aws-cdk-lib/aws-iam';
import type { ILogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { REGISTRY, schemaName } from '../shared/adapters/aws/test-event-schemas.ts';
import type { DeploymentSettings } from '../shared/settings/deployment.ts';
import type { BackfillStateMachine } from './backfill-state-machine.ts';
import type { FailureQueue } from './failure-queue.ts';
import { instanceName } from './instance-name.ts';
import type { Grantee } from './key-grants.ts';
import type { Lake } from './lake.ts';
import { output } from './output.ts';
import type { PipelineFunction } from './pipeline-function.ts';
import { rolePolicy } from './role-policy.ts';

export interface OperatorsProps {
  deployment: DeploymentSettings;
  /** Those that operators start. */
  functions: readonly PipelineFunction[];
  rebuild: PipelineFunction;
  backfill: BackfillStateMachine;
  queues: readonly FailureQueue[];
  lake: Lake;
}

/** What pages of the console call, and AWS allows on no narrower resource: lists of the region, each with its page. */
const CONSOLE_LISTS = [
  // Functions: the list, and the limits at its top.
  'lambda:ListFunctions',
  'lambda:GetAccountSettings',
  // State machines: the list.
  'states:ListStateMachines',
  // Queues: the list.
  'sqs:ListQueues',
  // Logs: the list of groups; the results of Logs Insights and the end of Live Tail, which name a query or a session.
  'logs:DescribeLogGroups',
  'logs:DescribeQueries',
  'logs:GetQueryResults',
  'logs:StopQuery',
  'logs:StopLiveTail',
  // Alarms: the list, and the graph of an alarm's metric.
  'cloudwatch:DescribeAlarms',
  'cloudwatch:ListMetrics',
  'cloudwatch:GetMetricData',
  // The schemas of test events: the list, by which "Test" finds shared events.
  'schemas:ListRegistries',
];

/** A policy for those who run the pipeline: start, stop, look at logs and alarms, empty the queues. */
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

  /** Lets somebody operate the pipeline. */
  grant(grantee: Grantee): void {
    const { functions, rebuild, backfill, queues, lake } = this.#props;
    this.#grantFunctions(grantee, functions);
    this.#grantBackfill(grantee, backfill);
    for (const queue of queues) queue.grantOperate(grantee);
    this.#grantLogs(grantee, [...[...functions, rebuild].map(({ logGroup }) => logGroup), backfill.logGroup]);
    const alarms = this.#arn('cloudwatch', 'alarm', `${instanceName(this)}-*`);
    allow(grantee, ['cloudwatch:DescribeAlarmHistory'], [alarms]);
    lake.grantReadPage(grantee);
    allow(grantee, CONSOLE_LISTS, ['*']);
  }

  #grantFunctions(grantee: Grantee, functions: OperatorsProps['functions']): void {
    // The page of a function reads its configuration before it shows the tab "Test".
    const see = [
      'lambda:GetFunction',
      'lambda:GetFunctionConfiguration',
      'lambda:GetFunctionConcurrency',
      'lambda:GetFunctionEventInvokeConfig',
      'lambda:GetPolicy',
      'lambda:ListAliases',
      'lambda:ListVersionsByFunction',
      'lambda:ListTags',
    ];
    const arns = functions.map((each) => each.function.functionArn);
    allow(grantee, ['lambda:InvokeFunction', ...see], arns);
    // AWS wants the registry of a schema to be named beside it.
    const arn = (resource: string, resourceName: string) =>
      Stack.of(this).formatArn({ service: 'schemas', resource, resourceName });
    const schemas = functions.map(({ name }) => arn('schema', `${REGISTRY}/${schemaName(name)}`));
    allow(
      grantee,
      [
        'schemas:DescribeRegistry',
        'schemas:ListSchemas',
        'schemas:DescribeSchema',
        'schemas:ListSchemaVersions',
      ],
      [arn('registry', REGISTRY), ...schemas],
    );
  }

  #grantBackfill(grantee: Grantee, { stateMachine, mapLabel }: BackfillStateMachine): void {
    const { stateMachineName: name, stateMachineArn } = stateMachine;
    // Of the name, a map run and its executions have the label too.
    const [executions, months, mapRuns] = [
      this.#arn('states', 'execution', `${name}:*`),
      this.#arn('states', 'execution', `${name}/${mapLabel}:*`),
      this.#arn('states', 'mapRun', `${name}/${mapLabel}:*`),
    ];
    allow(
      grantee,
      [
        'states:StartExecution',
        'states:ListExecutions',
        'states:DescribeStateMachine',
        'states:ListStateMachineVersions',
        'states:ListStateMachineAliases',
        'states:ListTagsForResource',
      ],
      [stateMachineArn],
    );
    allow(
      grantee,
      [
        'states:DescribeExecution',
        'states:DescribeStateMachineForExecution',
        'states:GetExecutionHistory',
        'states:ListMapRuns',
        'states:StopExecution',
      ],
      [executions, months],
    );
    allow(grantee, ['states:DescribeMapRun', 'states:ListExecutions'], [mapRuns]);
  }

  #grantLogs(grantee: Grantee, groups: readonly ILogGroup[]): void {
    allow(
      grantee,
      [
        'logs:DescribeLogStreams',
        'logs:FilterLogEvents',
        'logs:GetLogEvents',
        'logs:GetLogGroupFields',
        'logs:GetLogRecord',
        'logs:StartQuery',
      ],
      groups.map(({ logGroupArn }) => logGroupArn),
    );
    // Live Tail names a group without the `:*` of its streams.
    const bare = groups.map(({ logGroupName }) => this.#arn('logs', 'log-group', logGroupName));
    allow(grantee, ['logs:StartLiveTail'], bare);
  }

  #arn(service: string, resource: string, resourceName: string): string {
    return Stack.of(this).formatArn({
      ...{ service, resource, resourceName },
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    });
  }
}

function allow(grantee: Grantee, actions: string[], resourceArns: string[]): void {
  Grant.addToPrincipal({ grantee, actions, resourceArns });
}
