import { describe, expect, it } from '@jest/globals';
import { App, Stack } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { StateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import * as z from 'zod/mini';
import { AlarmTopic } from '../../infra/alarm-topic.ts';
import { Observability } from '../../infra/observability.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import { reports } from '../../shared/reports/index.ts';

const HOUR = 3600;
const ACCOUNT = { region: 'eu-central-1', account: '123456789012' };
const REPORTS = ['order_list', 'clicks_list'];
const TOPIC = 'arn:aws:sns:eu-central-1:123456789012:alerts';

const BRANDS = {
  acme: {
    baseUrl: 'https://service.example/api/brand',
    service: 'ACME',
    timeZone: 'America/New_York',
    startDate: '2026-01-01',
    secretName: 'brand-reports/acme',
  },
};

const alarmSchema = z.looseObject({
  AlarmName: z.string(),
  AlarmActions: z.unknown(),
  AlarmDescription: z.unknown(),
});

const bodySchema = z.object({
  widgets: z.array(
    z.looseObject({
      type: z.string(),
      properties: z.looseObject({
        title: z.optional(z.string()),
        markdown: z.optional(z.string()),
        alarms: z.optional(z.array(z.string())),
      }),
    }),
  ),
});

describe('the alarms', () => {
  const template = synthesised();

  it('are one for problems, one for each queue and one for backfills, however many brands there are', () => {
    expect(Object.keys(alarmsOf(template)).sort()).toEqual([
      'Reports-backfill-failed',
      'Reports-problems',
      'Reports-queue-failed',
      'Reports-queue-undelivered',
    ]);
  });

  it.each<[string, object]>([
    [
      'problems',
      {
        Namespace: 'Reports',
        MetricName: 'Problems',
        Statistic: 'Maximum',
        Period: HOUR,
        EvaluationPeriods: 3,
        Threshold: 1,
        ComparisonOperator: 'GreaterThanOrEqualToThreshold',
        // Nobody looks: the watcher is dead, or the whole pipeline.
        TreatMissingData: 'breaching',
      },
    ],
    [
      'queue-failed',
      {
        MetricName: 'ApproximateNumberOfMessagesVisible',
        Statistic: 'Maximum',
        Threshold: 1,
        TreatMissingData: 'ignore',
      },
    ],
    ['queue-undelivered', { TreatMissingData: 'ignore' }],
    [
      'backfill-failed',
      { MetricName: 'ExecutionsFailed', Statistic: 'Sum', Threshold: 1, TreatMissingData: 'notBreaching' },
    ],
  ])('%s watches its metric with its threshold and window', (name, expected) => {
    expect(alarmsOf(template)[`Reports-${name}`]).toMatchObject(expected);
  });

  it('all notify the topic, and say what to do', () => {
    const [topic] = Object.keys(template.findResources('AWS::SNS::Topic'));
    for (const { AlarmActions, AlarmDescription } of Object.values(alarmsOf(template))) {
      expect(AlarmActions).toEqual([{ Ref: topic }]);
      const description = JSON.stringify(AlarmDescription);
      expect(description).toMatch(/Sync-now|Watch-now|new execution/);
      expect(description).not.toMatch(/<\w+>/);
    }
  });

  it('may publish to the topic, which refuses requests without TLS', () => {
    template.hasResourceProperties('AWS::SNS::TopicPolicy', {
      PolicyDocument: {
        Statement: Match.arrayWith([
          Match.objectLike({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
          Match.objectLike({
            Effect: 'Allow',
            Action: 'sns:Publish',
            Principal: { Service: 'cloudwatch.amazonaws.com' },
            Condition: {
              ArnLike: {
                'aws:SourceArn': {
                  'Fn::Join': [
                    '',
                    Match.arrayWith([':cloudwatch:eu-central-1:123456789012:alarm:Reports-*']),
                  ],
                },
              },
            },
          }),
        ]),
      },
    });
  });

  it('go to the e-mail address of the settings, where it has one', () => {
    template.resourceCountIs('AWS::SNS::Subscription', 0);
    const mailed = synthesised({ alarmEmail: 'ops@acme.example' });
    mailed.hasResourceProperties('AWS::SNS::Subscription', {
      Protocol: 'email',
      Endpoint: 'ops@acme.example',
    });
  });

  it('go to an existing topic where the settings name one, which the stack leaves as it is', () => {
    const adopted = synthesised({ alarmTopicArn: TOPIC });
    adopted.resourceCountIs('AWS::SNS::Topic', 0);
    adopted.resourceCountIs('AWS::SNS::TopicPolicy', 0);
    for (const { AlarmActions } of Object.values(alarmsOf(adopted))) expect(AlarmActions).toEqual([TOPIC]);
  });

  it('wait for no look of the watcher where schedules are off', () => {
    expect(Object.keys(alarmsOf(synthesised({ schedules: false })))).not.toContain('Reports-problems');
  });
});

it('there is no dashboard, unless a setting says so', () => {
  synthesised().resourceCountIs('AWS::CloudWatch::Dashboard', 0);
});

describe('the dashboard', () => {
  const widgets = widgetsOf(synthesised({ dashboard: true }));
  const titles = widgets.map(({ properties }) => properties.title);

  it('shows first which days are in the lake', () => {
    expect(widgets[0]).toMatchObject({ type: 'custom', y: 0, properties: { endpoint: expect.any(String) } });
  });

  it('shows every alarm, and how many problems there are', () => {
    const shown = widgets.filter(({ type }) => type === 'alarm');
    expect(shown.flatMap(({ properties }) => properties.alarms)).toHaveLength(4);
    expect(titles).toContain('Problems');
  });

  it.each<[string, string[]]>([
    ['Rows and pages read', ['rows', 'pages']],
    ['Requests', ['requests']],
    ['Retries and answers HTTP 429', ['retries', 'throttles']],
    ['Runs by brand and report', ['message.brand', 'message.report', 'failedDays', 'newestComplete']],
  ])('draws "%s" from the line that every run logs', (title, fields) => {
    const widget = widgets.find(({ properties }) => properties.title === title);
    expect(widget?.type).toBe('log');
    const { query } = z.parse(z.object({ query: z.string() }), widget?.properties);
    expect(query).toContain('filter message.event = "run_ended"');
    for (const field of fields) expect(query).toContain(field);
    expect(query.match(/SOURCE/g)).toHaveLength(REPORTS.length);
  });

  it('shows functions, queues and backfills', () => {
    expect(titles).toEqual(
      expect.arrayContaining([
        'Functions: errors',
        'Functions: longest run',
        'Events in the failure queues',
        'Backfills',
      ]),
    );
  });

  it('says what to do for every alarm, and links the tests of every function', () => {
    const { markdown = '' } = widgets.find(({ type }) => type === 'text')?.properties ?? {};
    const documented = [...markdown.matchAll(/^\| `([^`]+)` \|/gm)].map(
      ([, id = '']) => new RegExp(`^Reports-${id.replace(/<\w+>/g, '\\w+')}$`),
    );
    for (const name of Object.keys(alarmsOf(synthesised())))
      expect(documented.filter((id) => id.test(name))).toHaveLength(1);
    expect(markdown.match(/functions\/[^?]+\?tab=testing/g)).toHaveLength(REPORTS.length);
  });
});

function synthesised(deployment: object = {}): Template {
  const stack = new Stack(new App(), 'Reports', { env: ACCOUNT });
  const functionOf = (name: string) =>
    LambdaFunction.fromFunctionAttributes(stack, name, {
      functionArn: `arn:aws:lambda:eu-central-1:123456789012:function:Reports-${name}`,
      sameEnvironment: true,
    });
  const settings = parseSettings({ brands: BRANDS, deployment }, reports).deployment;
  new Observability(stack, 'Observability', {
    deployment: settings,
    functions: REPORTS.map((report) => ({
      report,
      function: functionOf(report),
      logGroup: LogGroup.fromLogGroupName(stack, `Logs-${report}`, `logs-of-${report}`),
    })),
    queues: { undelivered: new Queue(stack, 'Undelivered'), failed: new Queue(stack, 'Failed') },
    stateMachine: StateMachine.fromStateMachineName(stack, 'Backfill', 'Reports-backfill'),
    calendar: functionOf('calendar'),
    topic: new AlarmTopic(stack, 'Topic', settings).topic,
  });
  return Template.fromStack(stack);
}

function alarmsOf(template: Template): Record<string, z.infer<typeof alarmSchema>> {
  const alarms = Object.values(template.findResources('AWS::CloudWatch::Alarm')).map(({ Properties }) =>
    z.parse(alarmSchema, Properties),
  );
  return Object.fromEntries(alarms.map((alarm) => [alarm.AlarmName, alarm]));
}

/** The widgets of the dashboard, with a word in place of each value that deployment fills in. */
function widgetsOf(template: Template) {
  const dashboards = template.findResources('AWS::CloudWatch::Dashboard');
  const properties = z.object({
    DashboardName: z.literal('Reports'),
    DashboardBody: z.object({ 'Fn::Join': z.tuple([z.literal(''), z.array(z.unknown())]) }),
  });
  const [dashboard] = z.parse(z.tuple([z.object({ Properties: properties })]), Object.values(dashboards));
  const [, parts] = dashboard.Properties.DashboardBody['Fn::Join'];
  const text = parts.map((part) => (typeof part === 'string' ? part : 'deployed'));
  return z.parse(bodySchema, JSON.parse(text.join(''))).widgets;
}
