import { Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { consoleUrl } from '../shared/adapters/aws/console-url.ts';

/** A page of the AWS console, in the region of the stack. @param page behind the `#` */
export function consoleLink(scope: Construct, service: string, page: string): string {
  return consoleUrl(Stack.of(scope).region, service, page);
}
