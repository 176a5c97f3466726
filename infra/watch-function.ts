import { Aws, Duration } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { COVERAGE_PAGE_KEY } from '../shared/lake/paths.ts';
import type { AlarmTopic } from './alarm-topic.ts';
import { objectLink } from './console-link.ts';
import { instanceName } from './instance-name.ts';
import { output } from './output.ts';
import { PipelineFunction, type PipelineParts } from './pipeline-function.ts';

/**
 * The watcher: every hour it checks whether anything is wrong, draws which days are in the lake, and brings the catalog
 * up to date.
 */
export class WatchFunction extends PipelineFunction {
  constructor(scope: Construct, id: string, props: PipelineParts & { topic: AlarmTopic }) {
    const { lake, catalog, topic, bus } = props;
    super(scope, id, {
      ...props,
      name: 'watch',
      description:
        'Watches every day of every report, reports news, draws which days are in the lake, and updates the catalog; test it with {}',
      // Not on the hour, when most of the world's schedules start.
      schedule: 'cron(50 * * * ? *)',
      environment: {
        FUNCTION_PREFIX: instanceName(scope),
        TOPIC_ARN: topic.topic.topicArn,
        STACK_ID: Aws.STACK_ID,
      },
      timeout: Duration.minutes(5),
    });
    lake.grantWatch(this);
    catalog.grantUpdate(this);
    topic.grantPublish(this);
    bus.grantSend(this);
    output(this, 'CoveragePage', {
      value: objectLink(this, lake.bucket.bucketName, COVERAGE_PAGE_KEY),
      description: 'The days in the lake, what is missing and what to do, drawn every hour: press Open',
    });
  }
}
