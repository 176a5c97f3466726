import { describe, expect, it } from '@jest/globals';
import { policyOf } from './policy.ts';

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
      'denies what another statement allows',
      [allow, { ...allow, Effect: 'Deny', Action: '*' }],
      's3:GetObject',
      KEY,
      false,
    ],
    [
      'ignores a denial of something else',
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
  ])('is refused for %s that the evaluator does not support', (_what, statement) => {
    expect(() => policyOf([statement])).toThrow();
  });
});
