import { type CfnOutputProps, Aws, CfnCondition, CfnOutput, Fn, Stack, Token } from 'aws-cdk-lib';
import type { Construct, IConstruct } from 'constructs';
import { CONSOLE, OTHER_CONSOLES, consoleUrl, objectPage } from '../shared/adapters/aws/console-url.ts';
import { configError } from '../shared/base/errors.ts';

const CONTEXT = 'brand-reports:instance';
/** AWS allows a function 64 characters, and other parts need a part of them. */
const ALLOWED = /^[A-Za-z][A-Za-z0-9-]{0,37}$/;

/** The start of all names in the account, so that two pipelines have no name in common. */
export function instanceName(scope: IConstruct): string {
  return givenName(scope) ?? Stack.of(scope).stackName;
}

/** @throws BrandReportsError `config` for a name that an AWS service would refuse, or that the stack already has */
export function nameInstance(scope: Construct, given: string | undefined): void {
  const stack = Stack.of(scope);
  const name = given ?? stack.stackName;
  const taken = stack.node.findAll().find((each) => comparable(givenName(each) ?? '') === comparable(name));
  // A nested stack has no known name before it is deployed.
  if (Token.isUnresolved(name) || !ALLOWED.test(name) || taken !== undefined)
    throw configError(
      'instance_name',
      `${scope.node.path} cannot have the name ${Token.isUnresolved(name) ? 'of a nested stack' : `"${name}"`}${taken ? `: "${givenName(taken)}" is in this stack already` : ''}. Allowed: a letter, then letters, digits and "-", 38 at most, once in a stack: new BrandReports(this, "${scope.node.id}", { name: "orders", … }).`,
    );
  scope.node.setContext(CONTEXT, name);
}

function givenName(scope: IConstruct): string | undefined {
  const name: unknown = scope.node.tryGetContext(CONTEXT);
  return typeof name === 'string' ? name : undefined;
}

/** Ids of outputs contain no "-", and databases no capitals. */
function comparable(name: string): string {
  return name.replaceAll('-', '').toLowerCase();
}

/** Adds a stack output under the name that the docs use; an instance with its own name puts that name before it. */
export function output(
  scope: Construct,
  name: string,
  props: Required<Pick<CfnOutputProps, 'value' | 'description'>>,
): void {
  const instance = instanceName(scope);
  const prefix = instance === Stack.of(scope).stackName ? '' : instance.replaceAll('-', '');
  new CfnOutput(scope, `Output${name}`, props).overrideLogicalId(`${prefix}${name}`);
}

export function consoleLink(scope: Construct, service: string, page: string): string {
  return consoleUrl(Stack.of(scope).region, service, page, siteOf(scope));
}

export function objectLink(scope: Construct, bucket: string, key: string): string {
  return objectPage(Stack.of(scope).region, bucket, key, siteOf(scope));
}

/** If the region is unknown, CloudFormation fills in the domain of the partition at the deployment. */
function siteOf(scope: Construct): string | undefined {
  const stack = Stack.of(scope);
  if (!Token.isUnresolved(stack.region)) return undefined;
  return OTHER_CONSOLES.reduce((otherwise, { partition, domain }) => {
    const id = `In-${partition}`;
    const found = stack.node.tryFindChild(id);
    const expression = Fn.conditionEquals(Aws.PARTITION, partition);
    const condition = found instanceof CfnCondition ? found : new CfnCondition(stack, id, { expression });
    return Fn.conditionIf(condition.logicalId, domain, otherwise).toString();
  }, CONSOLE);
}
