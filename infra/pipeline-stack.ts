import { Stack, type StackProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { BrandReports, type BrandReportsProps, settingsOf } from './brand-reports.ts';
import { environmentOf } from './guards.ts';

export type PipelineStackProps = StackProps & Pick<BrandReportsProps, 'settings' | 'program'>;

/** The stack of an app that has nothing else: the construct, with the name of the stack. */
export class PipelineStack extends Stack {
  constructor(scope: Construct, id: string, { settings, program, ...props }: PipelineStackProps) {
    const { deployment } = settingsOf({ settings, program });
    super(scope, id, { ...props, env: { ...environmentOf(deployment), ...props.env } });
    // CDK leaves this id out of logical ids, so that they have the names of the parts alone.
    new BrandReports(this, 'Default', { settings, program: { ...program, guarded: this } });
  }
}
