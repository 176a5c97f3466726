/*
 * What an organisation demands of everything that is deployed: an account and a region, a boundary of all roles, tags. Without
 * these guards a deployment with the wrong credentials would start to read, and bill, elsewhere. The command `cdk`
 * refuses to deploy a stack to another place than its `env`; a rule in the template refuses it whatever deploys it.
 */
import {
  AspectPriority,
  Aspects,
  Aws,
  CfnResource,
  CfnRule,
  type Environment,
  Fn,
  Stack,
  TagManager,
  Tags,
  Token,
} from 'aws-cdk-lib';
import { ManagedPolicy, PermissionsBoundary } from 'aws-cdk-lib/aws-iam';
import type { Construct, IConstruct } from 'constructs';
import { BrandReportsError } from '../shared/errors.ts';
import type { DeploymentSettings } from '../shared/settings/deployment.ts';

type Place = Pick<DeploymentSettings, 'account' | 'region'>;

/** The `env` of a stack with these settings: empty where it may be deployed anywhere. */
export function environmentOf({ account, region }: Place): Environment {
  return { ...(account !== undefined && { account }), ...(region !== undefined && { region }) };
}

/**
 * Guards everything below a scope. Helpers that CDK makes, such as the function that empties a bucket, are below the stack.
 * @throws BrandReportsError `config` if the stack goes to another place than the settings name
 */
export function guard(scope: Construct, deployment: DeploymentSettings): void {
  const { permissionsBoundaryArn: arn, tags = {} } = deployment;
  onlyAt(scope, deployment);
  for (const [key, value] of Object.entries(tags)) Tags.of(scope).add(key, value);
  Aspects.of(scope).add({ visit: (node) => tagHelper(node, tags) }, { priority: AspectPriority.MUTATING });
  if (arn !== undefined)
    PermissionsBoundary.of(scope).apply(ManagedPolicy.fromManagedPolicyArn(scope, 'Boundary', arn));
}

/** CDK's own function that empties a bucket, and its role, are resources that `Tags` does not know. */
function tagHelper(node: IConstruct, tags: Readonly<Record<string, string>>): void {
  if (!CfnResource.isCfnResource(node) || TagManager.isTaggable(node)) return;
  if (!['AWS::IAM::Role', 'AWS::Lambda::Function'].includes(node.cfnResourceType)) return;
  const list = Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
  if (list.length > 0) node.addPropertyOverride('Tags', list);
}

function onlyAt(scope: Construct, { account, region }: Place): void {
  const stack = Stack.of(scope);
  const places = [
    { name: 'account', allowed: account, chosen: stack.account, actual: Aws.ACCOUNT_ID },
    { name: 'region', allowed: region, chosen: stack.region, actual: Aws.REGION },
  ];
  const assertions = places.flatMap(({ name, allowed, chosen, actual }) => {
    if (allowed === undefined) return [];
    const setting = `deployment.${name} in the settings allows ${allowed} only`;
    if (!Token.isUnresolved(chosen) && chosen !== allowed) throw otherPlace(setting, name, chosen);
    const assertDescription = `${setting}: deploy there, or change the setting`;
    return [{ assert: Fn.conditionEquals(actual, allowed), assertDescription }];
  });
  if (assertions.length > 0) new CfnRule(scope, 'Place', { assertions });
}

function otherPlace(setting: string, name: string, chosen: string): BrandReportsError {
  return new BrandReportsError(
    'config',
    'other_place',
    `${setting}, and the env of the stack has the ${name} ${chosen}. Change one of the two.`,
  );
}
