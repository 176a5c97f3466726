import { Annotations, App, Stack } from 'aws-cdk-lib';
import { Database, type IDatabase } from 'aws-cdk-lib/aws-glue';
import { Key } from 'aws-cdk-lib/aws-kms';
import { BrandReports, type BrandReportsProps } from '../../infra/brand-reports.ts';
import { featureFlags } from '../../infra/feature-flags.ts';
import { reports } from '../../shared/reports/index.ts';

export const ACME = {
  baseUrl: 'https://service.example/api/brand',
  service: 'ACME',
  timeZone: 'America/New_York',
  startDate: '2026-01-01',
  secretName: 'brand-reports/acme',
};

/** An app without bundles. */
export function appOf(context: object = {}): App {
  return new App({ context: { ...featureFlags(), 'aws:cdk:bundling-stacks': [], ...context } });
}

/** The stack of these settings, without bundles. */
export function stackOf(
  settings: object,
  options: {
    app?: App;
    name?: string;
    props?: (stack: Stack) => Partial<BrandReportsProps>;
  } = {},
): Stack {
  const { name = 'BrandReports', app = appOf() } = options;
  const stack = new Stack(app, name);
  const props = options.props?.(stack);
  new BrandReports(stack, 'Default', { settings, program: { reports, version: '1.0.0' }, ...props });
  // Most settings of tests name no receiver of alarms.
  if (!options.app) Annotations.of(stack).acknowledgeWarning('brand-reports:noReceiver');
  return stack;
}

export const LAKE_KEY = 'arn:aws:kms:us-east-1:123456789012:key/12345678-90ab-cdef-1234-567890abcdef';
export const SECRETS_KEY = 'arn:aws:kms:us-east-1:123456789012:key/mrk-1234567890abcdef1234567890abcdef';

export function keysIn(stack: Stack) {
  return {
    encryptionKey: Key.fromKeyArn(stack, 'LakeKey', LAKE_KEY),
    secretsKey: Key.fromKeyArn(stack, 'SecretsKey', SECRETS_KEY),
  };
}

export function databaseIn(stack: Stack, resourceName: string): IDatabase {
  const arn = stack.formatArn({ service: 'glue', resource: 'database', resourceName });
  return Database.fromDatabaseArn(stack, `Given-${resourceName}`, arn);
}
