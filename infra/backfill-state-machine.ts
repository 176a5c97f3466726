import { ArnFormat, Duration, Fn, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import {
  Choice,
  Condition,
  DefinitionBody,
  DistributedMap,
  Errors,
  Fail,
  type IChainable,
  JitterType,
  JsonPath,
  LogLevel,
  Pass,
  StateMachine,
  Succeed,
  TaskInput,
  Timeout,
  Wait,
  WaitTime,
} from 'aws-cdk-lib/aws-stepfunctions';
import { CallAwsService, LambdaInvoke } from 'aws-cdk-lib/aws-stepfunctions-tasks';
import { Construct } from 'constructs';
import type { ReportDefinition } from '../shared/reports/definition.ts';
import type { Settings } from '../shared/settings/settings.ts';
import type { Catalog } from './catalog.ts';
import { consoleLink } from './console-link.ts';
import { acknowledgeWildcards } from './acknowledge-wildcards.ts';
import type { Lake } from './lake.ts';
import { output } from './output.ts';
import { PipelineFunction } from './pipeline-function.ts';

export interface BackfillProps {
  settings: Settings;
  settingsJson: string;
  /** Those that a brand has enabled. */
  reports: readonly ReportDefinition[];
  lake: Lake;
  catalog: Catalog;
}

const MAP_LABEL = 'Months';

/**
 * Years of history without anyone's laptop: a state machine that is started by hand with
 * `{"report", "brand", "from", "to"}`, and the function that does its steps. Every month is an execution of its own
 * that reads in rounds until the month is complete; none of them fails, because the outcome lists them all.
 */
export class Backfill extends Construct {
  readonly worker: PipelineFunction;
  readonly stateMachine: StateMachine;

  constructor(scope: Construct, id: string, props: BackfillProps) {
    super(scope, id);
    const { backfillConcurrency, logRetentionDays } = props.settings.deployment;
    const stateMachineName = `${Stack.of(this).stackName}-backfill`;
    this.worker = this.newWorker(stateMachineName, props);
    this.stateMachine = new StateMachine(this, 'StateMachine', {
      stateMachineName,
      comment: 'Reads a range of days of one report of one brand again, month by month',
      definitionBody: DefinitionBody.fromChainable(this.definition(stateMachineName, backfillConcurrency)),
      tracingEnabled: true,
      logs: {
        destination: new LogGroup(this, 'Logs', {
          // Under this prefix log groups do not use up the account's short policy on who may write logs.
          logGroupName: `/aws/vendedlogs/states/${stateMachineName}`,
          retention: logRetentionDays,
          removalPolicy: RemovalPolicy.DESTROY,
        }),
        level: LogLevel.ALL,
      },
    });
    this.explain();
    output(this, 'Backfill', {
      value: consoleLink(this, 'states', `/statemachines/view/${this.stateMachine.stateMachineArn}`),
      description: 'Start a backfill here, with report, brand, from and to as its input',
    });
  }

  private newWorker(stateMachineName: string, props: BackfillProps): PipelineFunction {
    const { settings, settingsJson, reports, lake, catalog } = props;
    const worker = new PipelineFunction(this, 'Worker', {
      settings,
      settingsJson,
      name: 'backfill',
      description: `Does the steps of the state machine ${stateMachineName}, which is what to start`,
      handler: 'backfill',
      environment: {
        LAKE_URL: lake.url,
        DATABASE: catalog.databaseName,
        METRICS_NAMESPACE: Stack.of(this).stackName,
      },
      testEvents: { 'Show-the-plan': { plan: firstOf(settings), execution: '', running: [] } },
    });
    lake.grantReports(worker, reports);
    catalog.grantReports(worker, reports);
    worker.grantSecrets(Object.values(settings.brands).map(({ secretName }) => secretName));
    return worker;
  }

  private explain(): void {
    const { stateMachine, worker } = this;
    const explain = (arns: string[], reason: string) => acknowledgeWildcards(stateMachine, arns, reason);
    explain(
      [`${worker.function.functionArn}:*`],
      'The state machine starts the function under any of its versions, and nothing else.',
    );
    explain(['*'], 'Log deliveries and traces have no resources that a policy could name.');
    const executions = Stack.of(this).formatArn({
      service: 'states',
      resource: 'execution',
      resourceName: Fn.select(6, Fn.split(':', stateMachine.stateMachineArn)),
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    });
    explain(
      [`${executions}:*`, `${executions}/${MAP_LABEL}:*`],
      'The state machine looks after the executions that it starts for the months, whatever their names.',
    );
  }

  /** Plan → read the months, several at the same time → conclude. */
  private definition(stateMachineName: string, maxConcurrency: number): IChainable {
    const failed = new Fail(this, 'Refused or not complete', {
      errorPath: '$.failure.error',
      causePath: '$.failure.cause',
    });
    const unlessFailed = (question: string, next: IChainable) =>
      new Choice(this, question).when(Condition.isPresent('$.failure'), failed).otherwise(next);
    const plan = this.step('Plan the months', {
      plan: JsonPath.objectAt('$$.Execution.Input'),
      execution: JsonPath.stringAt('$$.Execution.Id'),
      running: JsonPath.objectAt('$.Executions'),
    });
    const read = new DistributedMap(this, 'Read the months', {
      label: MAP_LABEL,
      itemsPath: '$.items',
      maxConcurrency,
      toleratedFailurePercentage: 100,
      resultPath: '$.months',
    }).itemProcessor(this.month());
    const conclude = this.step('Conclude', { conclude: JsonPath.objectAt('$') });
    const listed = new Succeed(this, 'All months', { outputPath: '$.months' });
    return this.listRunning(stateMachineName)
      .next(plan)
      .next(
        unlessFailed(
          'Is it refused?',
          read.next(conclude).next(unlessFailed('Is one not complete?', listed)),
        ),
      );
  }

  /**
   * A brand's rate has a share for one backfill (shared/rate-share.ts): the plan is refused while another execution
   * is running. The list may lack what began a moment ago, so nobody should start two at once all the same.
   */
  private listRunning(stateMachineName: string): CallAwsService {
    const arn = Stack.of(this).formatArn({
      service: 'states',
      resource: 'stateMachine',
      // By name: a policy that refers to the state machine, which needs the policy, would be a circle.
      resourceName: stateMachineName,
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    });
    const list = new CallAwsService(this, 'List what is running', {
      service: 'sfn',
      action: 'listExecutions',
      parameters: {
        StateMachineArn: JsonPath.stringAt('$$.StateMachine.Id'),
        StatusFilter: 'RUNNING',
        MaxResults: 2,
      },
      iamAction: 'states:ListExecutions',
      iamResources: [arn],
    });
    list.addRetry({ interval: Duration.seconds(5), maxAttempts: 4 });
    return list;
  }

  /** The rounds of one month, each with the answer of the one before. */
  private month(): IChainable {
    const round = this.step('Read on', {
      read: JsonPath.objectAt('$.read'),
      progress: JsonPath.objectAt('$.progress'),
    });
    const crashed = new Pass(this, 'It crashed', {
      parameters: {
        from: JsonPath.stringAt('$.read.from'),
        to: JsonPath.stringAt('$.read.to'),
        status: 'failed',
        why: JsonPath.format(
          'the function ended with {} again and again: look at its log',
          JsonPath.stringAt('$.crash.Error'),
        ),
      },
    });
    const wait = new Wait(this, 'Wait', { time: WaitTime.secondsPath('$.waitSeconds') });
    const next = new Choice(this, 'What is next?')
      .when(Condition.stringEquals('$.next', 'again'), round)
      .when(Condition.stringEquals('$.next', 'wait'), wait.next(round))
      .otherwise(new Succeed(this, 'The month', { outputPath: '$.outcome' }));
    return round.addCatch(crashed, { resultPath: '$.crash' }).next(next);
  }

  private step(id: string, payload: Record<string, unknown>): LambdaInvoke {
    const step = new LambdaInvoke(this, id, {
      lambdaFunction: this.worker.function,
      payload: TaskInput.fromObject(payload),
      outputPath: '$.Payload',
      taskTimeout: Timeout.duration(Duration.minutes(20)),
    });
    // A small account has few instances, and the schedules want them as well.
    step.addRetry({
      errors: ['Lambda.TooManyRequestsException'],
      interval: Duration.seconds(20),
      backoffRate: 1.5,
      maxDelay: Duration.minutes(5),
      maxAttempts: 20,
      jitterStrategy: JitterType.FULL,
    });
    step.addRetry({ errors: [Errors.ALL], interval: Duration.minutes(1), maxAttempts: 2 });
    return step;
  }
}

/** A backfill of all that there is, to look at: what its first step answers reads nothing. */
function firstOf({ brands }: Settings): Record<string, unknown> {
  const [brand, settings] = Object.entries(brands)[0] ?? [];
  const report = Object.entries(settings?.reports ?? {}).find(([, { enabled }]) => enabled)?.[0];
  return { brand, report };
}
