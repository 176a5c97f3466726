import { describe, expect, it } from '@jest/globals';
import { App } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { PipelineStack } from '../../infra/pipeline-stack.ts';
import { reports } from '../../shared/reports/index.ts';
import { parseSettings } from '../../shared/settings.ts';
import { refunds } from '../fixtures/sixth-report.ts';

const BRAND = {
  baseUrl: 'https://service.example/api/brand',
  service: 'ACME',
  timeZone: 'America/New_York',
  startDate: '2026-01-01',
  secretName: 'brand-reports/acme',
};
const GLOBEX = {
  ...BRAND,
  timeZone: 'Europe/Berlin',
  secretName: 'brand-reports/globex',
  reports: { order_list: { schedule: 'cron(5 6 * * ? *)' }, transaction_list: { enabled: false } },
};
const NEITHER = { reports: { transaction_list: { enabled: false } } };

function template(brands: object, registry = reports): Template {
  const settings = { brands };
  const app = new App({ context: { 'aws:cdk:bundling-stacks': [] } });
  const stack = new PipelineStack(app, 'BrandReports', {
    reports: registry,
    settings: parseSettings(settings, registry),
    settingsJson: JSON.stringify(settings),
  });
  return Template.fromStack(stack);
}

function functionNames(synthesised: Template): unknown[] {
  const functions = synthesised.findResources('AWS::Lambda::Function');
  return Object.values(functions).map(({ Properties }) => Properties.FunctionName);
}

describe('the stack', () => {
  const both = template({ acme: BRAND, globex: GLOBEX });

  it('has a function for every report that a brand has enabled', () => {
    expect(functionNames(both)).toEqual([
      'BrandReports-clicks_list',
      'BrandReports-order_list',
      'BrandReports-transaction_list',
      'BrandReports-amazon_attribution_report',
    ]);
    expect(functionNames(template({ acme: { ...BRAND, ...NEITHER } }))).not.toContain(
      'BrandReports-transaction_list',
    );
  });

  it('has one for a sixth report by its definition alone', () => {
    const six = template({ acme: BRAND }, { ...reports, [refunds.name]: refunds });
    expect(functionNames(six)).toContain('BrandReports-refund_list');
    six.hasResourceProperties('AWS::Scheduler::Schedule', { ScheduleExpression: 'rate(6 hours)' });
  });

  it('runs functions on Node 24 and arm64, with JSON logs that end, and leaves retries to the next schedule', () => {
    both.allResourcesProperties('AWS::Lambda::Function', {
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      Timeout: 900,
      LoggingConfig: { LogFormat: 'JSON' },
    });
    both.allResourcesProperties('AWS::Lambda::EventInvokeConfig', { MaximumRetryAttempts: 0 });
    both.resourceCountIs('AWS::Lambda::EventInvokeConfig', 4);
    both.allResourcesProperties('AWS::Logs::LogGroup', { RetentionInDays: 90 });
    both.resourceCountIs('AWS::Logs::LogGroup', 4);
  });

  it('schedules every report of every brand in the zone of the brand', () => {
    both.resourceCountIs('AWS::Scheduler::Schedule', 7);
    both.hasResourceProperties('AWS::Scheduler::Schedule', {
      ScheduleExpression: 'rate(1 hour)',
      ScheduleExpressionTimezone: 'America/New_York',
      Target: { Input: '{"brand":"acme"}' },
    });
    both.hasResourceProperties('AWS::Scheduler::Schedule', {
      ScheduleExpression: 'cron(5 6 * * ? *)',
      ScheduleExpressionTimezone: 'Europe/Berlin',
      Target: { Input: '{"brand":"globex"}', RetryPolicy: { MaximumRetryAttempts: 2 } },
    });
  });

  it('lets functions list the bucket without a condition, so that a missing key is missing', () => {
    for (const { Properties } of functionPolicies(both)) {
      const listing = Properties.PolicyDocument.Statement.filter(
        ({ Action }: { Action: unknown }) => Action === 's3:ListBucket',
      );
      expect(listing).toEqual([
        { Action: 's3:ListBucket', Effect: 'Allow', Resource: { 'Fn::GetAtt': [expect.any(String), 'Arn'] } },
      ]);
    }
  });

  it('lets a function read the secrets of its own brands only', () => {
    const secretsOf = (report: string) =>
      JSON.stringify(functionPolicies(both, report)).match(/:secret:[\w/-]+/g);
    expect(secretsOf('orderlist')).toEqual([':secret:brand-reports/acme-', ':secret:brand-reports/globex-']);
    expect(secretsOf('transactionlist')).toEqual([':secret:brand-reports/acme-']);
  });

  it('never creates a secret', () => {
    both.resourceCountIs('AWS::SecretsManager::Secret', 0);
  });

  it('grants no wildcard action', () => {
    expect(JSON.stringify(both.findResources('AWS::IAM::Policy'))).not.toMatch(/"Action":[^}]*\*/);
  });

  it('keeps a private, encrypted bucket that TLS alone reaches', () => {
    both.hasResource('AWS::S3::Bucket', {
      DeletionPolicy: 'Retain',
      Properties: {
        BucketEncryption: Match.anyValue(),
        PublicAccessBlockConfiguration: { BlockPublicAcls: true, RestrictPublicBuckets: true },
      },
    });
    both.hasResourceProperties('AWS::S3::BucketPolicy', {
      PolicyDocument: {
        Statement: Match.arrayWith([
          Match.objectLike({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
        ]),
      },
    });
  });

  it('leaves the tables to the pipeline', () => {
    both.resourceCountIs('AWS::Glue::Database', 1);
    both.resourceCountIs('AWS::Glue::Table', 0);
  });
});

function functionPolicies(synthesised: Template, report = '') {
  return Object.entries(synthesised.findResources('AWS::IAM::Policy'))
    .filter(([id]) => id.startsWith(report) && id.includes('FunctionServiceRole'))
    .map(([, policy]) => policy);
}
