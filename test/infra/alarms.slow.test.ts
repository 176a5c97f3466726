import { describe, expect, it } from '@jest/globals';
import { App, Stack } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { StateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import * as z from 'zod/mini';
import { AlarmTopic, Alarms } from '../../infra/alarms.ts';
import { deploymentOf } from '../../infra/deployment.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import { reports } from '../../shared/reports/index.ts';

const ACCOUNT = { region: 'eu-central-1', account: '123456789012' };

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
  OKActions: z.optional(z.unknown()),
  AlarmDescription: z.unknown(),
});

describe('the alarms', () => {
  const template = synthesised();

  it('exist for problems, failed events and backfills, whatever the number of brands', () => {
    expect(Object.keys(alarmsOf(template)).sort()).toEqual([
      'Reports-backfill-failed',
      'Reports-problems',
      'Reports-queue-failed',
    ]);
  });

  it('raise the alarm of problems if no watcher has run', () => {
    expect(alarmsOf(template)['Reports-problems']).toMatchObject({ TreatMissingData: 'breaching' });
  });

  it('all notify the topic, also when problems end, and name the next step', () => {
    const [topic] = Object.keys(template.findResources('AWS::SNS::Topic'));
    for (const { AlarmName, AlarmActions, OKActions, AlarmDescription } of Object.values(
      alarmsOf(template),
    )) {
      expect(AlarmActions).toEqual([{ Ref: topic }]);
      expect(OKActions).toEqual(AlarmName === 'Reports-problems' ? [{ Ref: topic }] : undefined);
      const description = JSON.stringify(AlarmDescription);
      expect(description).toMatch(/the event \{\}|new execution/);
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

  it('go to the e-mail address of the settings, if they have one', () => {
    template.resourceCountIs('AWS::SNS::Subscription', 0);
    const mailed = synthesised({ alarmEmail: 'ops@acme.example' });
    mailed.hasResourceProperties('AWS::SNS::Subscription', {
      Protocol: 'email',
      Endpoint: 'ops@acme.example',
    });
  });

  it('do not wait for a watcher run if schedules are off', () => {
    expect(Object.keys(alarmsOf(synthesised({ schedules: false })))).not.toContain('Reports-problems');
  });
});

function synthesised(deployment: object = {}): Template {
  const stack = new Stack(new App(), 'Reports', { env: ACCOUNT });
  const settings = deploymentOf(parseSettings({ brands: BRANDS, deployment }, reports).deployment);
  new Alarms(stack, 'Alarms', {
    deployment: settings,
    queue: new Queue(stack, 'Failed'),
    stateMachine: StateMachine.fromStateMachineName(stack, 'Backfill', 'Reports-backfill'),
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
