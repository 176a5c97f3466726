import { readFileSync } from 'node:fs';
import { App } from 'aws-cdk-lib';
import { defaultSettings } from '../shared/adapters/default-settings.ts';
import { settingsInput } from '../shared/settings/settings.ts';
import { featureFlags } from './feature-flags.ts';
import { PipelineStack } from './pipeline-stack.ts';

const app = new App({ analyticsReporting: false, context: featureFlags() });

/** `cdk deploy -c settings=FILE -c environment=NAME` uses another file and one of its environments. */
const origin = String(app.node.tryGetContext('settings') ?? defaultSettings());
const chosen: unknown = app.node.tryGetContext('environment');
const name = chosen === undefined || typeof chosen === 'string' ? chosen : JSON.stringify(chosen);

new PipelineStack(app, name === undefined ? 'BrandReports' : `BrandReports-${name}`, {
  description: 'Copies the affiliate reports of brands into dated Parquet partitions',
  settings: settingsInput(readFileSync(origin, 'utf8'), origin, name),
  program: { origin },
});
