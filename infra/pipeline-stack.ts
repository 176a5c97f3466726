import { Stack, type StackProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { BrandReports, type BrandReportsProps, settingsOf } from './brand-reports.ts';

export type PipelineStackProps = StackProps & Pick<BrandReportsProps, 'settings' | 'program'>;

/** The stack of an app without other constructs: the construct, with the name of the stack. */
export class PipelineStack extends Stack {
  constructor(scope: Construct, id: string, { settings, program, ...props }: PipelineStackProps) {
    const { account, region } = settingsOf({ settings, program }).deployment;
    const env = { ...(account && { account }), ...(region && { region }), ...props.env };
    super(scope, id, { ...props, env });
    // CDK omits this id from logical ids, so they contain only the names of the parts.
    new BrandReports(this, 'Default', { settings, program: { ...program, guarded: this } });
  }
}
