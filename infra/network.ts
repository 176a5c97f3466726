import { Stack } from 'aws-cdk-lib';
import type { ISecurityGroup, SelectedSubnets } from 'aws-cdk-lib/aws-ec2';
import type { Role } from 'aws-cdk-lib/aws-iam';
import type { FunctionOptions } from 'aws-cdk-lib/aws-lambda';
import { allow, arnInStack } from './grants.ts';

/** The VPC of the functions, if they run in one, as CDK expects it. */
export type Network = Pick<FunctionOptions, 'vpc' | 'vpcSubnets' | 'securityGroups'>;

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
