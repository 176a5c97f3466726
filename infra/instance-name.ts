import { Stack } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

/** What the names of everything in the account begin with, so that two pipelines have no name in common. */
export function instanceName(scope: IConstruct): string {
  return Stack.of(scope).stackName;
}
