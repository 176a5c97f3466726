import { ManagedPolicy, Role } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';

export interface RolePolicyProps {
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
