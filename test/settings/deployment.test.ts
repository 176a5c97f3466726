import { describe, expect, it } from '@jest/globals';
import { reports } from '../../shared/reports/index.ts';
import { parseSettings } from '../../shared/settings/settings.ts';

const BRANDS = {
  acme: {
    baseUrl: 'https://service.example/api/brand',
    service: 'ACME',
    timeZone: 'UTC',
    startDate: '2026-01-01',
  },
};
const NETWORK = {
  vpcId: 'vpc-0123456789abcdef0',
  subnetIds: ['subnet-01234567', 'subnet-0123456789abcdef1'],
  securityGroupIds: ['sg-0123456789abcdef0'],
};
const KEY = 'arn:aws-cn:kms:cn-north-1:123456789012:key/12345678-90ab-cdef-1234-567890abcdef';

const parsed = (deployment: object) => parseSettings({ brands: BRANDS, deployment }, reports).deployment;
const tags = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`tag${n}`, 'x']));

describe('the guards of a deployment', () => {
  it.each<[string, object]>([
    ['an account and a region', { account: '012345678901', region: 'us-gov-west-1' }],
    ['a region of the sovereign cloud', { region: 'eusc-de-east-1' }],
    ['a boundary below a path', { permissionsBoundaryArn: 'arn:aws-us-gov:iam::123456789012:policy/a/b' }],
    ['a boundary of AWS', { permissionsBoundaryArn: 'arn:aws:iam::aws:policy/PowerUserAccess' }],
    ['tags', { tags: { 'cost center': 'Köln 7', 'org:team': 'a_b.c/d=e+f-g@h' } }],
    ['as many tags as there is room for', { tags: tags(45) }],
    ['a network', { vpc: NETWORK }],
    [
      'an existing topic with its key',
      { alarmTopicArn: 'arn:aws-cn:sns:cn-north-1:123456789012:alerts', alarmTopicKeyArn: KEY },
    ],
  ])('accept %s', (_name, deployment) => {
    expect(parsed(deployment)).toMatchObject(deployment);
  });

  it.each<[string, object, string]>([
    ['an account as a number', { account: 123456789012 }, 'account is 123456789012; allowed: the 12 digits'],
    [
      'an availability zone in place of a region',
      { region: 'eu-central-1a' },
      'allowed: the name of an AWS region, e.g. eu-central-1',
    ],
    [
      'a role in place of a boundary',
      { permissionsBoundaryArn: 'arn:aws:iam::123456789012:role/x' },
      'a managed policy',
    ],
    ['a tag of AWS', { tags: { 'AWS:x': 'y' } }, 'without aws: or brand-reports: at its beginning'],
    ['a tag with our prefix', { tags: { 'brand-reports:stack-id': 'y' } }, 'without aws: or brand-reports:'],
    ['a tag without a key', { tags: { '': 'y' } }, 'allowed: a text of 1 to 128 letters'],
    ['a tag with a long key', { tags: { ['k'.repeat(129)]: 'y' } }, 'allowed: a text of 1 to 128 letters'],
    ['a tag with a long value', { tags: { k: 'v'.repeat(257) } }, 'allowed: a text of 1 to 256 letters'],
    ['a tag without a value', { tags: { k: '' } }, 'tags.k is ""; allowed: a text of 1 to 256 letters'],
    ['more tags than there is room for', { tags: tags(46) }, 'tags is an object; allowed: at most 45 texts'],
    ['two tags that IAM treats as one', { tags: { Team: 'a', team: 'b' } }, 'differ in more than capitals'],
    ['a network without subnets', { vpc: { ...NETWORK, subnetIds: [] } }, 'a list of ids such as subnet-0'],
    [
      'a subnet twice',
      { vpc: { ...NETWORK, subnetIds: ['subnet-01234567', 'subnet-01234567'] } },
      'each id once',
    ],
    ['an id of another kind', { vpc: { ...NETWORK, vpcId: 'subnet-01234567' } }, 'an id such as vpc-0'],
    ['half a network', { vpc: { vpcId: NETWORK.vpcId } }, 'vpc.subnetIds is missing; allowed: a list of ids'],
    ['a key without a topic', { alarmTopicKeyArn: KEY }, 'allowed: nothing without alarmTopicArn'],
    [
      'a role of IAM Identity Center',
      { analystRoles: ['Analysts', 'AWSReservedSSO_Data_0a1b2c3d4e5f6071'] },
      'analystRoles.1 is a text of 36 characters; allowed: no role of IAM Identity Center: name the policy in its permission set',
    ],
    ['the path of a role', { analystRoles: ['team/Analysts'] }, 'allowed: a list of names of IAM roles'],
    ['a role twice', { analystRoles: ['A', 'A'] }, 'allowed: each role once'],
    ['too many roles', { analystRoles: Object.keys(tags(11)) }, 'allowed: 10 roles at most'],
  ])('refuse %s', (_name, deployment, message) => {
    expect(() => parsed(deployment)).toThrow(message);
  });
});
