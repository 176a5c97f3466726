import { describe, expect, it } from '@jest/globals';
import { policyOf, policyOfRole } from './policy.ts';
import { parseTemplate, resolve } from './template.ts';

const allow = { Effect: 'Allow', Action: 's3:GetObject', Resource: 'arn:aws:s3:::lake/raw/*' };
const KEY = 'arn:aws:s3:::lake/raw/orders/x';

describe('a policy', () => {
  it.each<[string, object[], string, string, boolean]>([
    ['allows what a statement names', [allow], 's3:GetObject', KEY, true],
    ['matches actions in any case', [{ ...allow, Action: 'S3:getobject' }], 's3:GetObject', KEY, true],
    [
      'allows each of a list',
      [{ ...allow, Action: ['s3:PutObject', 's3:GetObject'] }],
      's3:GetObject',
      KEY,
      true,
    ],
    ['allows a wildcard in an action', [{ ...allow, Action: 's3:Get*' }], 's3:GetObject', KEY, true],
    ['allows nothing without a statement', [], 's3:GetObject', KEY, false],
    ['allows no other action', [allow], 's3:PutObject', KEY, false],
    ['allows no other resource', [allow], 's3:GetObject', 'arn:aws:s3:::lake/ledger/x', false],
    ['matches resources with their case', [allow], 's3:GetObject', 'arn:aws:s3:::lake/RAW/x', false],
    ['takes a dot for a dot', [{ ...allow, Resource: 'a.b' }], 's3:GetObject', 'axb', false],
    ['takes ? for one character', [{ ...allow, Resource: 'a-??' }], 's3:GetObject', 'a-xyz', false],
    [
      'is overruled by a denial',
      [allow, { ...allow, Effect: 'Deny', Action: '*' }],
      's3:GetObject',
      KEY,
      false,
    ],
    [
      'is not overruled by the denial of something else',
      [allow, { ...allow, Effect: 'Deny', Action: 's3:PutObject' }],
      's3:GetObject',
      KEY,
      true,
    ],
  ])('is judged as IAM does: it %s', (_what, statements, action, resource, allowed) => {
    expect(policyOf(statements)(action, resource)).toBe(allowed);
  });

  it.each<[string, object, Record<string, string>, boolean]>([
    ['met', { StringLike: { 's3:prefix': ['raw/*', 'ledger/*'] } }, { 's3:prefix': 'raw/x' }, true],
    ['not met', { StringEquals: { 's3:prefix': 'raw/' } }, { 's3:prefix': 'raw/x' }, false],
    ['met by a lower number', { NumericLessThan: { version: '1.2' } }, { version: '1.1' }, true],
    ['not met by the same number', { NumericLessThan: { version: '1.2' } }, { version: '1.2' }, false],
    ['on a key that is missing', { Null: { a: 'true', b: 'true' } }, {}, true],
    ['on two missing keys of which one is there', { Null: { a: 'true', b: 'true' } }, { b: '1' }, false],
    ['on a key that is there', { Null: { a: 'false' } }, { a: '1' }, true],
    ['on an unknown key', { StringLike: { 's3:prefix': '*' } }, {}, false],
    [
      'partly met',
      { StringEquals: { a: '1' }, Bool: { 'aws:SecureTransport': 'true' } },
      { a: '1', 'aws:SecureTransport': 'false' },
      false,
    ],
  ])('with a condition that is %s', (_what, Condition, context, allowed) => {
    expect(policyOf([{ ...allow, Condition }])('s3:GetObject', KEY, context)).toBe(allowed);
  });

  it.each<[string, object]>([
    ['a condition', { ...allow, Condition: { IpAddress: { 'aws:SourceIp': '10.0.0.0/8' } } }],
    ['a part', { Effect: 'Allow', NotAction: 's3:*', Resource: '*' }],
    ['an effect', { ...allow, Effect: 'Perhaps' }],
  ])('is refused for %s that the evaluator does not know', (_what, statement) => {
    expect(() => policyOf([statement])).toThrow();
  });
});

describe('the policies of a role', () => {
  const policy = (Roles: object[], Action: string) => ({
    Type: 'AWS::IAM::Policy',
    Properties: {
      Roles,
      PolicyDocument: {
        Statement: [
          {
            Effect: 'Allow',
            Action,
            Resource: { 'Fn::Join': ['', [{ 'Fn::GetAtt': ['Lake', 'Arn'] }, '/*']] },
          },
        ],
      },
    },
  });
  const inline = {
    PolicyDocument: { Statement: [{ Effect: 'Allow', Action: 's3:ListBucket', Resource: '*' }] },
  };
  const role = (properties: object) =>
    policyOfRole(
      parseTemplate(
        JSON.stringify({
          Resources: {
            Own: { Type: 'AWS::IAM::Role', Properties: properties },
            Attached: policy([{ Ref: 'Own' }], 's3:GetObject'),
            Others: policy([{ Ref: 'Other' }], 's3:PutObject'),
          },
        }),
      ),
      'Own',
      { 'Lake.Arn': 'arn:aws:s3:::lake' },
    );

  it('are its inline and its attached ones', () => {
    const allows = role({ Policies: [inline] });
    const actions = ['s3:ListBucket', 's3:GetObject', 's3:PutObject'];
    expect(actions.filter((action) => allows(action, KEY))).toEqual(['s3:ListBucket', 's3:GetObject']);
  });

  it('are refused where one of them is not in the template', () => {
    expect(() => role({ ManagedPolicyArns: ['arn:aws:iam::aws:policy/AdministratorAccess'] })).toThrow();
  });
});

describe('a value of a template', () => {
  it.each<[string, unknown, unknown]>([
    ['Ref', { Ref: 'Lake' }, 'lake'],
    ['Fn::Sub', { 'Fn::Sub': `s3://\${Lake}/x` }, 's3://lake/x'],
    ['Fn::Select of Fn::Split', { 'Fn::Select': [1, { 'Fn::Split': [':', 'a:b'] }] }, 'b'],
    ['a value that is unknown', { 'Fn::GetAtt': ['Queue', 'Arn'] }, '<Queue.Arn>'],
    ['what is inside of it', { a: [{ Ref: 'Lake' }, 1] }, { a: ['lake', 1] }],
  ])('is resolved: %s', (_what, part, expected) => {
    expect(resolve(part, { Lake: 'lake' })).toEqual(expected);
  });

  it('is refused for a function that the evaluator does not know', () => {
    expect(() => resolve({ 'Fn::ImportValue': 'x' }, {})).toThrow('Fn::ImportValue is unknown');
  });
});
