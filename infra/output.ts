import { CfnOutput, type CfnOutputProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';

/** An output by the name that the README calls it. */
export function output(
  scope: Construct,
  name: string,
  props: Required<Pick<CfnOutputProps, 'value' | 'description'>>,
): void {
  new CfnOutput(scope, `Output${name}`, props).overrideLogicalId(name);
}
