import { readFileSync } from 'node:fs';
import { App } from 'aws-cdk-lib';
import { reports } from '../shared/reports/index.ts';
import { parseSettings, settingsInput } from '../shared/settings.ts';
import { PipelineStack } from './pipeline-stack.ts';

// Flags are set here rather than in cdk.json, so that `node infra/app.ts` and `cdk synth` make the same stack.
const app = new App({
  analyticsReporting: false,
  context: {
    '@aws-cdk/aws-iam:minimizePolicies': true,
    '@aws-cdk/core:validateAgainstDefaultRules': true,
  },
});

/** `cdk deploy -c settings=FILE` takes another file of settings. */
const origin = String(app.node.tryGetContext('settings') ?? 'cdk.json');
const input = settingsInput(readFileSync(origin, 'utf8'), origin);

new PipelineStack(app, 'BrandReports', {
  description: 'Copies the affiliate reports of brands into dated Parquet partitions',
  reports,
  settings: parseSettings(input, reports, origin),
  settingsJson: JSON.stringify(input),
});
