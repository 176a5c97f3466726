/*
 * Reads years of history in a state machine. Without it, a backfill would occupy a laptop for days or make the
 * scheduled functions late. A person starts an execution with {"report", "brand", "from", "to"}:
 * - The function plans the months, newest first.
 * - A Distributed Map reads several months at the same time. Each month is an execution of its own, which runs the
 * function again until the month is complete.
 * - The last step lists all months. A month that fails does not stop the others; the execution fails at the end, with
 * the reasons.
 * - shared/operations/backfill-months.ts does the work of the steps.
 */
import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { type ILogGroup, LogGroup } from 'aws-cdk-lib/aws-logs';
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
  Map as InlineMap,
  Pass,
  StateMachine,
  Succeed,
  TaskInput,
  Timeout,
  Wait,
  WaitTime,
} from 'aws-cdk-lib/aws-stepfunctions';
import { CallAwsService, type CallAwsServiceProps, LambdaInvoke } from 'aws-cdk-lib/aws-stepfunctions-tasks';
import { Construct } from 'constructs';
import type { ReportDefinition } from '../shared/reports/definition.ts';
import { consoleLink } from './console-link.ts';
import { instanceName } from './instance-name.ts';
import { arnInStack, customerKey } from './grants.ts';
import { output } from './output.ts';
import type { PipelineFunction } from './pipeline-function.ts';
import type { PipelineParts } from './pipeline-parts.ts';
import { ReadingFunction } from './report-function.ts';

export interface BackfillStateMachineProps extends PipelineParts {
  /** The reports that a brand has enabled. */
  reports: readonly ReportDefinition[];
}

/** The part of the names of map runs that follows the name of the state machine. */
export const MAP_LABEL = 'Months';

/** One month reads while another one waits, e.g. for a throttled service. All months share the brand's rate, so more gain nothing. */
const MONTHS_AT_ONCE = 2;

/** The state machine of the backfill and the function that does its steps. */
export class BackfillStateMachine extends Construct {
  readonly worker: PipelineFunction;
  readonly stateMachine: StateMachine;
  readonly logGroup: ILogGroup;

  constructor(scope: Construct, id: string, props: BackfillStateMachineProps) {
    super(scope, id);
    const { logRetentionDays, lakeKeyArn } = props.settings.deployment;
    const stateMachineName = `${instanceName(this)}-backfill`;
    this.worker = new ReadingFunction(this, 'Worker', {
      ...props,
      name: 'backfill',
      description: `Does the steps of the state machine ${stateMachineName}: start the state machine, not this function`,
      handler: 'backfill',
    });
    this.logGroup = new LogGroup(this, 'Logs', {
      // Log groups under this prefix do not count against the size limit of the account's log resource policy.
      logGroupName: `/aws/vendedlogs/states/${stateMachineName}`,
      retention: logRetentionDays,
      encryptionKey: customerKey(this, lakeKeyArn),
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.stateMachine = new StateMachine(this, 'StateMachine', {
      stateMachineName,
      comment: 'Reads a range of days of one report of one brand again, month by month',
      definitionBody: DefinitionBody.fromChainable(this.definition(stateMachineName)),
      logs: {
        destination: this.logGroup,
        level: LogLevel.ALL,
      },
    });
    output(this, 'Backfill', {
      value: consoleLink(this, 'states', `/statemachines/view/${this.stateMachine.stateMachineArn}`),
      description: 'Start a backfill here. Input: {"report", "brand", "from", "to"}',
    });
  }

  /** Lists running executions with their inputs → plans → reads several months at the same time → concludes. */
  private definition(stateMachineName: string): IChainable {
    const failed = new Fail(this, 'BackfillFailed', {
      errorPath: '$.failure.error',
      causePath: '$.failure.cause',
    });
    const unlessFailed = (id: string, next: IChainable) =>
      new Choice(this, id).when(Condition.isPresent('$.failure'), failed).otherwise(next);
    const plan = this.step('PlanMonths', {
      plan: JsonPath.objectAt('$$.Execution.Input'),
      execution: JsonPath.stringAt('$$.Execution.Id'),
      running: JsonPath.objectAt('$'),
    });
    const read = new DistributedMap(this, 'ReadMonths', {
      label: MAP_LABEL,
      itemsPath: '$.items',
      maxConcurrency: MONTHS_AT_ONCE,
      toleratedFailurePercentage: 100,
      resultPath: '$.months',
    }).itemProcessor(this.month());
    const conclude = this.step('Conclude', { conclude: JsonPath.objectAt('$') });
    const complete = new Succeed(this, 'AllMonthsComplete', { outputPath: '$.months' });
    return this.listRunning(stateMachineName)
      .next(this.describeRunning(stateMachineName))
      .next(plan)
      .next(unlessFailed('IsRefused', read.next(conclude).next(unlessFailed('IsIncomplete', complete))));
  }

  /**
   * Refuses the plan while another execution for the same brand is running. The list is eventually consistent, so two
   * executions that start at the same moment may both run.
   */
  private listRunning(stateMachineName: string): CallAwsService {
    return this.call('ListRunning', {
      action: 'listExecutions',
      parameters: {
        StateMachineArn: JsonPath.stringAt('$$.StateMachine.Id'),
        StatusFilter: 'RUNNING',
        MaxResults: 100,
      },
      iamAction: 'states:ListExecutions',
      // By name: a reference to the state machine, which depends on this policy, would be a circular dependency.
      iamResources: [arnInStack(this, 'states', `stateMachine:${stateMachineName}`)],
    });
  }

  /** Reads the name and the input of each execution, because a list of executions contains no inputs. */
  private describeRunning(stateMachineName: string): InlineMap {
    const described = { ExecutionArn: JsonPath.stringAt('$.ExecutionArn') };
    const describe = this.call('DescribeRunning', {
      action: 'describeExecution',
      parameters: described,
      iamAction: 'states:DescribeExecution',
      iamResources: [arnInStack(this, 'states', `execution:${stateMachineName}:*`)],
      resultSelector: { ...described, Input: JsonPath.stringAt('$.Input') },
    });
    return new InlineMap(this, 'EachRunning', { itemsPath: '$.Executions' }).itemProcessor(describe);
  }

  /** A call of Step Functions itself. */
  private call(id: string, props: Omit<CallAwsServiceProps, 'service'>): CallAwsService {
    const call = new CallAwsService(this, id, { service: 'sfn', ...props });
    call.addRetry({ interval: Duration.seconds(5), maxAttempts: 4 });
    return call;
  }

  /** Runs the function for one month until the month ends. Each run gets the progress of the previous run. */
  private month(): IChainable {
    const run = this.step('ReadMonth', {
      read: JsonPath.objectAt('$.read'),
      progress: JsonPath.objectAt('$.progress'),
    });
    const crashed = new Pass(this, 'Crashed', {
      parameters: {
        from: JsonPath.stringAt('$.read.from'),
        to: JsonPath.stringAt('$.read.to'),
        status: 'failed',
        why: JsonPath.format(
          'the function ended with {} in every try: read its log, fix the cause, then start the backfill of this month again',
          JsonPath.stringAt('$.crash.Error'),
        ),
      },
    });
    const wait = new Wait(this, 'Wait', { time: WaitTime.secondsPath('$.waitSeconds') });
    const next = new Choice(this, 'NextStep')
      .when(Condition.stringEquals('$.next', 'again'), run)
      .when(Condition.stringEquals('$.next', 'wait'), wait.next(run))
      .otherwise(new Succeed(this, 'MonthDone', { outputPath: '$.outcome' }));
    return run.addCatch(crashed, { resultPath: '$.crash' }).next(next);
  }

  private step(id: string, payload: Record<string, unknown>): LambdaInvoke {
    const step = new LambdaInvoke(this, id, {
      lambdaFunction: this.worker.function,
      payload: TaskInput.fromObject(payload),
      outputPath: '$.Payload',
      taskTimeout: Timeout.duration(Duration.minutes(20)),
    });
    // A small account has few instances, and the scheduled functions need them too.
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
