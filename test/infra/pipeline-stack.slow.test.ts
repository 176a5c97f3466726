import { describe, expect, it } from '@jest/globals';
import { RemovalPolicy } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { parseSyncEvent } from '../../functions/sync-event.ts';
import * as paths from '../../shared/lake/paths.ts';
import { reports } from '../../shared/reports/index.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import { ACME, LAKE_KEY, keysIn, stackOf } from './stack.ts';

const GLOBEX = {
  ...ACME,
  timeZone: 'Europe/Berlin',
  secretName: 'brand-reports/globex',
  reports: { order_list: { every: '1 day' }, transaction_list: { enabled: false } },
};

function template(settings: object): Template {
  return Template.fromStack(stackOf(settings));
}

function deployed(deployment: object): Template {
  return template({ brands: { acme: ACME }, deployment });
}

const both = template({ brands: { acme: ACME, globex: GLOBEX }, catalogs: ['hive', 'iceberg'] });

describe('the schedules of the stack', () => {
  it('start each function with {}, and a run as often as the setting requires', () => {
    const schedulesOf = (synthesised: Template) =>
      Object.values(synthesised.findResources('AWS::Scheduler::Schedule')).map(
        ({ Properties }) => Properties.ScheduleExpression,
      );
    expect(schedulesOf(both)).toEqual(['rate(1 hour)', 'cron(50 * * * ? *)']);
    expect(schedulesOf(deployed({ schedule: 'rate(15 minutes)' }))).toContain('rate(15 minutes)');
    both.allResourcesProperties('AWS::Scheduler::Schedule', {
      State: 'ENABLED',
      Target: {
        Input: '{}',
        RetryPolicy: { MaximumRetryAttempts: 2, MaximumEventAgeInSeconds: 900 },
        DeadLetterConfig: { Arn: Match.anyValue() },
      },
    });
  });

  it('are switched off by a setting', () => {
    deployed({ schedules: false }).allResourcesProperties('AWS::Scheduler::Schedule', { State: 'DISABLED' });
  });
});

describe('the lake of the stack', () => {
  it('is encrypted with a key of KMS if a prop gives the key, and so are query results', () => {
    const encrypted = Template.fromStack(stackOf({ brands: { acme: ACME } }, { props: keysIn }));
    encrypted.hasResourceProperties('AWS::S3::Bucket', {
      BucketEncryption: {
        ServerSideEncryptionConfiguration: [
          {
            BucketKeyEnabled: true,
            ServerSideEncryptionByDefault: { KMSMasterKeyID: LAKE_KEY, SSEAlgorithm: 'aws:kms' },
          },
        ],
      },
    });
    encrypted.hasResourceProperties('AWS::Athena::WorkGroup', {
      WorkGroupConfiguration: {
        ResultConfiguration: { EncryptionConfiguration: { EncryptionOption: 'SSE_KMS', KmsKey: LAKE_KEY } },
      },
    });
  });

  it('expires raw records after the days of the setting', () => {
    const Rules = Match.arrayWith([Match.objectLike({ Prefix: 'raw/', ExpirationInDays: 30 })]);
    const LifecycleConfiguration = { Rules };
    deployed({ rawRetentionDays: 30 }).hasResourceProperties('AWS::S3::Bucket', { LifecycleConfiguration });
  });

  it('has a rule for every prefix that the code writes to', () => {
    const [bucket] = Object.values(both.findResources('AWS::S3::Bucket'));
    const ruled = bucket?.Properties.LifecycleConfiguration.Rules.map(
      ({ Prefix }: { Prefix?: string }) => Prefix,
    );
    const named = Object.entries(paths).flatMap(([name, value]) =>
      name.endsWith('_PREFIX') && typeof value === 'string' ? [value] : [],
    );
    expect(named).not.toEqual([]);
    const isRuled = (prefix: string) =>
      ruled.some((rule: string | undefined) => rule && prefix.startsWith(rule));
    expect(named.filter((prefix) => !isRuled(prefix))).toEqual([]);
  });

  it('outlives the stack, but not a first deployment that fails', () => {
    for (const type of ['AWS::S3::Bucket', 'AWS::S3::BucketPolicy'])
      both.hasResource(type, { DeletionPolicy: 'RetainExceptOnCreate', UpdateReplacePolicy: 'Retain' });
  });

  it('is deleted with the stack if a prop requires it, after the last function lost access', () => {
    const props = () => ({ removalPolicy: RemovalPolicy.DESTROY });
    const thrownAway = Template.fromStack(stackOf({ brands: { acme: ACME } }, { props }));
    thrownAway.hasResource('AWS::S3::Bucket', { DeletionPolicy: 'Delete' });
    const [emptying = ''] = Object.keys(thrownAway.findResources('Custom::S3AutoDeleteObjects'));
    const writers = Object.entries(thrownAway.findResources('AWS::IAM::Policy')).filter(([, policy]) =>
      JSON.stringify(policy).includes('s3:PutObject'),
    );
    expect(writers.length).toBeGreaterThanOrEqual(2);
    for (const [, policy] of writers) expect(policy.DependsOn).toContain(emptying);
  });
});

describe('the catalog of the stack', () => {
  it('has nothing of Iceberg, unless the settings name it', () => {
    const named = (template: Template) =>
      Object.values(template.findResources('AWS::Glue::Database')).map(
        ({ Properties }) => Properties.DatabaseInput.Name,
      );
    expect(named(both)).toEqual(['brand_reports', 'brand_reports_iceberg']);
    const byDefault = Template.fromStack(stackOf({ brands: { acme: ACME } }));
    expect(named(byDefault)).toEqual(['brand_reports']);
    // A rule of the bucket expires what an earlier deployment wrote.
    expect(JSON.stringify(byDefault)).not.toMatch(/_iceberg|\/iceberg\//);
  });

  it('is made by the functions: the template has no table and no resource of our own', () => {
    const types = Object.values<{ Type: string }>(both.toJSON().Resources).map(({ Type }) => Type);
    expect(types.filter((type) => /^Custom::|Glue::Table/.test(type))).toEqual([]);
  });
});

describe('the console', () => {
  it('has a link to each function, and events to paste there that the functions accept', () => {
    const outputs = JSON.stringify(both.toJSON().Outputs);
    for (const { Properties } of Object.values(both.findResources('AWS::Lambda::Function')))
      expect(outputs).toContain(`/functions/${Properties.FunctionName}?tab=testing`);
    const events = ['SyncEvent', 'CheckEvent', 'RangeEvent'].map((name) => {
      const [{ Value = '' } = {}] = Object.values(both.findOutputs(name));
      return parseSyncEvent(JSON.parse(Value), parseSettings({ brands: { acme: ACME } }, reports), reports);
    });
    const day = '2026-01-01';
    expect(events).toEqual([
      { brand: 'acme' },
      { brand: 'acme', check: true },
      { brand: 'acme', from: day, to: day },
    ]);
  });
});

describe('Athena', () => {
  it('has a workgroup with a location for results, encryption and a limit that clients cannot override', () => {
    deployed({ queryScanLimitGb: 2.5 }).hasResourceProperties('AWS::Athena::WorkGroup', {
      Name: 'BrandReports',
      WorkGroupConfiguration: {
        EnforceWorkGroupConfiguration: true,
        BytesScannedCutoffPerQuery: 2_500_000_000,
        ResultConfiguration: {
          EncryptionConfiguration: { EncryptionOption: 'SSE_S3' },
          OutputLocation: Match.anyValue(),
          ExpectedBucketOwner: { Ref: 'AWS::AccountId' },
        },
      },
    });
  });
});

describe('the secrets of the brands', () => {
  it('have names with that prefix; otherwise the error contains the next step, without the name', () => {
    const elsewhere = { ...ACME, secretName: 'brand-reports2/acme' };
    const stack = () => stackOf({ brands: { globex: GLOBEX, acme: elsewhere } });
    expect(stack).toThrow(
      /^brands\.acme\.secretName does not begin with "brand-reports\/".*store the secret as brand-reports\/acme, or under/,
    );
    expect(stack).not.toThrow('brand-reports2');
  });
});

it('I9: never creates a secret', () => {
  both.resourceCountIs('AWS::SecretsManager::Secret', 0);
});
