import { Stack, type StackProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { BrandReports, type BrandReportsProps } from './brand-reports.ts';

export type PipelineStackProps = StackProps & BrandReportsProps;

/** The stack of an app without other constructs: the construct, with the name of the stack. */
export class PipelineStack extends Stack {
  constructor(scope: Construct, id: string, props: PipelineStackProps) {
    super(scope, id, props);
    // CDK omits this id from logical ids, so they contain only the names of the parts.
    new BrandReports(this, 'Default', props);
  }
}
