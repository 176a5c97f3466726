import { Aws, CfnCondition, Fn, Stack, Token } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { CONSOLE, OTHER_CONSOLES, consoleUrl, objectPage } from '../shared/adapters/aws/console-url.ts';

/** A page of the AWS console, in the region of the stack. @param page the part of the address that follows `#` */
export function consoleLink(scope: Construct, service: string, page: string): string {
  return consoleUrl(Stack.of(scope).region, service, page, siteOf(scope));
}

export function objectLink(scope: Construct, bucket: string, key: string): string {
  return objectPage(Stack.of(scope).region, bucket, key, siteOf(scope));
}

/**
 * The site of the console. If the region is unknown, CloudFormation fills in the domain of the partition at the
 * deployment.
 */
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
