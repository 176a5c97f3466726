import { ArnFormat, Stack } from 'aws-cdk-lib';
import type { ISecurityGroup, SelectedSubnets } from 'aws-cdk-lib/aws-ec2';
import { type IGrantable, Grant, ManagedPolicy, Role } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { FunctionOptions } from 'aws-cdk-lib/aws-lambda';
import type { Construct, IConstruct } from 'constructs';

/** The principal that gets a permission, and the construct that its policies belong to. */
export type Grantee = IGrantable & IConstruct;

export type Conditions = Record<string, Record<string, unknown>>;

export function allow(
  grantee: Grantee,
  actions: string[],
  resourceArns: string[],
  conditions?: Conditions,
): void {
  Grant.addToPrincipal({ grantee, actions, resourceArns, conditions });
}

export function allowIn(grantee: Grantee, service: string, names: readonly string[], arns: string[]): void {
  allow(
    grantee,
    names.map((name) => `${service}:${name}`),
    arns,
  );
}

/** The ARN of a resource in the region and the account of the stack. @param path what follows the account */
export function arnInStack(scope: IConstruct, service: string, path: string): string {
  return Stack.of(scope).formatArn({ service, resource: path, arnFormat: ArnFormat.NO_RESOURCE_NAME });
}

const READ = ['kms:Decrypt'];
/** With read access: S3 joins the parts of an upload, and queues and topics use one data key for several messages. */
const WRITE = [...READ, 'kms:GenerateDataKey'];

/**
 * Lets a principal use a customer-managed key of KMS, through one service alone. Without a key nothing is granted.
 * docs/how-to/customer-keys.md lists what the policy of the key must allow.
 */
export function grantKey(
  grantee: Grantee,
  key: IKey | undefined,
  service: 's3' | 'secretsmanager' | 'sns' | 'sqs',
  use: 'read' | 'write',
): void {
  if (key === undefined) return;
  const { region, urlSuffix } = Stack.of(grantee);
  allow(grantee, use === 'read' ? READ : WRITE, [key.keyArn], {
    StringEquals: { 'kms:ViaService': `${service}.${region}.${urlSuffix}` },
  });
}

interface RolePolicyProps {
  managedPolicyName: string;
  description: string;
  roleNames: readonly string[] | undefined;
}

export function rolePolicy(scope: Construct, { roleNames = [], ...props }: RolePolicyProps): ManagedPolicy {
  return new ManagedPolicy(scope, 'Policy', {
    ...props,
    // A policy attached by hand would block the deletion of the stack: CloudFormation detaches only what it attached.
    roles: roleNames.map((name) => Role.fromRoleName(scope, `Role-${name}`, name)),
  });
}

export type Network = Pick<FunctionOptions, 'vpc' | 'vpcSubnets' | 'securityGroups'>;

/** Lets Lambda manage a function's network interfaces with the function's role, but not the code, which has the same role. */
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
