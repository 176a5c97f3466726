import { describe, expect, it } from '@jest/globals';
import { App, Stack } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { StateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import * as z from 'zod/mini';
import { Observability } from '../../infra/observability.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import { reports } from '../../shared/reports/index.ts';

const HOUR = 3600;
const ACCOUNT = { region: 'eu-central-1', account: '123456789012' };
const REPORTS: { report: string; schedules: Record<string, string> }[] = [
  { report: 'order_list', schedules: { acme: 'rate(1 hour)', globex: 'cron(5 6 * * ? *)' } },
  { report: 'clicks_list', schedules: { acme: 'rate(30 days)' } },
];

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

  it('exist for every report of every brand, every function, every queue and the backfill', () => {
    expect(Object.keys(alarmsOf(template)).sort()).toEqual([
      'Reports-backfill-failed',
      'Reports-behind-acme-clicks_list',
      'Reports-behind-acme-order_list',
      'Reports-behind-globex-order_list',
      'Reports-crashed-clicks_list',
      'Reports-crashed-order_list',
      'Reports-failed-acme-clicks_list',
      'Reports-failed-acme-order_list',
      'Reports-failed-globex-order_list',
      'Reports-queue-failed',
      'Reports-queue-undelivered',
      'Reports-throttled-acme-clicks_list',
      'Reports-throttled-acme-order_list',
      'Reports-throttled-globex-order_list',
    ]);
  });

  it.each<[string, object]>([
    [
      'behind-acme-order_list',
      {
        Namespace: 'Reports',
        MetricName: 'SecondsSinceNewestCompleteDay',
        Dimensions: [
          { Name: 'brand', Value: 'acme' },
          { Name: 'report', Value: 'order_list' },
        ],
        Statistic: 'Minimum',
        Period: HOUR,
        EvaluationPeriods: 3,
        Threshold: 30 * HOUR,
        ComparisonOperator: 'GreaterThanThreshold',
        TreatMissingData: 'breaching',
      },
    ],
    ['behind-globex-order_list', { EvaluationPeriods: 26, TreatMissingData: 'breaching' }],
    ['behind-acme-clicks_list', { EvaluationPeriods: 1, TreatMissingData: 'ignore' }],
    [
      'failed-acme-order_list',
      {
        Namespace: 'Reports',
        MetricName: 'Failures',
        EvaluationPeriods: 3,
        DatapointsToAlarm: 2,
        Threshold: 1,
        ComparisonOperator: 'GreaterThanOrEqualToThreshold',
        TreatMissingData: 'notBreaching',
      },
    ],
    ['failed-globex-order_list', { EvaluationPeriods: 1, DatapointsToAlarm: 1 }],
    [
      'throttled-acme-order_list',
      {
        EvaluationPeriods: 3,
        DatapointsToAlarm: 2,
        Threshold: 10,
        TreatMissingData: 'notBreaching',
        Metrics: expect.arrayContaining([
          expect.objectContaining({ Expression: '100 * throttles / requests', ReturnData: true }),
        ]),
      },
    ],
    [
      // One of its brands runs once a day.
      'crashed-order_list',
      {
        Namespace: 'AWS/Lambda',
        MetricName: 'Errors',
        Dimensions: [{ Name: 'FunctionName', Value: 'Reports-order_list' }],
        EvaluationPeriods: 1,
        TreatMissingData: 'notBreaching',
      },
    ],
    [
      'queue-failed',
      { MetricName: 'ApproximateNumberOfMessagesVisible', Statistic: 'Maximum', Threshold: 1 },
    ],
    ['backfill-failed', { MetricName: 'ExecutionsFailed', Statistic: 'Sum', Threshold: 1 }],
  ])('%s watches its metric with its threshold and window', (name, expected) => {
    expect(alarmsOf(template)[`Reports-${name}`]).toMatchObject(expected);
  });

  it('all notify the topic, and say what to do', () => {
    const [topic] = Object.keys(template.findResources('AWS::SNS::Topic'));
    for (const { AlarmActions, AlarmDescription } of Object.values(alarmsOf(template))) {
      expect(AlarmActions).toEqual([{ Ref: topic }]);
      const description = JSON.stringify(AlarmDescription);
      expect(description).toMatch(/Sync-now|requestsPerSecond|new execution/);
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

  it('call no report behind where schedules are off', () => {
    const names = Object.keys(alarmsOf(synthesised({ schedules: false })));
    expect(names.filter((name) => name.includes('-behind-'))).toEqual([]);
    expect(names).toContain('Reports-failed-acme-order_list');
  });

  it('call a report behind after the hours of the settings', () => {
    const alarms = alarmsOf(synthesised({ behindAfterHours: 50 }));
    expect(alarms['Reports-behind-acme-order_list']).toMatchObject({ Threshold: 50 * HOUR });
  });
});

describe('the dashboard', () => {
  const widgets = widgetsOf(synthesised());
  const titles = widgets.map(({ properties }) => properties.title);

  it('shows first which days are in the lake', () => {
    expect(widgets[0]).toMatchObject({ type: 'custom', y: 0, properties: { endpoint: expect.any(String) } });
  });

  it('shows every alarm, grouped by brand', () => {
    const shown = widgets.filter(({ type }) => type === 'alarm');
    expect(shown.map(({ properties }) => properties.title)).toEqual([
      'Alarms: acme',
      'Alarms: globex',
      'Alarms: the stack',
    ]);
    expect(shown.flatMap(({ properties }) => properties.alarms)).toHaveLength(14);
  });

  it.each([
    'Hours since the newest complete day',
    'Failed days',
    'Rows read',
    'Requests',
    'Pages',
    'Retries',
    'Answers HTTP 429',
  ])('names every report of every brand under "%s"', (title) => {
    const drawn = JSON.stringify(widgets.find(({ properties }) => properties.title === title));
    for (const label of ['acme order_list', 'globex order_list', 'acme clicks_list'])
      expect(drawn).toContain(`"label":"${label}"`);
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
  new Observability(stack, 'Observability', {
    deployment: parseSettings({ brands: BRANDS, deployment }, reports).deployment,
    functions: REPORTS.map((each) => ({ ...each, function: functionOf(each.report) })),
    queues: { undelivered: new Queue(stack, 'Undelivered'), failed: new Queue(stack, 'Failed') },
    stateMachine: StateMachine.fromStateMachineName(stack, 'Backfill', 'Reports-backfill'),
    calendar: functionOf('calendar'),
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
