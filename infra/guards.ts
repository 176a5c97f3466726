/*
 * Guards what an organisation demands of a deployment: its place, a boundary of all roles, tags. Without the place, a
 * deployment with the wrong credentials would start to read, and to cost, elsewhere. The command `cdk` compares the
 * place with the `env` of the stack (pipeline-stack.ts); a rule in the template compares it whatever tool deploys the
 * template.
 */
import { AspectPriority, Aspects, Aws, CfnResource, CfnRule, Fn, TagManager, Tags } from 'aws-cdk-lib';
import { ManagedPolicy, PermissionsBoundary } from 'aws-cdk-lib/aws-iam';
import type { Construct, IConstruct } from 'constructs';
import type { DeploymentSettings } from '../shared/settings/deployment.ts';

/** Guards everything below a scope. CDK's own helpers, such as the function that empties a bucket, are below the stack. */
export function guard(scope: Construct, deployment: DeploymentSettings): void {
  const { account, region, permissionsBoundaryArn: arn, tags = {} } = deployment;
  const assertions = [
    ...(account === undefined ? [] : [only('account', account, Aws.ACCOUNT_ID)]),
    ...(region === undefined ? [] : [only('region', region, Aws.REGION)]),
  ];
  if (assertions.length > 0) new CfnRule(scope, 'Place', { assertions });
  for (const [key, value] of Object.entries(tags)) Tags.of(scope).add(key, value);
  const list = Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
  const visit = (node: IConstruct) => isHelper(node) && node.addPropertyOverride('Tags', list);
  if (list.length > 0) Aspects.of(scope).add({ visit }, { priority: AspectPriority.MUTATING });
  if (arn !== undefined)
    PermissionsBoundary.of(scope).apply(ManagedPolicy.fromManagedPolicyArn(scope, 'Boundary', arn));
}

function only(setting: string, allowed: string, actual: string) {
  const assertDescription = `deployment.${setting} in the settings allows only ${allowed}: deploy there, or change the setting`;
  return { assert: Fn.conditionEquals(actual, allowed), assertDescription };
}

/** Whether the resource is a helper of CDK, which `Tags` does not tag. */
function isHelper(node: IConstruct): node is CfnResource {
  if (!CfnResource.isCfnResource(node) || TagManager.isTaggable(node)) return false;
  return ['AWS::IAM::Role', 'AWS::Lambda::Function'].includes(node.cfnResourceType);
}
