import { readFileSync } from 'node:fs';
import { App, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { defaultSettings } from '../shared/adapters/default-settings.ts';
import { settingsInput } from '../shared/settings/settings.ts';
import { BrandReports } from './brand-reports.ts';
import { featureFlags } from './feature-flags.ts';

const app = new App({ analyticsReporting: false, context: featureFlags() });
function context(name: string): string | undefined {
  const value: unknown = app.node.tryGetContext(name);
  return typeof value === 'string' ? value : undefined;
}

/** `cdk deploy -c settings=FILE -c stack=NAME -c keepLake=false` uses another file and name, and a lake to throw away. */
const origin = context('settings') ?? defaultSettings();
const name = context('stack') ?? 'BrandReports';

const description = 'Copies the affiliate reports of brands into dated Parquet partitions';
const stack = new Stack(app, name, { description });
// CDK omits the id "Default" from logical ids, so they contain only the names of the parts.
new BrandReports(stack, 'Default', {
  settings: settingsInput(readFileSync(origin, 'utf8'), origin),
  removalPolicy: context('keepLake') === 'false' ? RemovalPolicy.DESTROY : RemovalPolicy.RETAIN,
  // What CDK has is a prop with its type (docs/reference/construct.md), for example:
  // encryptionKey: Key.fromKeyArn(stack, 'LakeKey', 'arn:aws:kms:REGION:ACCOUNT:key/ID'),
  // vpc: Vpc.fromLookup(stack, 'Vpc', { vpcName: 'data' }),
  // logRetention: RetentionDays.ONE_YEAR,
  program: { origin },
});
