import { readFileSync } from 'node:fs';
import { App } from 'aws-cdk-lib';
import { defaultSettings } from '../shared/adapters/default-settings.ts';
import { settingsInput } from '../shared/settings/settings.ts';
import { featureFlags } from './feature-flags.ts';
import { PipelineStack } from './pipeline-stack.ts';

const app = new App({ analyticsReporting: false, context: featureFlags() });

/** `cdk deploy -c settings=FILE -c stack=NAME` uses another file and another name. */
const origin = String(app.node.tryGetContext('settings') ?? defaultSettings());
const name = String(app.node.tryGetContext('stack') ?? 'BrandReports');

new PipelineStack(app, name, {
  description: 'Copies the affiliate reports of brands into dated Parquet partitions',
  settings: settingsInput(readFileSync(origin, 'utf8'), origin),
  program: { origin },
});
