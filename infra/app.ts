import { readFileSync } from 'node:fs';
import { App, Stack } from 'aws-cdk-lib';
import { defaultSettings } from '../shared/adapters/default-settings.ts';
import { settingsInput } from '../shared/settings/settings.ts';
import { BrandReports } from './brand-reports.ts';
import { featureFlags } from './feature-flags.ts';

const app = new App({ analyticsReporting: false, context: featureFlags() });

/** `cdk deploy -c settings=FILE -c stack=NAME` uses another file and another name. */
const origin = String(app.node.tryGetContext('settings') ?? defaultSettings());
const name = String(app.node.tryGetContext('stack') ?? 'BrandReports');

const description = 'Copies the affiliate reports of brands into dated Parquet partitions';
// CDK omits the id "Default" from logical ids, so they contain only the names of the parts.
new BrandReports(new Stack(app, name, { description }), 'Default', {
  settings: settingsInput(readFileSync(origin, 'utf8'), origin),
  program: { origin },
});
