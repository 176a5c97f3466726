import { Annotations, ArnFormat, Stack } from 'aws-cdk-lib';
import { type ISecurityGroup, SecurityGroup, type SelectedSubnets, Subnet, Vpc } from 'aws-cdk-lib/aws-ec2';
import { Effect, Grant, PolicyStatement, type Role } from 'aws-cdk-lib/aws-iam';
import type { FunctionOptions } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import type { DeploymentSettings } from '../shared/settings/deployment.ts';

/** The VPC that functions run in, if they do, as CDK takes it. */
export type Network = Pick<FunctionOptions, 'vpc' | 'vpcSubnets' | 'securityGroups'>;

const NAMED = ['ec2:CreateNetworkInterface'];
const OWN = ['ec2:DeleteNetworkInterface', 'ec2:AssignPrivateIpAddresses', 'ec2:UnassignPrivateIpAddresses'];
/** IAM takes no narrower resource than all for them. */
const LOOK = ['ec2:DescribeNetworkInterfaces', 'ec2:DescribeSubnets'];

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

/**
 * Lets Lambda make and remove the network interfaces of a function, which it does by the function's role. The code of the
 * function has the same role and must not: Lambda names the function in each request of the code.
 */
export function grantNetwork(
  role: Role,
  functionName: string,
  { subnetIds }: SelectedSubnets,
  securityGroups: readonly ISecurityGroup[],
): void {
  const arn = (service: string, resource: string, resourceName: string, arnFormat?: ArnFormat) =>
    Stack.of(role).formatArn({ service, resource, resourceName, ...(arnFormat && { arnFormat }) });
  const interfaces = arn('ec2', 'network-interface', '*');
  const places = [
    interfaces,
    ...subnetIds.map((id) => arn('ec2', 'subnet', id)),
    ...securityGroups.map((group) => arn('ec2', 'security-group', group.securityGroupId)),
  ];
  const allow = (actions: string[], resourceArns: string[]) =>
    Grant.addToPrincipal({ grantee: role, actions, resourceArns });
  allow(NAMED, places);
  allow(OWN, [interfaces]);
  allow(LOOK, ['*']);
  role.addToPrincipalPolicy(
    new PolicyStatement({
      effect: Effect.DENY,
      actions: [...NAMED, ...OWN, ...LOOK],
      resources: ['*'],
      conditions: {
        ArnEquals: {
          'lambda:SourceFunctionArn': arn('lambda', 'function', functionName, ArnFormat.COLON_RESOURCE_NAME),
        },
      },
    }),
  );
}
