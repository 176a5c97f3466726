import { CfnOutput, type CfnOutputProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { outputPrefix } from './instance-name.ts';

/** A stack output by the name that the docs use; an instance with a name of its own puts that before it. */
export function output(
  scope: Construct,
  name: string,
  props: Required<Pick<CfnOutputProps, 'value' | 'description'>>,
): void {
  new CfnOutput(scope, `Output${name}`, props).overrideLogicalId(`${outputPrefix(scope)}${name}`);
}
