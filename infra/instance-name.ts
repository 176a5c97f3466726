import { Stack, Token } from 'aws-cdk-lib';
import type { Construct, IConstruct } from 'constructs';
import { configError } from '../shared/errors.ts';

const CONTEXT = 'brand-reports:instance';
/** AWS allows a function 64 characters, and other parts need a part of them. */
const ALLOWED = /^[A-Za-z][A-Za-z0-9-]{0,37}$/;

/** The start of all names in the account, so that two pipelines have no name in common. */
export function instanceName(scope: IConstruct): string {
  return givenName(scope) ?? Stack.of(scope).stackName;
}

/**
 * Names everything that is created below a construct.
 * @param given by default the name of the stack
 * @throws BrandReportsError `config` for a name that an AWS service would refuse, or that the stack already has
 */
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
