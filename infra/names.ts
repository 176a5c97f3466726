import { type CfnOutputProps, CfnOutput, Stack, Token } from 'aws-cdk-lib';
import type { Construct, IConstruct } from 'constructs';
import { consoleUrl } from '../shared/adapters/aws/console-url.ts';
import { configError } from '../shared/base/errors.ts';

const CONTEXT = 'brand-reports:instance';
/** AWS allows a function 64 characters, and other parts need a part of them. */
const ALLOWED = /^[A-Za-z][A-Za-z0-9-]{0,37}$/;

/** The start of all names in the account, so that two pipelines have no name in common. */
export function instanceName(scope: IConstruct): string {
  const name: unknown = scope.node.tryGetContext(CONTEXT);
  return typeof name === 'string' ? name : Stack.of(scope).stackName;
}

/** @throws BrandReportsError `config` for a name that an AWS service would refuse */
export function nameInstance(scope: Construct, given: string | undefined): void {
  const name = given ?? Stack.of(scope).stackName;
  // A nested stack has no known name before it is deployed.
  if (Token.isUnresolved(name) || !ALLOWED.test(name))
    throw configError(
      'instance_name',
      `${scope.node.path} cannot have the name ${Token.isUnresolved(name) ? 'of a nested stack' : `"${name}"`}. Allowed: a letter, then letters, digits and "-", 38 at most, once in a stack: new BrandReports(this, "${scope.node.id}", { name: "orders", … }).`,
    );
  scope.node.setContext(CONTEXT, name);
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
  return consoleUrl(Stack.of(scope).region, service, page);
}
