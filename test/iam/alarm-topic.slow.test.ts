import { describe, expect, it } from '@jest/globals';
import { Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Topic } from 'aws-cdk-lib/aws-sns';
import * as z from 'zod/mini';
import { BrandReports } from '../../infra/brand-reports.ts';
import { textOf } from '../docs/pages.ts';
import { ACME, appOf } from '../infra/stack.ts';
import { type Allows, policyOf, policyOfRole } from './policy.ts';
import { PSEUDO_PARAMETERS, parseTemplate, resourcesOf } from './template.ts';

const TOPIC = 'arn:aws:sns:us-east-1:123456789012:alerts';
const KEY = 'arn:aws:kms:us-east-1:123456789012:key/12345678-90ab-cdef-1234-567890abcdef';
const SNS = { 'kms:ViaService': 'sns.us-east-1.amazonaws.com' };
const DECRYPT = 'kms:Decrypt';
const DATA_KEY = 'kms:GenerateDataKey';

const stack = new Stack(appOf(), 'BrandReports');
const topic = Topic.fromTopicAttributes(stack, 'Alerts', { topicArn: TOPIC, keyArn: KEY });
new BrandReports(stack, 'Default', { settings: { brands: { acme: ACME } }, topic });
const template = parseTemplate(JSON.stringify(Template.fromStack(stack).toJSON()));
const [watcher = ''] = resourcesOf(template, 'AWS::IAM::Role').flatMap(([id]) =>
  /^WatchRole/.test(id) ? [id] : [],
);
const ofWatcher = policyOfRole(template, watcher, PSEUDO_PARAMETERS);
const alarms = resourcesOf(template, 'AWS::CloudWatch::Alarm').map(([, { AlarmName }]) => String(AlarmName));

const statements = z.array(z.looseObject({ Principal: z.record(z.string(), z.string()) }));
/** The policies on a page, block by block. */
function statementsIn(page: string) {
  const filled = textOf(page)
    .replaceAll('REGION', 'us-east-1')
    .replaceAll('ACCOUNT', '123456789012')
    .replaceAll('TOPIC', 'alerts');
  return [...filled.matchAll(/^```json$(.*?)^```$/gms)].map(([, json = '']) =>
    z.parse(statements, JSON.parse(json)),
  );
}

const [ofTopic = [], ofKey = []] = statementsIn('docs/reference/topic-policy.md');
/** The policies of the stack's own topic. */
const [ofLakeKey = []] = statementsIn('docs/how-to/customer-keys.md');

/** The rights that the statements on the page give one principal. */
function allowed(policy: z.infer<typeof statements>, principal: string): Allows {
  const own = policy.filter(({ Principal }) => Object.values(Principal).includes(principal));
  return policyOf(own.map(({ Principal: _principal, ...rest }) => rest));
}

const byAlarm = (account: string, name: string) => ({
  'aws:SourceAccount': account,
  'aws:SourceArn': `arn:aws:cloudwatch:us-east-1:${account}:alarm:${name}`,
});
const byRole = (id: string) => ({ 'aws:PrincipalArn': `arn:aws:iam::123456789012:role/${id}` });

describe('topics with a customer-managed key, and the policies in docs/reference/topic-policy.md', () => {
  const ALARMS = 'cloudwatch.amazonaws.com';
  const ROLES = 'arn:aws:iam::123456789012:root';
  const topicOfAlarms = allowed(ofTopic, ALARMS);
  const keysOfAlarms = [allowed(ofKey, ALARMS), allowed(ofLakeKey, ALARMS)];
  const [topicOfRoles, keyOfRoles] = [allowed(ofTopic, ROLES), allowed(ofKey, ROLES)];

  it('let every alarm of the stack publish', () => {
    expect(alarms).toHaveLength(3);
    for (const name of alarms) {
      const context = byAlarm('123456789012', name);
      expect([name, topicOfAlarms('sns:Publish', TOPIC, context)]).toEqual([name, true]);
      for (const keyOfAlarms of keysOfAlarms)
        for (const action of [DECRYPT, DATA_KEY])
          expect([name, action, keyOfAlarms(action, KEY, context)]).toEqual([name, action, true]);
    }
  });

  it.each([
    ['the alarm of another account', byAlarm('999999999999', 'BrandReports-watch-silent')],
    ['another alarm', byAlarm('123456789012', 'Payroll-watch-silent')],
    ['an instance whose name begins alike', byAlarm('123456789012', 'BrandReports-staging-watch-silent')],
  ])('do not let %s publish', (_name, context) => {
    expect(topicOfAlarms('sns:Publish', TOPIC, context)).toBe(false);
    for (const keyOfAlarms of keysOfAlarms) expect(keyOfAlarms(DATA_KEY, KEY, context)).toBe(false);
  });

  it('let the watcher publish, by its role and from another account too, and use the key for nothing else', () => {
    // As CloudFormation names a role.
    const context = byRole(`BrandReports-${watcher}-1A2B3C4D5E6F`);
    for (const allows of [ofWatcher, topicOfRoles]) expect(allows('sns:Publish', TOPIC, context)).toBe(true);
    for (const allows of [ofWatcher, keyOfRoles])
      for (const action of [DECRYPT, DATA_KEY]) {
        expect(allows(action, KEY, { ...context, ...SNS })).toBe(true);
        expect(allows(action, KEY, { ...context, 'kms:ViaService': 's3.us-east-1.amazonaws.com' })).toBe(
          false,
        );
      }
    for (const other of ['Payroll', `BrandReports-staging-${watcher}-1A2B3C4D5E6F`]) {
      expect(topicOfRoles('sns:Publish', TOPIC, byRole(other))).toBe(false);
      expect(keyOfRoles(DATA_KEY, KEY, { ...byRole(other), ...SNS })).toBe(false);
    }
  });

  it('let no other role of the stack publish or use the key', () => {
    for (const [id] of resourcesOf(template, 'AWS::IAM::Role').filter(([role]) => role !== watcher)) {
      const allows = policyOfRole(template, id, PSEUDO_PARAMETERS);
      expect([id, allows('sns:Publish', TOPIC), allows(DATA_KEY, KEY, SNS)]).toEqual([id, false, false]);
    }
  });
});
