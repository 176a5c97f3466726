import { describe, expect, it, jest } from '@jest/globals';
import { RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Annotations, Match, Template } from 'aws-cdk-lib/assertions';
import { SecurityGroup, Vpc } from 'aws-cdk-lib/aws-ec2';
import { BrandReports } from '../../infra/brand-reports.ts';
import { policyOfRole } from '../iam/policy.ts';
import { PSEUDO_PARAMETERS, parseTemplate, resolve, resourcesOf } from '../iam/template.ts';
import { ACME, appOf, stackOf } from './stack.ts';

const BOUNDARY = 'arn:aws:iam::123456789012:policy/boundary';
const SUBNETS = ['subnet-0123456789abcdef0', 'subnet-0123456789abcdef1'];
const GROUP = 'sg-0123456789abcdef0';
const settings = { brands: { acme: ACME }, deployment: { alarmEmail: 'ops@acme.example' } };

/** The app of the pages on organisations and networks, with the context of a `cdk.json`. */
function guarded(permissionsBoundary: object): Stack {
  const app = appOf({ '@aws-cdk/core:permissionsBoundary': permissionsBoundary });
  const stack = new Stack(app, 'BrandReports', { env: { account: '123456789012', region: 'us-east-1' } });
  new BrandReports(stack, 'Default', {
    settings,
    removalPolicy: RemovalPolicy.DESTROY,
    vpc: Vpc.fromVpcAttributes(stack, 'Vpc', {
      vpcId: 'vpc-0123456789abcdef0',
      availabilityZones: ['us-east-1a', 'us-east-1b'],
      privateSubnetIds: SUBNETS,
      privateSubnetRouteTableIds: ['rtb-0123456789abcdef0', 'rtb-0123456789abcdef1'],
    }),
    securityGroups: [SecurityGroup.fromSecurityGroupId(stack, 'Out', GROUP, { mutable: false })],
  });
  return stack;
}

describe('a guarded deployment', () => {
  const stack = guarded({ arn: BOUNDARY });
  const synthesised = Template.fromStack(stack);
  const template = parseTemplate(JSON.stringify(synthesised.toJSON()));
  const functions = resourcesOf(template, 'AWS::Lambda::Function');

  it.each<[string, object]>([
    ['by its ARN', { arn: BOUNDARY }],
    ['by its name', { name: 'boundary' }],
  ])('has the boundary of cdk.json on every role, roles of CDK included: %s', (_name, context) => {
    const found = Object.entries(Template.fromStack(guarded(context)).findResources('AWS::IAM::Role'));
    expect(found.map(([id]) => id)).toContainEqual(expect.stringMatching(/^CustomS3AutoDelete/));
    for (const [id, { Properties }] of found)
      expect([id, Properties.PermissionsBoundary]).toEqual([id, BOUNDARY]);
  });

  it('has all functions in the network except a function of CDK', () => {
    const outside = functions.filter(([, { VpcConfig }]) => VpcConfig === undefined);
    expect(outside.map(([id]) => id)).toEqual([expect.stringMatching(/^CustomS3AutoDelete/)]);
    const config = { SubnetIds: SUBNETS, SecurityGroupIds: [GROUP] };
    for (const [, { VpcConfig = config }] of functions) expect(VpcConfig).toEqual(config);
  });

  it('lets Lambda create network interfaces only there, and the code of a function nowhere', () => {
    const ofFunctions = functions.flatMap(([, { Role, VpcConfig }]) =>
      VpcConfig === undefined ? [] : [String(resolve(Role, {})).replace(/^<(.*)\.Arn>$/, '$1')],
    );
    expect(ofFunctions).toHaveLength(2);
    const ec2 = (name: string) => `arn:aws:ec2:us-east-1:123456789012:${name}`;
    const code = { 'lambda:SourceFunctionArn': 'arn:aws:lambda:us-east-1:123456789012:function:any' };
    for (const role of ofFunctions) {
      const allows = policyOfRole(template, role, PSEUDO_PARAMETERS);
      const create = (name: string, context = {}) => allows('ec2:CreateNetworkInterface', ec2(name), context);
      for (const id of SUBNETS) expect(create(`subnet/${id}`)).toBe(true);
      const shared = `arn:aws:ec2:us-east-1:210987654321:subnet/${SUBNETS[0]}`;
      expect(allows('ec2:CreateNetworkInterface', shared)).toBe(true);
      expect(create(`security-group/${GROUP}`)).toBe(true);
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
  it('warns that nobody receives its alarms, unless a setting names a receiver', () => {
    jest.spyOn(console, 'error').mockReturnValue();
    const warnings = (deployment: object) => {
      const stack = stackOf({ brands: { acme: ACME }, deployment }, { app: appOf() });
      return JSON.stringify(Annotations.fromStack(stack).findWarning('*', Match.anyValue()));
    };
    expect(warnings({})).toMatch(/Nobody receives.*Set deployment.alarmEmail/);
    expect(warnings({ alarmEmail: 'ops@acme.example' })).toBe('[]');
  });
});
