import { describe, expect, it } from '@jest/globals';
import { Template } from 'aws-cdk-lib/assertions';
import * as z from 'zod/mini';
import { ALARMS } from '../../infra/alarms.ts';
import { policyOf } from '../iam/policy.ts';
import { PSEUDO_PARAMETERS, parseTemplate, resolve, resourcesOf } from '../iam/template.ts';
import { ACME, stackOf } from './stack.ts';

function synthesised(deployment: object = {}) {
  const stack = stackOf({ brands: { acme: ACME }, deployment });
  return parseTemplate(JSON.stringify(Template.fromStack(stack).toJSON()));
}

const template = synthesised();
const of = (type: string, from = template) => resourcesOf(from, type).map(([, properties]) => properties);
const namesIn = (from = template) => of('AWS::CloudWatch::Alarm', from).map(({ AlarmName }) => AlarmName);

describe('the alarms', () => {
  it('exist for a silent watcher, failed events and backfills', () => {
    expect(namesIn()).toEqual(Object.keys(ALARMS).map((id) => `BrandReports-${id}`));
    expect(Object.keys(ALARMS)).toHaveLength(3);
  });

  it('notify the topic, the silence of the watcher also when it ends or if no watcher has run, and name the next step', () => {
    const topic = { Ref: resourcesOf(template, 'AWS::SNS::Topic')[0]?.[0] };
    for (const { AlarmName, AlarmActions, OKActions, TreatMissingData, AlarmDescription } of of(
      'AWS::CloudWatch::Alarm',
    )) {
      const isOfSilence = AlarmName === 'BrandReports-watch-silent';
      expect([AlarmName, AlarmActions, OKActions]).toEqual([
        AlarmName,
        [topic],
        isOfSilence ? [topic] : undefined,
      ]);
      if (isOfSilence) expect(TreatMissingData).toBe('breaching');
      expect(AlarmDescription).toMatch(/the event \{\}|new execution/);
    }
  });

  it('alone may publish to the topic, with TLS', () => {
    const [policy] = of('AWS::SNS::TopicPolicy').map((properties) =>
      z.parse(
        z.object({
          PolicyDocument: z.object({ Statement: z.array(z.looseObject({ Principal: z.unknown() })) }),
        }),
        resolve(properties, { ...PSEUDO_PARAMETERS, 'AWS::StackName': 'BrandReports' }),
      ),
    );
    const { Statement = [] } = policy?.PolicyDocument ?? {};
    const allows = policyOf(Statement.map(({ Principal: _principal, ...rest }) => rest));
    const [resource = ''] = Statement.map(({ Resource }) => String(Resource));
    const publishes = (alarm: string, tls = 'true') =>
      allows('sns:Publish', resource, {
        'aws:SecureTransport': tls,
        'aws:SourceArn': `arn:aws:cloudwatch:us-east-1:123456789012:alarm:${alarm}`,
      });
    for (const name of namesIn()) expect([name, publishes(String(name))]).toEqual([name, true]);
    expect(publishes('BrandReports-watch-silent', 'false')).toBe(false);
    for (const other of ['BrandReports-staging-watch-silent', 'Payroll', 'BrandReports-watch-silent-2'])
      expect([other, publishes(other)]).toEqual([other, false]);
  });

  it('go to the e-mail address of the settings, if they have one', () => {
    expect(of('AWS::SNS::Subscription')).toEqual([]);
    expect(of('AWS::SNS::Subscription', synthesised({ alarmEmail: 'ops@acme.example' }))).toMatchObject([
      { Protocol: 'email', Endpoint: 'ops@acme.example' },
    ]);
  });

  it('do not wait for a watcher run if schedules are off', () => {
    expect(namesIn(synthesised({ schedules: false }))).not.toContain('BrandReports-watch-silent');
  });
});
