import { Aws, Duration } from 'aws-cdk-lib';
import { ScheduleExpression } from 'aws-cdk-lib/aws-scheduler';
import type { Construct } from 'constructs';
import { COVERAGE_PAGE_KEY } from '../shared/lake/paths.ts';
import type { AlarmTopic } from './alarm-topic.ts';
import { objectLink } from './console-link.ts';
import { instanceName } from './instance-name.ts';
import { output } from './output.ts';
import { PipelineFunction } from './pipeline-function.ts';
import type { PipelineParts, StartedFunctionProps } from './pipeline-parts.ts';
import { startBySchedule } from './start-schedule.ts';

export interface WatchFunctionProps extends PipelineParts, StartedFunctionProps {
  /** The topic of the watcher's messages. */
  topic: AlarmTopic;
}

/**
 * The watcher: every hour it checks whether anything is wrong, draws which days are in the lake, and brings the catalog
 * up to date.
 */
export class WatchFunction extends PipelineFunction {
  constructor(scope: Construct, id: string, props: WatchFunctionProps) {
    const { settings, lake, catalog, topic, bus, undelivered, failed } = props;
    super(scope, id, {
      ...props,
      name: 'watch',
      description:
        'Watches every day of every report, reports news, draws which days are in the lake, and updates the catalog; test it with {}',
      handler: 'watch',
      environment: {
        FUNCTION_PREFIX: instanceName(scope),
        TOPIC_ARN: topic.topic.topicArn,
        STACK_ID: Aws.STACK_ID,
      },
      timeout: Duration.minutes(5),
      onFailure: failed,
    });
    lake.grantWatch(this);
    catalog.grantUpdate(this);
    topic.grantPublish(this);
    bus.grantSend(this);
    // Not on the hour, when most of the world's schedules start.
    const hourly = ScheduleExpression.expression('cron(50 * * * ? *)');
    startBySchedule(this, hourly, { enabled: settings.deployment.schedules, undelivered });
    output(this, 'CoveragePage', {
      value: objectLink(this, lake.bucket.bucketName, COVERAGE_PAGE_KEY),
      description: 'The days in the lake, what is missing and what to do, drawn every hour: press Open',
    });
  }
}
