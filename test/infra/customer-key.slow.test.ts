import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { Template } from 'aws-cdk-lib/assertions';
import * as z from 'zod/mini';
import { PSEUDO_PARAMETERS, resolve } from '../iam/template.ts';
import { ACME, LAKE_KEY, SECRETS_KEY, keysIn, stackOf } from './stack.ts';

const oneOrMore = z.pipe(
  z.union([z.string(), z.array(z.string())]),
  z.transform((given) => [given].flat()),
);
const policySchema = z.object({
  PolicyDocument: z.object({
    Statement: z.array(
      z.object({
        Action: oneOrMore,
        Resource: oneOrMore,
        Condition: z.optional(z.record(z.string(), z.record(z.string(), oneOrMore))),
      }),
    ),
  }),
});
const keyPolicySchema = z.array(
  z.object({
    Principal: z.object({ Service: z.string() }),
    Action: z.array(z.string()),
    Condition: z.record(z.string(), z.record(z.string(), oneOrMore)),
  }),
);

const settings = { brands: { acme: ACME } };
const withoutKeys = Template.fromStack(stackOf(settings));
const encrypted = Template.fromStack(stackOf(settings, { props: keysIn }));

function propertyOf(template: Template, type: string, property: string): Record<string, unknown> {
  const found = Object.entries(template.findResources(type));
  return Object.fromEntries(found.map(([id, { Properties }]) => [id, Properties[property]]));
}

/** Each policy of a principal: its rights without KMS, and the keys that it may use through which service. */
function usesOf(template: Template) {
  const policies = ['AWS::IAM::Policy', 'AWS::IAM::ManagedPolicy'].flatMap((type) =>
    Object.entries(template.findResources(type)),
  );
  // CDK moves statements that do not fit into a role's policy to another policy of the role.
  const byRole = Map.groupBy(policies, ([id, { Properties }]) => JSON.stringify(Properties.Roles ?? id));
  return [...byRole].map(([id, own]) => {
    const Statement = own.flatMap(
      ([, { Properties }]) =>
        z.parse(policySchema, resolve(Properties, PSEUDO_PARAMETERS)).PolicyDocument.Statement,
    );
    const ofKeys = Statement.filter(({ Action }) => Action.some((action) => action.startsWith('kms:')));
    return {
      id,
      actions: Statement.flatMap(({ Action }) => Action),
      keys: ofKeys.flatMap(({ Action, Resource, Condition }) =>
        Resource.flatMap((key) =>
          (Condition?.StringEquals?.['kms:ViaService'] ?? ['any service']).map((service) => ({
            key,
            through: service.replace('.us-east-1.amazonaws.com', ''),
            actions: Action.join(' '),
          })),
        ),
      ),
    };
  });
}

describe('with a customer-managed key', () => {
  it.each([
    ['AWS::SNS::Topic', 'KmsMasterKeyId', 1],
    ['AWS::SQS::Queue', 'KmsMasterKeyId', 1],
    ['AWS::Logs::LogGroup', 'KmsKeyId', 3],
  ])('every %s is encrypted with it, and without it with keys of AWS', (type, property, count) => {
    const keys = Object.values(propertyOf(encrypted, type, property));
    expect(keys).toEqual(Array(count).fill(LAKE_KEY));
    expect(Object.values(propertyOf(withoutKeys, type, property))).toEqual(Array(count).fill(undefined));
  });

  it('a role may use it only through the services whose encrypted contents it reads or writes', () => {
    const read = 'kms:Decrypt';
    const write = `${read} kms:GenerateDataKey`;
    for (const { id, actions, keys } of usesOf(encrypted)) {
      const may = (prefix: string) => actions.some((action) => action.startsWith(prefix));
      const expected = [
        ...(may('s3:')
          ? [{ key: LAKE_KEY, through: 's3', actions: may('s3:PutObject') ? write : read }]
          : []),
        ...(may('sqs:')
          ? [{ key: LAKE_KEY, through: 'sqs', actions: may('sqs:SendMessage') ? write : read }]
          : []),
        ...(may('sns:') ? [{ key: LAKE_KEY, through: 'sns', actions: write }] : []),
        ...(may('secretsmanager:') ? [{ key: SECRETS_KEY, through: 'secretsmanager', actions: read }] : []),
      ];
      expect({ id, keys: new Set(keys) }).toEqual({ id, keys: new Set(expected) });
    }
  });

  it('the roles by which functions and schedules send events to the queue are among them', () => {
    const senders = usesOf(encrypted).filter(({ actions }) => actions.includes('sqs:SendMessage'));
    // The role of each function, and the role of each schedule.
    expect(senders).toHaveLength(2 + 2);
  });

  it('nobody may use any key if no prop names a key', () => {
    expect(usesOf(withoutKeys).flatMap(({ keys }) => keys)).toEqual([]);
  });
});

describe('the policy of the key in docs/how-to/customer-keys.md', () => {
  const page = readFileSync(new URL('../../docs/how-to/customer-keys.md', import.meta.url), 'utf8');
  const [, json = ''] = /^```json$(.*?)^```$/ms.exec(page) ?? [];
  const filled = json.replaceAll('REGION', 'us-east-1').replaceAll('ACCOUNT', '123456789012');
  const statements = z.parse(keyPolicySchema, JSON.parse(filled));
  const statementOf = (service: string) => statements.find(({ Principal }) => Principal.Service === service);
  /** As `ArnLike` matches a pattern. */
  const isLike = (patterns: readonly string[] = [], arn: string) =>
    patterns.some((pattern) =>
      new RegExp(`^${pattern.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('\\*', '.*')}$`).test(arn),
    );

  it('lets CloudWatch Logs encrypt every log group of the stack, and no other', () => {
    const { Action, Condition } = statementOf('logs.us-east-1.amazonaws.com') ?? {};
    const patterns = Condition?.ArnLike?.['kms:EncryptionContext:aws:logs:arn'];
    const groupOf = (name: string) => `arn:aws:logs:us-east-1:123456789012:log-group:${name}`;
    expect(Action).toEqual([
      'kms:Encrypt',
      'kms:Decrypt',
      'kms:ReEncrypt*',
      'kms:GenerateDataKey*',
      'kms:Describe*',
    ]);
    // CloudFormation names a group without a fixed name by the stack and the resource.
    const names = Object.entries(propertyOf(encrypted, 'AWS::Logs::LogGroup', 'LogGroupName')).map(
      ([id, name]) => (typeof name === 'string' ? name : `BrandReports-${id}-1A2B3C4D5E6F`),
    );
    expect(names).toHaveLength(3);
    for (const name of names) expect([name, isLike(patterns, groupOf(name))]).toEqual([name, true]);
    expect(isLike(patterns, groupOf('/aws/lambda/another'))).toBe(false);
  });
});
