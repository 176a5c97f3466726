import { Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';

/** A page of the AWS console, in the region of the stack. @param page behind the `#` */
export function consoleLink(scope: Construct, service: string, page: string): string {
  const { region } = Stack.of(scope);
  return `https://${region}.console.aws.amazon.com/${service}/home?region=${region}#${page}`;
}
