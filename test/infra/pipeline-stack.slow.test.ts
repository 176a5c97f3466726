import { describe, expect, it } from '@jest/globals';
import { Annotations, Match, Template } from 'aws-cdk-lib/assertions';
import * as z from 'zod/mini';
import { parseSyncEvent } from '../../functions/sync-event.ts';
import * as paths from '../../shared/lake/paths.ts';
import { reports } from '../../shared/reports/index.ts';
import { policyOfBuckets, tagsOfRole } from '../iam/policy.ts';
import { parseTemplate, resourcesOf as resourcesIn } from '../iam/template.ts';
import { refunds } from '../fixtures/sixth-report.ts';
import { ACME, stackOf } from './stack.ts';

const GLOBEX = {
  ...ACME,
  timeZone: 'Europe/Berlin',
  secretName: 'brand-reports/globex',
  reports: { order_list: { schedule: 'rate(1 day)' }, transaction_list: { enabled: false } },
};
const REPORTS = ['clicks_list', 'order_list', 'transaction_list', 'amazon_attribution_report'];

function template(settings: object, registry = reports): Template {
  return Template.fromStack(stackOf(settings, { registry }));
}

function deployed(deployment: object): Template {
  return template({ brands: { acme: ACME }, deployment });
}

function reportFunctions(synthesised: Template): string[] {
  const functions = Object.values(synthesised.findResources('AWS::Lambda::Function'));
  return functions
    .filter(({ Properties }) => Properties.Environment?.Variables?.REPORT !== undefined)
    .map(({ Properties }) => Properties.FunctionName);
}

const both = template({ brands: { acme: ACME, globex: GLOBEX } });

describe('the functions of the stack', () => {
  it('exist for each report that a brand has enabled', () => {
    expect(reportFunctions(both)).toEqual(REPORTS.map((report) => `BrandReports-${report}`));
    const neither = { reports: { transaction_list: { enabled: false } } };
    expect(reportFunctions(template({ brands: { acme: { ...ACME, ...neither } } }))).not.toContain(
      'BrandReports-transaction_list',
    );
  });

  it('include a sixth report if it has a definition', () => {
    const six = template({ brands: { acme: ACME } }, { ...reports, [refunds.name]: refunds });
    expect(reportFunctions(six)).toContain('BrandReports-refund_list');
    six.hasResourceProperties('AWS::Scheduler::ScheduleGroup', { Name: 'BrandReports-refund_list' });
  });

  it('leave retries to the next schedule, and send events that they failed on to a queue', () => {
    both.allResourcesProperties('AWS::Lambda::EventInvokeConfig', { MaximumRetryAttempts: 0 });
    const DestinationConfig = { OnFailure: { Destination: Match.anyValue() } };
    both.resourcePropertiesCountIs(
      'AWS::Lambda::EventInvokeConfig',
      { DestinationConfig },
      REPORTS.length + 1,
    );
  });

  it('reserve no instances unless a setting requires it', () => {
    const concurrency = (synthesised: Template) =>
      Object.values(synthesised.findResources('AWS::Lambda::Function')).map(
        ({ Properties }) => Properties.ReservedConcurrentExecutions,
      );
    expect(new Set(concurrency(both))).toEqual(new Set([undefined]));
    const reserved = concurrency(deployed({ reservedConcurrency: 2 }));
    expect(reserved.filter((instances) => instances === 2)).toHaveLength(REPORTS.length);
  });
});

describe('the schedules of the stack', () => {
  it('are the watcher’s schedule and groups for brands, which are deleted with their schedules', () => {
    both.resourceCountIs('AWS::Scheduler::Schedule', 1);
    both.hasResourceProperties('AWS::Scheduler::Schedule', {
      ScheduleExpression: 'cron(50 * * * ? *)',
      State: 'ENABLED',
      Target: {
        RetryPolicy: { MaximumRetryAttempts: 2, MaximumEventAgeInSeconds: 900 },
        DeadLetterConfig: { Arn: Match.anyValue() },
      },
    });
    const groups = Object.values(both.findResources('AWS::Scheduler::ScheduleGroup'));
    expect(groups.map(({ Properties, DeletionPolicy }) => [Properties.Name, DeletionPolicy])).toEqual(
      REPORTS.map((report) => [`BrandReports-${report}`, 'Delete']),
    );
  });

  it('of brands start only functions of reports, by a role that only these groups may use', () => {
    const [role] = Object.values(
      both.findResources('AWS::IAM::Role', {
        Properties: { Description: Match.stringLikeRegexp('Scheduler') },
      }),
    );
    const [{ Condition } = { Condition: {} }] = role?.Properties.AssumeRolePolicyDocument.Statement ?? [];
    expect(Condition.StringEquals['aws:SourceArn']).toHaveLength(REPORTS.length);
    expect(Condition.StringEquals['aws:SourceAccount']).toEqual({ Ref: 'AWS::AccountId' });
    const [invoke, send, ...more] = statements(both, 'Schedules');
    expect(more).toEqual([]);
    expect(invoke).toMatchObject({ Action: 'lambda:InvokeFunction' });
    expect(invoke?.Resource).toHaveLength(REPORTS.length);
    expect(send).toMatchObject({ Action: 'sqs:SendMessage' });
  });

  it('are switched off by a setting', () => {
    deployed({ schedules: false }).allResourcesProperties('AWS::Scheduler::Schedule', { State: 'DISABLED' });
  });
});

describe('the permissions of the stack', () => {
  it('list the bucket without a condition, so that a missing key is a 404', () => {
    for (const report of REPORTS) {
      const listing = statements(both, report).filter(({ Action }) => Action === 's3:ListBucket');
      expect(listing).toEqual([
        { Action: 's3:ListBucket', Effect: 'Allow', Resource: { 'Fn::GetAtt': [expect.any(String), 'Arn'] } },
      ]);
    }
  });

  it('of analysts allow queries, saved ones too, and nothing else', () => {
    // CDK creates further policies if the policy of a role becomes too long.
    const [policy] = Object.values(both.findResources('AWS::IAM::ManagedPolicy')).filter(({ Properties }) =>
      JSON.stringify(Properties.ManagedPolicyName ?? '').includes('analysts'),
    );
    const actions = policy?.Properties.PolicyDocument.Statement.flatMap(
      ({ Action }: { Action: string }) => Action,
    );
    const writes = actions.filter((action: string) => !/:(Get|BatchGet|List)/.test(action));
    expect(writes.sort()).toEqual([
      'athena:CreateNamedQuery',
      'athena:DeleteNamedQuery',
      'athena:StartQueryExecution',
      'athena:StopQueryExecution',
      'athena:UpdateNamedQuery',
      's3:AbortMultipartUpload',
      's3:PutObject',
    ]);
    const put = policy?.Properties.PolicyDocument.Statement.find(({ Action }: { Action: string[] }) =>
      Action.includes('s3:PutObject'),
    );
    expect(JSON.stringify(put.Resource)).toContain('/query-results/*');
  });
});

describe('the policy of analysts', () => {
  it('is attached to the roles of a setting, so that the stack can be deleted', () => {
    deployed({ analystRoles: ['Analysts', 'Finance'] }).hasResourceProperties('AWS::IAM::ManagedPolicy', {
      Roles: ['Analysts', 'Finance'],
    });
  });
});

describe('reserved instances', () => {
  it('are announced with the required quota', () => {
    const warnings = (deployment: object) =>
      Annotations.fromStack(stackOf({ brands: { acme: ACME }, deployment })).findWarning(
        '*',
        Match.anyValue(),
      );
    expect(warnings({})).toEqual([]);
    expect(JSON.stringify(warnings({ reservedConcurrency: 2 }))).toMatch(
      /reserves 8 instances.*Concurrent executions.*is 108 or more. New accounts have 10/,
    );
  });
});

describe('the lake of the stack', () => {
  it('is encrypted with a key of KMS if a setting names the key, and so are query results', () => {
    const lakeKeyArn = 'arn:aws:kms:us-east-1:123456789012:key/12345678-90ab-cdef-1234-567890abcdef';
    const encrypted = deployed({ lakeKeyArn });
    encrypted.hasResourceProperties('AWS::S3::Bucket', {
      BucketEncryption: {
        ServerSideEncryptionConfiguration: [
          {
            BucketKeyEnabled: true,
            ServerSideEncryptionByDefault: { KMSMasterKeyID: lakeKeyArn, SSEAlgorithm: 'aws:kms' },
          },
        ],
      },
    });
    encrypted.hasResourceProperties('AWS::Athena::WorkGroup', {
      WorkGroupConfiguration: {
        ResultConfiguration: { EncryptionConfiguration: { EncryptionOption: 'SSE_KMS', KmsKey: lakeKeyArn } },
      },
    });
  });

  it('lets only the deployment write settings, whatever other policies allow', () => {
    const json = parseTemplate(JSON.stringify(both.toJSON()));
    const [[bucket] = ['']] = resourcesIn(json, 'AWS::S3::Bucket');
    const allows = policyOfBuckets(json, { [`${bucket}.Arn`]: 'arn:aws:s3:::lake' });
    const key = 'arn:aws:s3:::lake/settings/current.json';
    const request = { 'aws:SecureTransport': 'true', 's3:TlsVersion': '1.3', 's3:if-match': '"1"' };
    const tag = (value: string) => ({ ...request, 'aws:PrincipalTag/brand-reports:writes': value });
    const may = (action: string, context: Record<string, string>) => allows(action, key, context);
    expect({
      'an administrator without the tag writes': may('s3:PutObject', request),
      'somebody with another tag writes': may('s3:PutObject', tag('Settings')),
      'the deployment writes': may('s3:PutObject', tag('settings')),
      'anybody reads': may('s3:GetObject', request),
      'emptying the bucket deletes': may('s3:DeleteObjectVersion', request),
    }).toEqual({
      'an administrator without the tag writes': false,
      'somebody with another tag writes': false,
      'the deployment writes': true,
      'anybody reads': true,
      'emptying the bucket deletes': true,
    });
    const tagged = resourcesIn(json, 'AWS::IAM::Role').filter(
      ([id]) => 'aws:PrincipalTag/brand-reports:writes' in tagsOfRole(json, id),
    );
    expect(tagged.map(([id]) => id)).toEqual([expect.stringMatching(/^RebuildCatalogRole/)]);
  });

  it('expires raw records after the days of the setting, query results and unfinished uploads', () => {
    deployed({ rawRetentionDays: 30 }).hasResourceProperties('AWS::S3::Bucket', {
      LifecycleConfiguration: {
        Rules: Match.arrayWith([
          Match.objectLike({ Prefix: 'raw/', ExpirationInDays: 30 }),
          Match.objectLike({ Prefix: 'query-results/', ExpirationInDays: 30 }),
          Match.objectLike({ AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 } }),
        ]),
      },
    });
  });

  it.each([
    ['ledger/', 14],
    ['schema/', 14],
    ['settings/', 14],
    ['snapshots/', 1],
    ['raw/', 1],
    ['rates/', 1],
    ['query-results/', 1],
  ])('keeps overwritten and deleted objects under %s for %d days', (Prefix, NoncurrentDays) => {
    const [bucket] = Object.values(both.findResources('AWS::S3::Bucket'));
    const { Rules } = bucket?.Properties.LifecycleConfiguration ?? {};
    const { VersioningConfiguration } = bucket?.Properties ?? {};
    expect(VersioningConfiguration).toEqual({ Status: 'Enabled' });
    const ofPrefix = Rules.filter((rule: { Prefix?: string }) => Prefix.startsWith(rule.Prefix ?? ''));
    expect(ofPrefix.map((rule: object) => ('NoncurrentVersionExpiration' in rule ? rule : {}))).toEqual([
      expect.objectContaining({ NoncurrentVersionExpiration: { NoncurrentDays } }),
      {},
    ]);
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
    expect(ruled).toEqual(expect.arrayContaining(named));
  });

  it('outlives the stack, but not a first deployment that fails', () => {
    for (const type of ['AWS::S3::Bucket', 'AWS::S3::BucketPolicy'])
      both.hasResource(type, { DeletionPolicy: 'RetainExceptOnCreate', UpdateReplacePolicy: 'Retain' });
  });

  it('is deleted with the stack if a setting requires it, after the last function lost access', () => {
    const thrownAway = deployed({ keepLake: false });
    thrownAway.hasResource('AWS::S3::Bucket', { DeletionPolicy: 'Delete' });
    const [emptying = ''] = Object.keys(thrownAway.findResources('Custom::S3AutoDeleteObjects'));
    const writers = Object.entries(thrownAway.findResources('AWS::IAM::Policy')).filter(([, policy]) =>
      JSON.stringify(policy).includes('s3:PutObject'),
    );
    expect(writers.length).toBeGreaterThan(REPORTS.length);
    for (const [, policy] of writers) expect(policy.DependsOn).toContain(emptying);
  });

  it('is known to each function with the account that owns it', () => {
    const functions = Object.values(both.findResources('AWS::Lambda::Function'));
    const ours = functions.filter(({ Properties }) => Properties.Environment?.Variables.LAKE_URL);
    expect(ours).toHaveLength(REPORTS.length + 3);
    for (const { Properties } of ours)
      expect(Properties.Environment.Variables.LAKE_OWNER).toEqual({ Ref: 'AWS::AccountId' });
  });
});

describe('the catalog of the stack', () => {
  it('is a database for everybody whom IAM allows, deleted with the stack', () => {
    both.hasResource('AWS::Glue::Database', {
      DeletionPolicy: 'Delete',
      Properties: {
        DatabaseInput: {
          Name: 'brand_reports',
          CreateTableDefaultPermissions: [
            {
              Permissions: ['ALL'],
              Principal: { DataLakePrincipalIdentifier: 'IAM_ALLOWED_PRINCIPALS' },
            },
          ],
        },
      },
    });
  });

  it('is left to Lake Formation if a setting requires it', () => {
    const left = deployed({ tablePermissions: 'lake_formation' });
    left.hasResourceProperties('AWS::Glue::Database', {
      DatabaseInput: { CreateTableDefaultPermissions: [] },
    });
    // Each function that writes tables may create and use all tables of both databases, before the first rebuild.
    const grants = left.findResources('AWS::LakeFormation::PrincipalPermissions');
    expect(Object.keys(grants)).toHaveLength((REPORTS.length + 2) * 4);
    const [rebuild] = Object.values(left.findResources('Custom::BrandReportsCatalog'));
    const first = Object.keys(grants).filter((id) => id.startsWith('RebuildCatalogRole'));
    expect(first).toHaveLength(4);
    expect(rebuild?.DependsOn).toEqual(expect.arrayContaining(first));
    both.resourceCountIs('AWS::LakeFormation::PrincipalPermissions', 0);
  });

  it('includes a database for Iceberg tables, unless the settings leave it out', () => {
    const named = (template: Template) =>
      Object.values(template.findResources('AWS::Glue::Database')).map(
        ({ Properties }) => Properties.DatabaseInput.Name,
      );
    expect(named(both)).toEqual(['brand_reports', 'brand_reports_iceberg']);
    const hiveOnly = stackOf({ brands: { acme: ACME }, catalogs: ['hive'] });
    expect(named(Template.fromStack(hiveOnly))).toEqual(['brand_reports']);
    expect(JSON.stringify(Template.fromStack(hiveOnly))).not.toContain('brand_reports_iceberg');
  });

  const unchanged = stackOf({ brands: { acme: ACME } });
  const nonceOf = (stack: ReturnType<typeof stackOf>) => {
    const [resource] = Object.values(Template.fromStack(stack).findResources('Custom::BrandReportsCatalog'));
    return z.parse(z.string().check(z.regex(/^[0-9a-f]{64}$/)), resource?.Properties.nonce);
  };

  it.each<[string, boolean, object, object]>([
    ['nothing has changed', false, {}, {}],
    ['a setting has changed', true, { deployment: { rawRetentionDays: 30 } }, {}],
    ['a definition has changed', true, {}, { registry: { ...reports, [refunds.name]: refunds } }],
    ['the version has changed', true, {}, { version: '1.0.1' }],
    ['somebody says so', true, {}, { context: { again: '1' } }],
  ])('is rebuilt at a deployment that changes something: %s', (_name, again, settings, options) => {
    const changed = nonceOf(stackOf({ brands: { acme: ACME }, ...settings }, options));
    expect(changed !== nonceOf(unchanged)).toBe(again);
  });

  it('is built before the watcher starts, and after everything that its schedules need', () => {
    const [[id, catalog] = []] = Object.entries(both.findResources('Custom::BrandReportsCatalog'));
    const [watcher] = Object.values(both.findResources('AWS::Scheduler::Schedule'));
    expect(watcher?.DependsOn).toContain(id);
    const needed = Object.keys({
      ...both.findResources('AWS::Scheduler::ScheduleGroup'),
      ...both.findResources('AWS::IAM::Policy', {
        Properties: { PolicyName: Match.stringLikeRegexp('^Schedules') },
      }),
    });
    expect(needed).toHaveLength(REPORTS.length + 1);
    expect(catalog?.DependsOn).toEqual(expect.arrayContaining(needed));
  });

  it('is rebuilt after the function has its permissions', () => {
    both.resourceCountIs('AWS::Glue::Table', 0);
    const [resource] = Object.values(both.findResources('Custom::BrandReportsCatalog'));
    expect(resource?.DependsOn).toContainEqual(expect.stringMatching(/^RebuildCatalogRoleDefaultPolicy/));
  });
});

describe('the watcher', () => {
  it('may publish to the topic, read ledgers, write its own documents and the page, and nothing else', () => {
    const written = JSON.stringify(
      statements(both, 'Calendar').map(({ Action, Resource }) => [Action, Resource]),
    );
    expect(written).toMatch(/"sns:Publish",\{"Ref":"AlarmTopic/);
    expect(written).toMatch(/"\/status\/watch\.json"/);
    expect(written).toMatch(/"\/status\/coverage\.html"/);
    expect(written.replace('/schema/*', '')).not.toMatch(/snapshots|raw\/|schema|Delete/);
  });
});

describe('events', () => {
  const FUNCTIONS = [
    ...REPORTS.map((report) => `${report.replaceAll('_', '')}`),
    'BackfillWorker',
    'Calendar',
  ];
  const foreign = 'arn:aws:events:eu-west-1:999999999999:event-bus/shared';
  const ofAccount = (name: string) => ({
    'Fn::Join': [
      '',
      [
        ...['arn:', { Ref: 'AWS::Partition' }, ':events:', { Ref: 'AWS::Region' }, ':'],
        ...[{ Ref: 'AWS::AccountId' }, `:event-bus/${name}`],
      ],
    ],
  });

  it.each<[string, object, unknown, boolean]>([
    ['the default bus', {}, ofAccount('default'), false],
    ['a bus of the account', { bus: 'data' }, ofAccount('data'), true],
    ['any bus by its ARN', { bus: foreign }, foreign, true],
  ])(
    'go to %s from every function that commits a day, with only the source of this program',
    (_name, events, arn, isNamed) => {
      const synthesised = template({ brands: { acme: ACME }, events });
      const send = {
        ...{ Action: 'events:PutEvents', Effect: 'Allow', Resource: arn },
        Condition: { StringEquals: { 'events:source': 'brand-reports' } },
      };
      const look = { Action: 'events:DescribeEventBus', Effect: 'Allow', Resource: arn };
      for (const id of FUNCTIONS) {
        const found = statements(synthesised, id).filter(({ Action }) =>
          String(Action).startsWith('events:'),
        );
        expect([id, found]).toEqual([id, isNamed ? [send, look] : [send]]);
      }
      const withBus = { Properties: { Environment: { Variables: { EVENT_BUS_ARN: arn } } } };
      const found = Object.keys(synthesised.findResources('AWS::Lambda::Function', withBus));
      expect(found).toHaveLength(FUNCTIONS.length);
    },
  );
});

describe('the console', () => {
  it('has a link to each function, and events to paste there that the functions accept', () => {
    const outputs = JSON.stringify(both.toJSON().Outputs);
    for (const { Properties } of Object.values(both.findResources('AWS::Lambda::Function')))
      expect(outputs).toContain(`/functions/${Properties.FunctionName}?tab=testing`);
    const events = ['SyncEvent', 'CheckEvent', 'RangeEvent'].map((name) => {
      const [{ Value = '' } = {}] = Object.values(both.findOutputs(name));
      return parseSyncEvent(JSON.parse(Value), ['acme']);
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

describe('an environment', () => {
  it('has its own names, so that it can share an account with other environments', () => {
    const staging = Template.fromStack(stackOf({ brands: { acme: ACME } }, { name: 'BrandReports-staging' }));
    const named = (synthesised: Template) =>
      [
        ...JSON.stringify(synthesised.toJSON().Resources).matchAll(
          /"(?:Function|StateMachine|Alarm|LogGroup)?Name":"([^"]+)"/g,
        ),
      ].flatMap(([, name = '']) => (/^(BrandReports|brand_reports|\/)/.test(name) ? [name] : []));
    expect(named(staging)).toEqual(
      expect.arrayContaining(['brand_reports_staging', 'BrandReports-staging-order_list']),
    );
    expect(named(staging).filter((name) => named(both).includes(name))).toEqual([]);
  });
});

describe('the secrets of the brands', () => {
  const reading = (synthesised: Template) =>
    ['orderlist', 'BackfillWorker'].map((id) =>
      statements(synthesised, id)
        .filter(({ Action }) => Action === 'secretsmanager:GetSecretValue')
        .map(({ Resource }) => JSON.stringify(Resource)),
    );

  it('are readable by the prefix of their names, in one statement for each function', () => {
    const own = expect.stringMatching(/":secret:brand-reports\/\*"/);
    expect(reading(both)).toEqual([[own], [own]]);
  });

  it('have names with that prefix; otherwise the error contains the next step, without the name', () => {
    const elsewhere = { ...ACME, secretName: 'brand-reports2/acme' };
    const stack = () => stackOf({ brands: { globex: GLOBEX, acme: elsewhere } });
    expect(stack).toThrow(
      /^brands\.acme\.secretName does not begin with "brand-reports\/".*store the secret as brand-reports\/acme, or under/,
    );
    expect(stack).not.toThrow('brand-reports2');
  });
});

describe('a change of settings', () => {
  const resourcesOf = (settings: object) => {
    const all = Object.entries(template(settings).toJSON().Resources);
    return new Map(
      all.filter(([, resource]) => z.parse(typed, resource).Type !== 'AWS::Scheduler::Schedule'),
    );
  };
  const typed = z.object({ Type: z.string() });
  const before = resourcesOf({ brands: { acme: ACME } });

  it.each<[what: string, settings: object]>([
    ['a brand more', { brands: { acme: ACME, globex: GLOBEX } }],
    ['another start of a brand', { brands: { acme: { ...ACME, startDate: '2025-01-01' } } }],
    [
      'another column',
      { brands: { acme: { ...ACME, reports: { order_list: { columns: { x: 'date' } } } } } },
    ],
  ])('changes only the custom resource and schedules in the template: %s', (_what, settings) => {
    const after = resourcesOf(settings);
    const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
      (id) => JSON.stringify(before.get(id)) !== JSON.stringify(after.get(id)),
    );
    expect(changed.map((id) => z.parse(typed, after.get(id)).Type)).toEqual(['Custom::BrandReportsCatalog']);
  });
});

it('I9: never creates a secret', () => {
  both.resourceCountIs('AWS::SecretsManager::Secret', 0);
});

interface Statement {
  Action: string | string[];
  [key: string]: unknown;
}

function statements(synthesised: Template, report: string): Statement[] {
  const id = report.replaceAll('_', '');
  // CDK moves statements that exceed the size of a policy to another policy.
  return ['AWS::IAM::Policy', 'AWS::IAM::ManagedPolicy']
    .flatMap((type) => Object.entries(synthesised.findResources(type)))
    .filter(([name]) => new RegExp(`^${id}Role(Default|Overflow)Policy`).test(name))
    .flatMap(([, { Properties }]) => Properties.PolicyDocument.Statement);
}
