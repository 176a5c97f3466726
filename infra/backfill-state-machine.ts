/* Repeats `sync` until each brand is complete. Without it, years of history would take days of scheduled runs. */
import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { type ILogGroup, LogGroup } from 'aws-cdk-lib/aws-logs';
import * as sfn from 'aws-cdk-lib/aws-stepfunctions';
import { JsonPath } from 'aws-cdk-lib/aws-stepfunctions';
import { LambdaInvoke } from 'aws-cdk-lib/aws-stepfunctions-tasks';
import { Construct } from 'constructs';
import type { Deployment } from './deployment.ts';
import { consoleLink, instanceName, output } from './names.ts';
import type { PipelineFunction } from './pipeline-function.ts';

/** What a complete brand adds to the cause of an execution, in which the other brands have their names. */
const COMPLETE = sfn.Result.fromString('the others are complete');
/** The part of the names of map runs that follows the name of the state machine. */
export const MAP_LABEL = 'Brands';

export class BackfillStateMachine extends Construct {
  readonly stateMachine: sfn.StateMachine;
  readonly logGroup: ILogGroup;

  constructor(scope: Construct, id: string, deployment: Deployment, sync: PipelineFunction) {
    super(scope, id);
    const stateMachineName = `${instanceName(this)}-backfill`;
    this.logGroup = new LogGroup(this, 'Logs', {
      // Log groups under this prefix do not count against the size limit of the account's log resource policy.
      logGroupName: `/aws/vendedlogs/states/${stateMachineName}`,
      retention: deployment.logRetention,
      encryptionKey: deployment.encryptionKey,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    const readAll = this.run('ReadAllOnce', sync, '$', {
      brands: JsonPath.listAt('$.Payload.brands[*].brand'),
    });
    const own = { brand: JsonPath.stringAt('$$.Map.Item.Value') };
    const repeat = new sfn.DistributedMap(this, 'RepeatBrands', {
      label: MAP_LABEL,
      itemsPath: '$.result.brands',
      itemSelector: { event: JsonPath.objectAt('$$.Execution.Input'), own, waits: { count: 0 } },
      maxConcurrency: deployment.brandsAtOnce,
      resultSelector: { left: JsonPath.jsonToString(JsonPath.arrayUnique(JsonPath.listAt('$'))) },
    }).itemProcessor(this.repeatBrand(sync));
    const isComplete = sfn.Condition.stringEquals('$.left', JSON.stringify([COMPLETE.value]));
    const end = new sfn.Choice(this, 'IsComplete')
      .when(isComplete, new sfn.Succeed(this, 'Complete'))
      .otherwise(new sfn.Fail(this, 'Incomplete', { error: 'BackfillIncomplete', causePath: '$.left' }));
    this.stateMachine = new sfn.StateMachine(this, 'StateMachine', {
      stateMachineName,
      definitionBody: sfn.DefinitionBody.fromChainable(readAll.next(repeat).next(end)),
      logs: { destination: this.logGroup, level: sfn.LogLevel.ALL },
    });
    const link = consoleLink(this, 'states', `/statemachines/view/${this.stateMachine.stateMachineArn}`);
    output(this, 'Backfill', { value: link, description: 'Start a backfill here, with an event of sync' });
  }

  private repeatBrand(sync: PipelineFunction): sfn.IChainable {
    const event = 'States.JsonMerge($.event, $.own, false)';
    const run = this.run('ReadBrand', sync, event, { next: JsonPath.stringAt('$.Payload.next') });
    const incomplete = new sfn.Pass(this, 'BrandIncomplete', { outputPath: '$.own.brand' });
    const count = {
      parameters: { count: JsonPath.mathAdd(JsonPath.numberAt('$.waits.count'), 1) },
      resultPath: '$.waits',
    };
    const wait = new sfn.Wait(this, 'Wait', { time: sfn.WaitTime.duration(Duration.minutes(1)) });
    wait.next(new sfn.Pass(this, 'Count', count)).next(run);
    const isNext = (word: string) => sfn.Condition.stringEquals('$.result.next', word);
    const mayWait = sfn.Condition.and(isNext('later'), sfn.Condition.numberLessThan('$.waits.count', 120));
    const step = new sfn.Choice(this, 'NextStep')
      .when(isNext('nothing'), new sfn.Pass(this, 'BrandComplete', { result: COMPLETE }))
      .when(isNext('again'), run)
      // Another run has the brand, or its service does not respond.
      .when(mayWait, wait)
      .otherwise(incomplete);
    return run.addCatch(incomplete, { resultPath: '$.crash' }).next(step);
  }

  private run(id: string, sync: PipelineFunction, event: string, resultSelector: Record<string, unknown>) {
    const payload = sfn.TaskInput.fromJsonPathAt(event);
    const result = { resultSelector, resultPath: '$.result' };
    const throttled = { errors: ['Lambda.TooManyRequestsException'], maxDelay: Duration.minutes(5) };
    return new LambdaInvoke(this, id, { lambdaFunction: sync.function, payload, ...result })
      .addRetry({ ...throttled, maxAttempts: 20 })
      .addRetry({ errors: ['BrandReportsError'], maxAttempts: 0 })
      .addRetry({ interval: Duration.minutes(1), maxAttempts: 2 });
  }
}
