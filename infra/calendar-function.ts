import { Duration } from 'aws-cdk-lib';
import {
  type ISchedule,
  Schedule,
  ScheduleExpression,
  type ScheduleTargetConfig,
} from 'aws-cdk-lib/aws-scheduler';
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets';
import type { Construct, IDependable } from 'constructs';
import { COVERAGE_PAGE_KEY } from '../shared/lake/paths.ts';
import type { AlarmTopic } from './alarm-topic.ts';
import { objectLink } from './console-link.ts';
import type { FailureQueue } from './failure-queue.ts';
import { instanceName } from './instance-name.ts';
import { output } from './output.ts';
import { PipelineFunction } from './pipeline-function.ts';
import type { PipelineParts } from './pipeline-parts.ts';

export interface CalendarFunctionProps extends PipelineParts {
  /** The topic of the watcher's messages. */
  topic: AlarmTopic;
  /** The queue for events that the schedule could not deliver. */
  undelivered: FailureQueue;
  /** The queue for watcher runs that failed. */
  failed: FailureQueue;
}

/** The watcher: every hour it checks whether anything is wrong, and draws which days are in the lake. */
export class CalendarFunction extends PipelineFunction {
  readonly #schedule: Schedule;

  constructor(scope: Construct, id: string, props: CalendarFunctionProps) {
    const { settings, lake, topic, bus, undelivered, failed } = props;
    super(scope, id, {
      ...props,
      name: 'calendar',
      description:
        'Watches every day of every report, reports news, draws which days are in the lake; test it with {}',
      handler: 'calendar',
      environment: {
        ...lake.environment,
        ...bus.environment,
        FUNCTION_PREFIX: instanceName(scope),
        TOPIC_ARN: topic.topic.topicArn,
      },
      timeout: Duration.minutes(5),
      onFailure: failed,
    });
    lake.grantWatch(this);
    topic.grantPublish(this);
    bus.grantSend(this);
    this.#schedule = new Schedule(this, 'Schedule', {
      description: 'Checks whether anything is wrong',
      // Not on the hour, when most of the world's schedules start.
      schedule: ScheduleExpression.expression('cron(50 * * * ? *)'),
      enabled: settings.deployment.schedules,
      target: new ScheduleTarget(this, undelivered),
    });
    output(this, 'CoveragePage', {
      value: objectLink(this, lake.bucket.bucketName, COVERAGE_PAGE_KEY),
      description: 'The days in the lake, what is missing and what to do, drawn every hour: press Open',
    });
  }

  /** Watcher runs start after the dependency was created, and end before it is deleted. */
  scheduleAfter(dependency: IDependable): void {
    this.#schedule.node.addDependency(dependency);
  }
}

/**
 * Starts a function. Its queue gets only events that the schedule could not deliver: the function has its own queue.
 */
class ScheduleTarget extends LambdaInvoke {
  readonly #undelivered: FailureQueue;

  constructor(started: PipelineFunction, undelivered: FailureQueue) {
    super(started.function, {
      retryAttempts: 2,
      maxEventAge: Duration.minutes(15),
      deadLetterQueue: undelivered,
    });
    this.#undelivered = undelivered;
  }

  override bind(schedule: ISchedule): ScheduleTargetConfig {
    const target = super.bind(schedule);
    this.#undelivered.grantSend(target.role);
    return target;
  }
}
