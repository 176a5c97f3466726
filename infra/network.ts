import { Annotations, Stack } from 'aws-cdk-lib';
import { type ISecurityGroup, SecurityGroup, type SelectedSubnets, Subnet, Vpc } from 'aws-cdk-lib/aws-ec2';
import { Grant, type Role } from 'aws-cdk-lib/aws-iam';
import type { FunctionOptions } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import type { DeploymentSettings } from '../shared/settings/deployment.ts';

/** The VPC that functions run in, if they do, as CDK takes it. */
export type Network = Pick<FunctionOptions, 'vpc' | 'vpcSubnets' | 'securityGroups'>;

/** The network that the settings name: by IPv4 alone, so that the address of the NAT gateway is the only one. */
export function networkOf(
  scope: Construct,
  { vpcId, subnetIds, securityGroupIds }: NonNullable<DeploymentSettings['vpc']>,
): Network {
  // Nothing here adds routes.
  Annotations.of(scope).acknowledgeWarning('@aws-cdk/aws-ec2:noSubnetRouteTableId');
  return {
    // CDK wants the name of a zone, which nothing uses beside subnets that have names.
    vpc: Vpc.fromVpcAttributes(scope, 'Vpc', { vpcId, availabilityZones: ['unused'] }),
    vpcSubnets: { subnets: subnetIds.map((id) => Subnet.fromSubnetId(scope, id, id)) },
    securityGroups: securityGroupIds.map((id) =>
      SecurityGroup.fromSecurityGroupId(scope, id, id, { mutable: false }),
    ),
  };
}

/** Lets Lambda manage a function's network interfaces by the function's role, and the code, which has the same role, not. */
export function grantNetwork(
  grantee: Role,
  { subnetIds }: SelectedSubnets,
  securityGroups: readonly ISecurityGroup[],
): void {
  // A shared subnet or security group has the account of its owner; the id alone names one.
  const arn = (resource: string, account?: string) => (resourceName: string) =>
    Stack.of(grantee).formatArn({ service: 'ec2', resource, resourceName, ...(account && { account }) });
  // Lambda names the function in every request of its code, and in no request of its own.
  const conditions = { Null: { 'lambda:SourceFunctionArn': 'true' } };
  const allow = (actions: string[], resourceArns: string[]) =>
    Grant.addToPrincipal({ grantee, actions, resourceArns, conditions });
  const interfaces = arn('network-interface')('*');
  const groups = securityGroups.map(({ securityGroupId }) => securityGroupId);
  const places = [...subnetIds.map(arn('subnet', '*')), ...groups.map(arn('security-group', '*'))];
  allow(['ec2:CreateNetworkInterface'], [interfaces, ...places]);
  const addresses = ['ec2:AssignPrivateIpAddresses', 'ec2:UnassignPrivateIpAddresses'];
  allow(['ec2:DeleteNetworkInterface', ...addresses], [interfaces]);
  // IAM takes no narrower resource for them.
  allow(['ec2:DescribeNetworkInterfaces', 'ec2:DescribeSubnets'], ['*']);
}
