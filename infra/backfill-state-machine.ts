/*
 * A state machine repeats the function `sync` until each brand is complete. Without it, years of history would take days
 * of scheduled runs. A brand that cannot be completed does not stop the others; the execution then fails at its end and
 * names it.
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
import type { DeploymentSettings } from '../shared/settings/deployment.ts';
import { consoleLink, instanceName, output } from './names.ts';
import { customerKey } from './grants.ts';
import type { PipelineFunction } from './pipeline-function.ts';

/** The part of the names of map runs that follows the name of the state machine. */
export const MAP_LABEL = 'Brands';

/** A brand fails after so many consecutive runs that read no day to its end. */
const MAX_STALLED_RUNS = 60;

export class BackfillStateMachine extends Construct {
  readonly stateMachine: StateMachine;
  readonly logGroup: ILogGroup;

  constructor(scope: Construct, id: string, deployment: DeploymentSettings, sync: PipelineFunction) {
    super(scope, id);
    const { logRetentionDays, lakeKeyArn } = deployment;
    const stateMachineName = `${instanceName(this)}-backfill`;
    this.logGroup = new LogGroup(this, 'Logs', {
      // Log groups under this prefix do not count against the size limit of the account's log resource policy.
      logGroupName: `/aws/vendedlogs/states/${stateMachineName}`,
      retention: logRetentionDays,
      encryptionKey: customerKey(this, lakeKeyArn),
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.stateMachine = new StateMachine(this, 'StateMachine', {
      stateMachineName,
      comment: 'Repeats sync until each brand is complete',
      definitionBody: DefinitionBody.fromChainable(this.definition(sync, deployment.brandsAtOnce)),
      logs: { destination: this.logGroup, level: LogLevel.ALL },
    });
    output(this, 'Backfill', {
      value: consoleLink(this, 'states', `/statemachines/view/${this.stateMachine.stateMachineArn}`),
      description:
        'Start a backfill here. The input is an event of sync: {"brand", "reports", "from", "to"}, all optional',
    });
  }

  private definition(sync: PipelineFunction, brandsAtOnce: number): IChainable {
    const begin = new Pass(this, 'Begin', { parameters: { event: JsonPath.objectAt('$') } });
    const readAll = this.run('ReadAllOnce', sync, { brands: JsonPath.listAt('$.Payload.brands[*].brand') });
    const repeat = new DistributedMap(this, 'RepeatBrands', {
      label: MAP_LABEL,
      itemsPath: '$.result.brands',
      itemSelector: {
        event: JsonPath.objectAt('$$.Execution.Input'),
        own: { brand: JsonPath.stringAt('$$.Map.Item.Value') },
      },
      maxConcurrency: brandsAtOnce,
    }).itemProcessor(this.repeatBrand(sync));
    const conclude = new Pass(this, 'Conclude', {
      parameters: {
        brands: JsonPath.objectAt('$'),
        isIncomplete: JsonPath.arrayContains(JsonPath.listAt('$[*].status'), 'incomplete'),
      },
    });
    const name = new Pass(this, 'NameIncomplete', {
      parameters: { incomplete: JsonPath.listAt("$.brands[?(@.status == 'incomplete')].brand") },
    });
    const cause = new Pass(this, 'Cause', {
      parameters: {
        cause: JsonPath.format(
          'These brands are not complete: {}. Test sync with the input and each of these brands: its result has the reason. Then start the backfill again',
          JsonPath.jsonToString(JsonPath.objectAt('$.incomplete')),
        ),
      },
    });
    const incomplete = new Fail(this, 'Incomplete', { error: 'BackfillIncomplete', causePath: '$.cause' });
    const end = new Choice(this, 'IsIncomplete')
      .when(Condition.booleanEquals('$.isIncomplete', true), name.next(cause).next(incomplete))
      .otherwise(new Succeed(this, 'AllBrandsComplete'));
    return begin.next(readAll).next(repeat).next(conclude).next(end);
  }

  private repeatBrand(sync: PipelineFunction): IChainable {
    const done = new Succeed(this, 'BrandDone');
    const ended = (id: string, status: string) => {
      const end = new Pass(this, id, { parameters: { brand: JsonPath.stringAt('$.event.brand'), status } });
      end.next(done);
      return end;
    };
    const failed = ended('BrandIncomplete', 'incomplete');
    const result = {
      next: JsonPath.stringAt('$.Payload.next'),
      progress: JsonPath.objectAt('$.Payload.progress'),
    };
    const run = this.run('ReadBrand', sync, result).addCatch(failed, { resultPath: '$.crash' });
    const event = JsonPath.objectAt('$.event');
    const reset = new Pass(this, 'Reset', { parameters: { event, stalled: 0 } });
    const count = new Pass(this, 'Count', {
      parameters: { event, stalled: JsonPath.mathAdd(JsonPath.numberAt('$.stalled'), 1) },
    });
    const wait = new Wait(this, 'Wait', { time: WaitTime.duration(Duration.minutes(1)) });
    const isNext = (word: string) => Condition.stringEquals('$.result.next', word);
    const choice = new Choice(this, 'NextStep')
      .when(isNext('nothing'), ended('BrandComplete', 'complete'))
      .when(isNext('person'), failed)
      .when(Condition.booleanEquals('$.result.progress', true), reset.next(run))
      .when(Condition.numberGreaterThanEquals('$.stalled', MAX_STALLED_RUNS), failed)
      .when(isNext('again'), count.next(run))
      .otherwise(wait.next(count));
    const first = new Pass(this, 'NameBrand', {
      parameters: { event: JsonPath.jsonMerge(event, JsonPath.objectAt('$.own')), stalled: 0 },
    });
    return first.next(run).next(choice);
  }

  /** Runs `sync` with the event. @param result the parts of its result that the execution keeps */
  private run(id: string, sync: PipelineFunction, result: Record<string, unknown>): LambdaInvoke {
    const step = new LambdaInvoke(this, id, {
      lambdaFunction: sync.function,
      payload: TaskInput.fromJsonPathAt('$.event'),
      resultSelector: result,
      resultPath: '$.result',
      taskTimeout: Timeout.duration(Duration.minutes(20)),
    });
    // A small account has few instances, and the scheduled run needs one too.
    step.addRetry({
      errors: ['Lambda.TooManyRequestsException'],
      interval: Duration.seconds(20),
      backoffRate: 1.5,
      maxDelay: Duration.minutes(5),
      maxAttempts: 20,
      jitterStrategy: JitterType.FULL,
    });
    // An event that is not valid stays so.
    step.addRetry({ errors: ['BrandReportsError'], maxAttempts: 0 });
    step.addRetry({ errors: [Errors.ALL], interval: Duration.minutes(1), maxAttempts: 2 });
    return step;
  }
}
