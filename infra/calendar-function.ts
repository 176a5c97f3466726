import { Duration } from 'aws-cdk-lib';
import { Schedule, ScheduleExpression } from 'aws-cdk-lib/aws-scheduler';
import type { Construct, IDependable } from 'constructs';
import { COVERAGE_PAGE_KEY } from '../shared/lake/paths.ts';
import type { Settings } from '../shared/settings/settings.ts';
import type { AlarmTopic } from './alarm-topic.ts';
import { objectLink } from './console-link.ts';
import type { EventBus } from './event-bus.ts';
import type { FailureQueue } from './failure-queue.ts';
import { instanceName } from './instance-name.ts';
import type { Lake } from './lake.ts';
import { output } from './output.ts';
import type { Network } from './network.ts';
import { PipelineFunction } from './pipeline-function.ts';
import { ScheduleTarget } from './schedule-target.ts';

export interface CalendarFunctionProps {
  settings: Settings;
  network?: Network;
  lake: Lake;
  /** The topic of the watcher's messages. */
  topic: AlarmTopic;
  /** The bus of the watcher's events. */
  bus: EventBus;
  /** The queue for events that the schedule could not deliver. */
  undelivered: FailureQueue;
  /** The queue for watcher runs that failed. */
  failed: FailureQueue;
}

/** The watcher: every hour it checks whether anything is wrong, and draws which days are in the lake. */
export class CalendarFunction extends PipelineFunction {
  readonly #schedule: Schedule;

  constructor(scope: Construct, id: string, props: CalendarFunctionProps) {
    const { settings, network, lake, topic, bus, undelivered, failed } = props;
    super(scope, id, {
      settings,
      network,
      name: 'calendar',
      description: 'Watches every day of every report, reports news, draws which days are in the lake',
      handler: 'calendar',
      environment: {
        ...lake.environment,
        ...bus.environment,
        FUNCTION_PREFIX: instanceName(scope),
        TOPIC_ARN: topic.topic.topicArn,
      },
      timeout: Duration.minutes(5),
      onFailure: failed,
      testEvents: { 'Watch-now': {} },
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
