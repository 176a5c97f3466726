import { CfnOutput, type CfnOutputProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';

/** A stack output by the name that the docs use. */
export function output(
  scope: Construct,
  name: string,
  props: Required<Pick<CfnOutputProps, 'value' | 'description'>>,
): void {
  new CfnOutput(scope, `Output${name}`, props).overrideLogicalId(name);
}
