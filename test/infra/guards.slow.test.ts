import { describe, expect, it, jest } from '@jest/globals';
import { Annotations, Match, Template } from 'aws-cdk-lib/assertions';
import { policyOfRole } from '../iam/policy.ts';
import { PSEUDO_PARAMETERS, parseTemplate, resolve, resourcesOf } from '../iam/template.ts';
import { ACME, appOf, stackOf } from './stack.ts';

const PLACE = { account: '123456789012', region: 'us-east-1' };
const BOUNDARY = 'arn:aws:iam::123456789012:policy/boundary';
const VPC = {
  vpcId: 'vpc-0123456789abcdef0',
  subnetIds: ['subnet-0123456789abcdef0', 'subnet-0123456789abcdef1'],
  securityGroupIds: ['sg-0123456789abcdef0'],
};
const TAGS = { team: 'data', 'cost center': 'Köln 7' };
const guards = { ...PLACE, permissionsBoundaryArn: BOUNDARY, tags: TAGS, vpc: VPC };
const deployment = { ...guards, keepLake: false, alarmEmail: 'ops@acme.example' };

/** Resources that CloudFormation cannot tag. */
const UNTAGGED = [
  'AWS::Athena::NamedQuery',
  'AWS::Glue::Database',
  'AWS::IAM::ManagedPolicy',
  'AWS::IAM::Policy',
  'AWS::Lambda::EventInvokeConfig',
  'AWS::S3::BucketPolicy',
  'AWS::SNS::Subscription',
  'AWS::SNS::TopicPolicy',
  'AWS::SQS::QueuePolicy',
  'AWS::Scheduler::Schedule',
  'Custom::BrandReportsCatalog',
  'Custom::S3AutoDeleteObjects',
];

describe('a guarded deployment', () => {
  const stack = stackOf({ brands: { acme: ACME }, deployment }, { app: appOf() });
  const synthesised = Template.fromStack(stack);
  const template = parseTemplate(JSON.stringify(synthesised.toJSON()));
  const roles = resourcesOf(template, 'AWS::IAM::Role');
  const functions = resourcesOf(template, 'AWS::Lambda::Function');

  it('belongs to its account and region for cdk, and by a rule for every tool that deploys the template', () => {
    expect({ account: stack.account, region: stack.region }).toEqual(PLACE);
    expect(synthesised.toJSON().Rules.Place.Assertions).toEqual([
      {
        Assert: { 'Fn::Equals': [{ Ref: 'AWS::AccountId' }, '123456789012'] },
        AssertDescription: expect.anything(),
      },
      {
        Assert: { 'Fn::Equals': [{ Ref: 'AWS::Region' }, 'us-east-1'] },
        AssertDescription: expect.anything(),
      },
    ]);
  });

  it('has the boundary on every role, roles of CDK included', () => {
    expect(roles.map(([id]) => id)).toContainEqual(expect.stringMatching(/^CustomS3AutoDelete/));
    for (const [id, { PermissionsBoundary }] of roles)
      expect([id, PermissionsBoundary]).toEqual([id, BOUNDARY]);
  });

  it('has the tags on everything that can have tags, resources of CDK included', () => {
    const list = Object.entries(TAGS).map(([Key, Value]) => ({ Key, Value }));
    const untagged = Object.entries(template.Resources).flatMap(([id, { Type, Properties }]) => {
      if (Properties?.Tags === undefined) return [Type];
      expect([id, Properties.Tags]).toEqual([id, expect.arrayContaining(list)]);
      return [];
    });
    expect([...new Set(untagged)].sort()).toEqual(UNTAGGED);
  });

  it('lets only the rebuild tag test events', () => {
    const [[, properties] = []] = resourcesOf(template, 'Custom::BrandReportsCatalog');
    expect(properties?.tags).toEqual(TAGS);
    const schema = `arn:aws:schemas:us-east-1:123456789012:schema/lambda-testevent-schemas/_BrandReports-calendar-schema`;
    const own = roles.filter(([id]) => !id.startsWith('CustomS3AutoDelete'));
    const may = own.filter(([id]) =>
      policyOfRole(template, id, PSEUDO_PARAMETERS)('schemas:TagResource', schema),
    );
    expect(may.map(([id]) => id)).toEqual([expect.stringMatching(/^RebuildCatalogRole/)]);
  });

  it('has all functions in the network except a function of CDK', () => {
    const outside = functions.filter(([, { VpcConfig }]) => VpcConfig === undefined);
    expect(outside.map(([id]) => id)).toEqual([expect.stringMatching(/^CustomS3AutoDelete/)]);
    const config = { SubnetIds: VPC.subnetIds, SecurityGroupIds: VPC.securityGroupIds };
    for (const [, { VpcConfig = config }] of functions) expect(VpcConfig).toEqual(config);
  });

  it('lets Lambda create network interfaces only there, and the code of a function nowhere', () => {
    const ofFunctions = functions.flatMap(([, { Role, VpcConfig }]) =>
      VpcConfig === undefined ? [] : [String(resolve(Role, {})).replace(/^<(.*)\.Arn>$/, '$1')],
    );
    expect(ofFunctions).toHaveLength(7);
    const ec2 = (name: string) => `arn:aws:ec2:us-east-1:123456789012:${name}`;
    const code = { 'lambda:SourceFunctionArn': 'arn:aws:lambda:us-east-1:123456789012:function:any' };
    for (const role of ofFunctions) {
      const allows = policyOfRole(template, role, PSEUDO_PARAMETERS);
      const create = (name: string, context = {}) => allows('ec2:CreateNetworkInterface', ec2(name), context);
      for (const id of VPC.subnetIds) expect(create(`subnet/${id}`)).toBe(true);
      const shared = `arn:aws:ec2:us-east-1:210987654321:subnet/${VPC.subnetIds[0]}`;
      expect(allows('ec2:CreateNetworkInterface', shared)).toBe(true);
      expect(create('security-group/sg-0123456789abcdef0')).toBe(true);
      expect(create('subnet/subnet-0123456789abcdef9')).toBe(false);
      expect(create('security-group/sg-0123456789abcdef9')).toBe(false);
      for (const [action, resource] of [
        ['CreateNetworkInterface', ec2('network-interface/eni-1')],
        ['DeleteNetworkInterface', ec2('network-interface/eni-1')],
        ['AssignPrivateIpAddresses', ec2('network-interface/eni-1')],
        ['UnassignPrivateIpAddresses', ec2('network-interface/eni-1')],
        ['DescribeNetworkInterfaces', '*'],
        ['DescribeSubnets', '*'],
      ] as const)
        expect([action, allows(`ec2:${action}`, resource), allows(`ec2:${action}`, resource, code)]).toEqual([
          action,
          true,
          false,
        ]);
    }
  });

  it('has no warnings', () => {
    expect(Annotations.fromStack(stack).findWarning('*', Match.anyValue())).toEqual([]);
  });
});

describe('a deployment without guards', () => {
  const synthesised = Template.fromStack(stackOf({ brands: { acme: ACME } }));

  it('may be deployed anywhere, with no boundary, no network and only its own tags', () => {
    const json = synthesised.toJSON();
    expect(json.Rules.Place).toBeUndefined();
    expect(JSON.stringify(json)).not.toMatch(/PermissionsBoundary|VpcConfig|ec2:|TagResource/);
  });

  it('warns that nobody receives its alarms, unless a setting names a receiver', () => {
    jest.spyOn(console, 'error').mockReturnValue();
    const warnings = (deployment: object) => {
      const stack = stackOf({ brands: { acme: ACME }, deployment }, { app: appOf() });
      return JSON.stringify(Annotations.fromStack(stack).findWarning('*', Match.anyValue()));
    };
    expect(warnings({})).toMatch(/Nobody receives.*Set deployment.alarmEmail/);
    expect(warnings({ alarmTopicArn: 'arn:aws:sns:us-east-1:123456789012:alerts' })).toBe('[]');
  });

  it.each([
    ['cn-north-1', 'aws-cn', 'Inawscn', 'console.amazonaws.cn'],
    ['us-gov-west-1', 'aws-us-gov', 'Inawsusgov', 'console.amazonaws-us-gov.com'],
    ['eusc-de-east-1', 'aws-eusc', 'Inawseusc', 'console.amazonaws-eusc.eu'],
    ['us-east-1', 'aws', 'none', 'console.aws.amazon.com'],
  ])(
    'links from %s to the console of its partition, which is known then',
    (region, partition, condition, host) => {
      const values = { 'AWS::Region': region, [condition]: 'true' };
      const { Conditions, Outputs } = synthesised.toJSON();
      if (condition !== 'none')
        expect(Conditions[condition]).toEqual({ 'Fn::Equals': [{ Ref: 'AWS::Partition' }, partition] });
      const links = JSON.stringify(resolve(Outputs, values)).match(/https:\/\/[^/]+/g) ?? [];
      expect(links.length).toBeGreaterThan(8);
      expect(new Set(links)).toEqual(new Set([`https://${region}.${host}`]));
    },
  );
});
