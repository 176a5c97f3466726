import { Stack, Validations } from 'aws-cdk-lib';
import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import type { IConstruct } from 'constructs';

/** Who gets a permission: also the construct that its policies are below. */
export type Grantee = IGrantable & IConstruct;

/** Gives cdk-nag the reason why policies below `scope` name these resources with a `*`. */
export function acknowledgeWildcards(
  scope: IConstruct,
  resourceArns: readonly string[],
  reason: string,
): void {
  const wide = resourceArns.filter((arn) => arn.includes('*'));
  const ids = wide.map((arn) => `AwsSolutions-IAM5[Resource::${asNagWrites(Stack.of(scope).resolve(arn))}]`);
  Validations.of(scope).acknowledge(...ids.map((id) => ({ id, reason })));
}

/** A resolved ARN as cdk-nag writes it: references in angle brackets. */
function asNagWrites(resolved: unknown): string {
  if (typeof resolved === 'string') return resolved;
  const [[intrinsic, value] = ['', undefined]] = Object.entries(resolved ?? {});
  if (intrinsic === 'Ref') return `<${value}>`;
  if (intrinsic === 'Fn::GetAtt' && Array.isArray(value)) return `<${value.join('.')}>`;
  if (intrinsic === 'Fn::Join' && Array.isArray(value) && Array.isArray(value[1]))
    return value[1].map(asNagWrites).join(String(value[0]));
  return JSON.stringify(resolved);
}
