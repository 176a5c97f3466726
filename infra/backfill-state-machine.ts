/*
 * A state machine reads years of history. Without it, a backfill would occupy a laptop for days or make the scheduled
 * functions late. A person starts an execution with {"brands", "reports", "from", "to"}; the function checks the input
 * and lists the brands, and a map runs the function for each brand until the brand is complete. A brand that fails does
 * not stop the others; the execution fails at its end, with the reasons. shared/operations/backfill.ts has the rules.
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
  Pass,
  StateMachine,
  Succeed,
  TaskInput,
  Timeout,
  Wait,
  WaitTime,
} from 'aws-cdk-lib/aws-stepfunctions';
import { LambdaInvoke } from 'aws-cdk-lib/aws-stepfunctions-tasks';
import { Construct } from 'constructs';
import type { ReportDefinition } from '../shared/reports/definition.ts';
import { consoleLink } from './console-link.ts';
import { customerKey } from './grants.ts';
import { instanceName } from './instance-name.ts';
import { output } from './output.ts';
import type { PipelineFunction } from './pipeline-function.ts';
import type { PipelineParts } from './pipeline-parts.ts';
import { ReadingFunction } from './report-function.ts';

export interface BackfillStateMachineProps extends PipelineParts {
  /** The reports that a brand has enabled. */
  reports: readonly ReportDefinition[];
}

/** The part of the names of map runs that follows the name of the state machine. */
export const MAP_LABEL = 'Brands';

/** Leaves most of a small account's instances to the scheduled functions. */
const BRANDS_AT_ONCE = 2;

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
      comment: 'Reads a range of days of brands again',
      definitionBody: DefinitionBody.fromChainable(this.definition()),
      logs: { destination: this.logGroup, level: LogLevel.ALL },
    });
    output(this, 'Backfill', {
      value: consoleLink(this, 'states', `/statemachines/view/${this.stateMachine.stateMachineArn}`),
      description: 'Start a backfill here. Input: {"brands", "reports", "from", "to"}, all optional',
    });
  }

  private definition(): IChainable {
    const failed = new Fail(this, 'BackfillFailed', {
      errorPath: '$.failure.error',
      causePath: '$.failure.cause',
    });
    const unlessFailed = (id: string, next: IChainable) =>
      new Choice(this, id).when(Condition.isPresent('$.failure'), failed).otherwise(next);
    const plan = this.step('ListBrands', { plan: JsonPath.objectAt('$') });
    const read = new DistributedMap(this, 'ReadBrands', {
      label: MAP_LABEL,
      itemsPath: '$.items',
      maxConcurrency: BRANDS_AT_ONCE,
    }).itemProcessor(this.brand());
    const conclude = this.step('Conclude', { conclude: JsonPath.objectAt('$') });
    const complete = new Succeed(this, 'AllBrandsComplete', { outputPath: '$.brands' });
    return plan.next(
      unlessFailed('IsRefused', read.next(conclude).next(unlessFailed('IsIncomplete', complete))),
    );
  }

  /** Runs the function for one brand until the brand ends. Each run gets the result of the previous run. */
  private brand(): IChainable {
    const run = this.step('ReadBrand');
    const crashed = new Pass(this, 'Crashed', {
      parameters: {
        brand: JsonPath.stringAt('$.brand'),
        status: 'failed',
        why: JsonPath.format(
          'the function ended with {} in every try: read its log',
          JsonPath.stringAt('$.crash.Error'),
        ),
      },
    });
    const wait = new Wait(this, 'Wait', { time: WaitTime.duration(Duration.minutes(1)) });
    const next = new Choice(this, 'NextStep')
      .when(Condition.stringEquals('$.status', 'again'), run)
      .when(Condition.stringEquals('$.status', 'wait'), wait.next(run))
      .otherwise(new Succeed(this, 'BrandDone'));
    return run.addCatch(crashed, { resultPath: '$.crash' }).next(next);
  }

  /** @param payload missing: the state's input */
  private step(id: string, payload?: Record<string, unknown>): LambdaInvoke {
    const step = new LambdaInvoke(this, id, {
      lambdaFunction: this.worker.function,
      ...(payload && { payload: TaskInput.fromObject(payload) }),
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
