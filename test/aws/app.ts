/** Someone else's app: the construct takes over the stack of this repository, with a bucket and a database of theirs. */
import { readFileSync } from 'node:fs';
import { App, Stack } from 'aws-cdk-lib';
import { Database } from 'aws-cdk-lib/aws-glue';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { BrandReports } from '../../infra/brand-reports.ts';
import { STACK } from './deploy.ts';

const app = new App({ analyticsReporting: false });
const given = (name: string): unknown => app.node.tryGetContext(name);
const stack = new Stack(app, STACK);
new BrandReports(stack, 'Default', {
  settings: JSON.parse(readFileSync(String(given('settings')), 'utf8')),
  bucket: Bucket.fromBucketName(stack, 'Existing', String(given('bucket'))),
  ...(given('database') !== undefined && { database: databaseOf(String(given('database'))) }),
});

function databaseOf(resourceName: string) {
  return Database.fromDatabaseArn(
    stack,
    'Shared',
    stack.formatArn({ service: 'glue', resource: 'database', resourceName }),
  );
}
