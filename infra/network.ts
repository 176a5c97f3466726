import { Annotations, Stack } from 'aws-cdk-lib';
import { type ISecurityGroup, SecurityGroup, type SelectedSubnets, Subnet, Vpc } from 'aws-cdk-lib/aws-ec2';
import type { Role } from 'aws-cdk-lib/aws-iam';
import type { FunctionOptions } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import type { DeploymentSettings } from '../shared/settings/deployment.ts';
import { allow, arnInStack } from './grants.ts';

/** The VPC of the functions, if they run in one, as CDK expects it. */
export type Network = Pick<FunctionOptions, 'vpc' | 'vpcSubnets' | 'securityGroups'>;

/** The network that the settings name: IPv4 alone, so that the address of the NAT gateway is the only one. */
export function networkOf(
  scope: Construct,
  { vpcId, subnetIds, securityGroupIds }: NonNullable<DeploymentSettings['vpc']>,
): Network {
  // This program adds no routes.
  Annotations.of(scope).acknowledgeWarning('@aws-cdk/aws-ec2:noSubnetRouteTableId');
  return {
    // CDK requires the name of a zone, although nothing uses it if subnets have ids.
    vpc: Vpc.fromVpcAttributes(scope, 'Vpc', { vpcId, availabilityZones: ['unused'] }),
    vpcSubnets: { subnets: subnetIds.map((id) => Subnet.fromSubnetId(scope, id, id)) },
    securityGroups: securityGroupIds.map((id) =>
      SecurityGroup.fromSecurityGroupId(scope, id, id, { mutable: false }),
    ),
  };
}

/**
 * Lets Lambda manage a function's network interfaces with the function's role, but not the code, which has the same
 * role.
 */
export function grantNetwork(
  grantee: Role,
  { subnetIds }: SelectedSubnets,
  securityGroups: readonly ISecurityGroup[],
): void {
  // A shared subnet or security group belongs to the account of its owner, so its ARN has any account.
  const arn = (resource: string) => (resourceName: string) =>
    Stack.of(grantee).formatArn({ service: 'ec2', resource, resourceName, account: '*' });
  // Lambda names the function in every request of the function's code, and in none of its own requests.
  const conditions = { Null: { 'lambda:SourceFunctionArn': 'true' } };
  const interfaces = arnInStack(grantee, 'ec2', 'network-interface/*');
  const groups = securityGroups.map(({ securityGroupId }) => securityGroupId);
  const places = [...subnetIds.map(arn('subnet')), ...groups.map(arn('security-group'))];
  allow(grantee, ['ec2:CreateNetworkInterface'], [interfaces, ...places], conditions);
  const addresses = ['ec2:AssignPrivateIpAddresses', 'ec2:UnassignPrivateIpAddresses'];
  allow(grantee, ['ec2:DeleteNetworkInterface', ...addresses], [interfaces], conditions);
  // IAM has no narrower resource for these actions.
  allow(grantee, ['ec2:DescribeNetworkInterfaces', 'ec2:DescribeSubnets'], ['*'], conditions);
}
