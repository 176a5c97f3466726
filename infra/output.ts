import { CfnOutput, type CfnOutputProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { outputPrefix } from './instance-name.ts';

/** Adds a stack output under the name that the docs use; an instance with its own name puts that name before it. */
export function output(
  scope: Construct,
  name: string,
  props: Required<Pick<CfnOutputProps, 'value' | 'description'>>,
): void {
  new CfnOutput(scope, `Output${name}`, props).overrideLogicalId(`${outputPrefix(scope)}${name}`);
}
