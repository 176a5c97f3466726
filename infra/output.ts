import { CfnOutput, type CfnOutputProps, Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { instanceName } from './instance-name.ts';

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
