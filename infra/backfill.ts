import { ArnFormat, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import {
  Choice,
  Condition,
  DefinitionBody,
  DistributedMap,
  Fail,
  type IChainable,
  JsonPath,
  LogLevel,
  Pass,
  ProcessorMode,
  StateMachine,
  StateMachineType,
  Succeed,
  TaskInput,
  Timeout,
  Wait,
  WaitTime,
} from 'aws-cdk-lib/aws-stepfunctions';
import { CallAwsService, LambdaInvoke } from 'aws-cdk-lib/aws-stepfunctions-tasks';
import { Construct } from 'constructs';
import type { ReportDefinition } from '../shared/reports/definition.ts';
import type { Settings } from '../shared/settings.ts';
import type { Catalog } from './catalog.ts';
import type { Lake } from './lake.ts';
import { PipelineFunction } from './pipeline-function.ts';

export interface BackfillProps {
  settings: Settings;
  settingsJson: string;
  /** Those that a brand has enabled. */
  reports: readonly ReportDefinition[];
  lake: Lake;
  catalog: Catalog;
}

/**
 * Years of history without anyone's laptop: a state machine that is started by hand with
 * `{"report", "brand", "from", "to"}`, and the function that does its steps. Every month is an execution of its own
 * that reads in rounds until the month is complete; none of them fails, because the outcome lists them all.
 */
export class Backfill extends Construct {
  readonly function: IFunction;
  readonly stateMachine: StateMachine;

  constructor(scope: Construct, id: string, props: BackfillProps) {
    super(scope, id);
    this.function = this.worker(props);
    const stateMachineName = `${Stack.of(this).stackName}-backfill`;
    this.stateMachine = new StateMachine(this, 'StateMachine', {
      stateMachineName,
      comment: 'Reads a range of days of one report of one brand again, month by month',
      definitionBody: DefinitionBody.fromChainable(
        this.definition(stateMachineName, props.settings.deployment.backfillConcurrency),
      ),
      tracingEnabled: true,
      logs: {
        destination: new LogGroup(this, 'Logs', {
          // Under this prefix log groups do not use up the account's short policy on who may write logs.
          logGroupName: `/aws/vendedlogs/states/${stateMachineName}`,
          retention: props.settings.deployment.logRetentionDays,
          removalPolicy: RemovalPolicy.DESTROY,
        }),
        level: LogLevel.ALL,
      },
    });
  }

  private worker({ settings, settingsJson, reports, lake, catalog }: BackfillProps): IFunction {
    const worker = new PipelineFunction(this, 'Worker', {
      settings,
      settingsJson,
      name: 'backfill',
      description: `Does the steps of the state machine ${Stack.of(this).stackName}-backfill, which is what to start`,
      handler: 'backfill',
      environment: {
        LAKE_URL: lake.url,
        DATABASE: catalog.databaseName,
        METRICS_NAMESPACE: Stack.of(this).stackName,
      },
    });
    lake.grantReports(worker.function, reports);
    catalog.grantReports(worker.function, reports);
    worker.grantSecrets(Object.values(settings.brands).map(({ secretName }) => secretName));
    return worker.function;
  }

  private definition(stateMachineName: string, maxConcurrency: number): IChainable {
    const failed = new Fail(this, 'Not all is complete', {
      errorPath: '$.failure.error',
      causePath: '$.failure.cause',
    });
    const listed = new Succeed(this, 'All is complete', { outputPath: '$.months' });
    const conclude = this.step('Conclude', TaskInput.fromObject({ conclude: JsonPath.entirePayload })).next(
      new Choice(this, 'Is all complete?').when(Condition.isPresent('$.failure'), failed).otherwise(listed),
    );
    const readMonths = new DistributedMap(this, 'Read the months', {
      label: 'Months',
      itemsPath: '$.items',
      maxConcurrency,
      mapExecutionType: StateMachineType.STANDARD,
      toleratedFailurePercentage: 100,
      resultPath: '$.months',
    });
    readMonths.itemProcessor(this.month(), {
      mode: ProcessorMode.DISTRIBUTED,
      executionType: StateMachineType.STANDARD as never,
    });
    return this.listRunning(stateMachineName)
      .next(
        this.step(
          'Plan the months',
          TaskInput.fromObject({
            plan: JsonPath.objectAt('$$.Execution.Input'),
            execution: JsonPath.stringAt('$$.Execution.Id'),
            running: JsonPath.objectAt('$.Executions'),
          }),
        ),
      )
      .next(
        new Choice(this, 'Is it refused?')
          .when(Condition.isPresent('$.failure'), failed)
          .otherwise(readMonths.next(conclude)),
      );
  }
}
