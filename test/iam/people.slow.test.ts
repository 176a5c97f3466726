/** Checks the rights that the stack's policies give people: operators, analysts, and people of one brand. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { App, Stack } from 'aws-cdk-lib';
import { Template as CdkTemplate } from 'aws-cdk-lib/assertions';
import fc from 'fast-check';
import { BrandAccess } from '../../infra/people.ts';
import { Catalog } from '../../infra/catalog.ts';
import { Lake } from '../../infra/lake.ts';
import { LEDGER_TABLES } from '../../shared/lake/paths.ts';
import { reports } from '../../shared/reports/index.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import { runs } from '../fixtures/property-runs.ts';
import { ACME, stackOf } from '../infra/stack.ts';
import { type Allows, policyNamed } from './policy.ts';
import { parseTemplate, resourcesOf, type Template, type Values } from './template.ts';

const KEY = 'arn:aws:kms:us-east-1:123456789012:key/12345678-90ab-cdef-1234-567890abcdef';
const TABLES = [...Object.values(reports).map(({ table }) => table), ...LEDGER_TABLES];
const arn = (service: string, resource: string) => `arn:aws:${service}:us-east-1:123456789012:${resource}`;
const object = (key: string) => `arn:aws:s3:::lake/${key}`;

/** Every reference as the ARN or the name in a deployment to `BrandReports`. */
function valuesOf(template: Template): Values {
  const named = (type: string, value: (id: string, properties: Record<string, unknown>) => object) =>
    Object.assign({}, ...resourcesOf(template, type).map(([id, properties]) => value(id, properties)));
  return {
    ...{ 'AWS::Partition': 'aws', 'AWS::Region': 'us-east-1', 'AWS::AccountId': '123456789012' },
    ...{ 'AWS::URLSuffix': 'amazonaws.com', 'AWS::StackName': 'BrandReports' },
    ...named('AWS::S3::Bucket', (id) => ({ [id]: 'lake', [`${id}.Arn`]: 'arn:aws:s3:::lake' })),
    ...named('AWS::Glue::Database', (id) => ({
      [id]: id.includes('Iceberg') ? 'brand_reports_iceberg' : 'brand_reports',
    })),
    ...named('AWS::Lambda::Function', (id, { FunctionName }) => ({
      [`${id}.Arn`]: arn('lambda', `function:${String(FunctionName)}`),
    })),
    ...named('AWS::StepFunctions::StateMachine', (id, { StateMachineName }) => ({
      [id]: arn('states', `stateMachine:${String(StateMachineName)}`),
      [`${id}.Name`]: String(StateMachineName),
    })),
    ...named('AWS::SQS::Queue', (id) => ({ [`${id}.Arn`]: arn('sqs', id.replace(/\w{8}$/, '')) })),
    ...named('AWS::Logs::LogGroup', (id) => ({ [id]: id, [`${id}.Arn`]: arn('logs', `log-group:${id}:*`) })),
  };
}

/** [action, resource, values for conditions] */
type Call = [action: string, resource: string, context?: Record<string, string>];
const wrongly = (allows: Allows, expected: boolean, calls: readonly Call[]) =>
  calls.filter((call) => allows(...call) !== expected);

let template: Template;
let values: Values;
const policy = (name: string) => policyNamed(template, `BrandReports-${name}-us-east-1`, values);

beforeAll(() => {
  const deployment = {
    ...{ lakeKeyArn: KEY, operatorRoles: ['OnCall'], analystRoles: ['Analysts'] },
    brandAccess: { acme: ['AcmeTeam'] },
  };
  const brands = { acme: ACME, 'acme-2': { ...ACME, secretName: 'brand-reports/acme-2' } };
  const stack = stackOf({ brands, deployment });
  template = parseTemplate(JSON.stringify(CdkTemplate.fromStack(stack).toJSON()));
  values = valuesOf(template);
});

describe('the policy of operators', () => {
  const backfill = (kind: string, rest = '') => arn('states', `${kind}:BrandReports-backfill${rest}`);
  const page = object('status/coverage.html');

  it('is attached to the roles of the setting', () => {
    const attached = resourcesOf(template, 'AWS::IAM::ManagedPolicy').map(([, { Roles }]) => Roles);
    expect(attached).toEqual(expect.arrayContaining([['OnCall'], ['Analysts'], ['AcmeTeam']]));
  });

  it('allows everything that running the pipeline requires', () => {
    const groups = resourcesOf(template, 'AWS::Logs::LogGroup').map(([id]) => id);
    expect(groups).toHaveLength(3);
    const names = ['sync', 'watch'];
    const calls: Call[] = [
      ...names.flatMap((name): Call[] => [
        ['lambda:InvokeFunction', arn('lambda', `function:BrandReports-${name}`)],
        ['lambda:GetFunction', arn('lambda', `function:BrandReports-${name}`)],
      ]),
      ['states:StartExecution', backfill('stateMachine')],
      ['states:StopExecution', backfill('execution', ':one')],
      ['states:GetExecutionHistory', backfill('execution', '/Brands:of-the-map')],
      ['states:DescribeMapRun', backfill('mapRun', '/Brands:the-map')],
      ...['ReceiveMessage', 'DeleteMessage', 'PurgeQueue', 'GetQueueAttributes'].map(
        (action): Call => [`sqs:${action}`, arn('sqs', 'Failed')],
      ),
      ['kms:Decrypt', KEY, { 'kms:ViaService': 'sqs.us-east-1.amazonaws.com' }],
      ...groups.flatMap((group): Call[] => [
        ['logs:FilterLogEvents', arn('logs', `log-group:${group}:log-stream:any`)],
        ['logs:StartQuery', arn('logs', `log-group:${group}:log-stream:`)],
        ['logs:StartLiveTail', arn('logs', `log-group:${group}`)],
      ]),
      ['logs:GetQueryResults', '*'],
      ['cloudwatch:DescribeAlarms', arn('cloudwatch', 'alarm:*')],
      ['cloudwatch:DescribeAlarmHistory', arn('cloudwatch', 'alarm:BrandReports-failed')],
      ['s3:GetObject', page],
      ['s3:ListBucket', 'arn:aws:s3:::lake', { 's3:prefix': 'status/coverage.html' }],
    ];
    expect(wrongly(policy('operators'), true, calls)).toEqual([]);
  });

  it('allows no data, no secret, and no change of code or configuration', () => {
    const fn = arn('lambda', 'function:BrandReports-sync');
    const calls: Call[] = [
      ...[
        'snapshots/orders/brand=acme/dt=x/y',
        'ledger/order_list/acme/state.json',
        'raw/x',
        'snapshots/orders_before/x',
      ].map((key): Call => ['s3:GetObject', object(key)]),
      ...['schema/orders.json', 'status/watch.json', 'query-results/x'].map(
        (key): Call => ['s3:GetObject', object(key)],
      ),
      ['s3:PutObject', page],
      ['s3:ListBucket', 'arn:aws:s3:::lake', { 's3:prefix': 'ledger/' }],
      ['s3:ListBucket', 'arn:aws:s3:::lake'],
      ['kms:Decrypt', KEY, { 'kms:ViaService': 'secretsmanager.us-east-1.amazonaws.com' }],
      ['kms:GenerateDataKey', KEY, { 'kms:ViaService': 's3.us-east-1.amazonaws.com' }],
      ['secretsmanager:GetSecretValue', arn('secretsmanager', 'secret:brand-reports/acme-AbCdEf')],
      ...['UpdateFunctionCode', 'UpdateFunctionConfiguration', 'PutFunctionConcurrency', 'AddPermission'].map(
        (action): Call => [`lambda:${action}`, fn],
      ),
      ['lambda:InvokeFunction', arn('lambda', 'function:BrandReports-staging-sync')],
      ['lambda:InvokeFunction', `${fn}:1`],
      ['states:UpdateStateMachine', backfill('stateMachine')],
      ['states:StopExecution', backfill('execution', '-2:one')],
      ['states:UpdateMapRun', backfill('mapRun', '/Brands:the-map')],
      ['sqs:SendMessage', arn('sqs', 'Failed')],
      ['sqs:SetQueueAttributes', arn('sqs', 'Failed')],
      ['sqs:ReceiveMessage', arn('sqs', 'Another')],
      ['logs:DeleteLogGroup', arn('logs', 'log-group:any:*')],
      ['logs:FilterLogEvents', arn('logs', 'log-group:another:*')],
      ['cloudwatch:DisableAlarmActions', arn('cloudwatch', 'alarm:BrandReports-failed')],
      ['glue:GetTable', arn('glue', 'table/brand_reports/orders')],
      ['athena:StartQueryExecution', arn('athena', 'workgroup/BrandReports')],
      ['iam:PassRole', '*'],
    ];
    expect(wrongly(policy('operators'), false, calls)).toEqual([]);
  });
});

describe('the policy of analysts', () => {
  it('allows the coverage page and the saved queries of the workgroup, and no other page or workgroup', () => {
    const named = ['Create', 'Update', 'Delete'].map((verb) => `athena:${verb}NamedQuery`);
    const [own, other] = ['BrandReports', 'BrandReports-brand-acme'].map((name) =>
      arn('athena', `workgroup/${name}`),
    );
    const allows = policy('analysts');
    expect(wrongly(allows, true, [['s3:GetObject', object('status/coverage.html')]])).toEqual([]);
    expect(
      wrongly(
        allows,
        true,
        named.map((action): Call => [action, own ?? '']),
      ),
    ).toEqual([]);
    expect(
      wrongly(
        allows,
        false,
        named.map((action): Call => [action, other ?? '']),
      ),
    ).toEqual([]);
    expect(wrongly(allows, false, [['s3:GetObject', object('status/watch.json')]])).toEqual([]);
  });
});

/** The calls of Athena for a query on one partition of a brand, and for its result. */
function ownCalls(brand: string, database = 'brand_reports'): Call[] {
  const glue = (resource: string): Call[] =>
    ['GetTable', 'GetPartitions', 'GetDatabase'].map((action) => [`glue:${action}`, arn('glue', resource)]);
  const result = object(`query-results/brand=${brand}/2f1c.csv`);
  return [
    ...TABLES.flatMap((table): Call[] => [
      ...['catalog', `database/${database}`, `table/${database}/${table}`].flatMap(glue),
      ['s3:GetObject', object(`snapshots/${table}/brand=${brand}/dt=2026-01-31/id/part-0000.parquet`)],
      [
        's3:ListBucket',
        'arn:aws:s3:::lake',
        { 's3:prefix': `snapshots/${table}/brand=${brand}/dt=2026-01-31/id/` },
      ],
    ]),
    ...['s3:PutObject', 's3:GetObject', 's3:AbortMultipartUpload', 's3:ListMultipartUploadParts'].map(
      (action): Call => [action, result],
    ),
    ['s3:ListBucket', 'arn:aws:s3:::lake', { 's3:prefix': `query-results/brand=${brand}/` }],
    ['s3:GetBucketLocation', 'arn:aws:s3:::lake'],
    ['s3:ListBucketMultipartUploads', 'arn:aws:s3:::lake'],
    ...['GetWorkGroup', 'StartQueryExecution', 'GetQueryExecution', 'GetQueryResults'].map(
      (action): Call => [`athena:${action}`, arn('athena', `workgroup/BrandReports-brand-${brand}`)],
    ),
    ['lakeformation:GetDataAccess', '*'],
  ];
}

function foreignCalls(brand: string): Call[] {
  const keys = [
    ...TABLES.map((table) => `snapshots/${table}/brand=${brand}/dt=2026-01-31/id/part-0000.parquet`),
    `snapshots/orders_before/brand=${brand}/dt=2026-01-31/id/part-0000.parquet`,
    `raw/order_list/brand=${brand}/dt=2026-01-31/id/progress.json`,
    `ledger/order_list/${brand}/2026-01.json`,
    `leases/${brand}.json`,
    `query-results/brand=${brand}/2f1c.csv`,
  ];
  return keys.flatMap((key): Call[] => [
    ...['GetObject', 'GetObjectVersion', 'PutObject'].map((action): Call => [`s3:${action}`, object(key)]),
    ['s3:ListBucket', 'arn:aws:s3:::lake', { 's3:prefix': key.slice(0, key.lastIndexOf('/') + 1) }],
  ]);
}

/** Resources of no brand, or of all brands. */
const SHARED_CALLS: Call[] = [
  ...['status/coverage.html', 'status/watch.json', 'settings/current.json', 'schema/orders.json'].map(
    (key): Call => ['s3:GetObject', object(key)],
  ),
  ...['iceberg/orders/metadata/1.json', 'query-results/2f1c.csv', 'deployments/failed-update.json'].map(
    (key): Call => ['s3:GetObject', object(key)],
  ),
  ...['', 'snapshots/', 'snapshots/orders/', 'query-results/'].map(
    (prefix): Call => ['s3:ListBucket', 'arn:aws:s3:::lake', { 's3:prefix': prefix }],
  ),
  ['s3:ListBucket', 'arn:aws:s3:::lake'],
  ['glue:GetTable', arn('glue', 'table/brand_reports_iceberg/orders')],
  ['glue:UpdateTable', arn('glue', 'table/brand_reports/orders')],
  ['athena:StartQueryExecution', arn('athena', 'workgroup/BrandReports')],
  ['lambda:InvokeFunction', arn('lambda', 'function:BrandReports-sync')],
  ['secretsmanager:GetSecretValue', arn('secretsmanager', 'secret:brand-reports/acme-AbCdEf')],
];

describe('the policy of a brand', () => {
  it('allows what queries of the brand need, with a customer key too, and nothing of all brands', () => {
    const allows = policy('brand-acme');
    const key: Call = ['kms:GenerateDataKey', KEY, { 'kms:ViaService': 's3.us-east-1.amazonaws.com' }];
    expect(wrongly(allows, true, [...ownCalls('acme'), key])).toEqual([]);
    expect(wrongly(allows, false, [...foreignCalls('acme-2'), ...SHARED_CALLS])).toEqual([]);
    // Objects of its own brand too, if no query reads them.
    expect(
      wrongly(
        allows,
        false,
        foreignCalls('acme').filter(([, key]) => !/snapshots|query-/.test(key) && key.includes('/')),
      ),
    ).toEqual([]);
  });

  it('has a workgroup with the limits of the analysts, and a fixed location of results', () => {
    const groups = resourcesOf(template, 'AWS::Athena::WorkGroup').map(([, properties]) => properties);
    const [analysts, acme] = groups.map((group) => JSON.stringify(group));
    expect(acme).toContain('"Name":"BrandReports-brand-acme"');
    const same = acme
      ?.replace('query-results/brand=acme/', 'query-results/')
      .replace('"BrandReports-brand-acme"', '"BrandReports"')
      .replace(' of acme"', '"');
    expect(same).toBe(analysts);
  });

  it('gives a brand no access to another brand, whatever their names', () => {
    const brand = fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,8}$/);
    const prefixed = fc
      .tuple(brand, fc.stringMatching(/^[a-z0-9-]{1,8}$/))
      .map(([name, more]) => [name, `${name}${more}`, `${more.replace(/^-+/, 'x')}${name}`]);
    fc.assert(
      fc.property(prefixed, (names) => {
        const brands = [...new Set(names)];
        const allows = policiesOfBrands(brands);
        for (const own of brands) {
          expect(wrongly(allows(own), true, ownCalls(own))).toEqual([]);
          for (const other of brands.filter((name) => name !== own))
            expect(
              wrongly(allows(own), false, [
                ...foreignCalls(other),
                ['athena:StartQueryExecution', arn('athena', `workgroup/BrandReports-brand-${other}`)],
              ]),
            ).toEqual([]);
        }
      }),
      runs(10),
    );
  });
});

/** A stack of only the lake, the catalog and these brands. */
function policiesOfBrands(brands: readonly string[]): (brand: string) => Allows {
  const settings = parseSettings({ brands: Object.fromEntries(brands.map((name) => [name, ACME])) }, reports);
  const { deployment } = settings;
  const stack = new Stack(new App(), 'BrandReports');
  const lake = new Lake(stack, 'Lake', { reports, deployment });
  const catalog = new Catalog(stack, 'Catalog', { reports, settings });
  for (const brand of brands)
    new BrandAccess(stack, `Brand-${brand}`, { brand, roleNames: [], deployment, lake, catalog });
  const small = parseTemplate(JSON.stringify(CdkTemplate.fromStack(stack).toJSON()));
  return (brand) => policyNamed(small, `BrandReports-brand-${brand}-us-east-1`, valuesOf(small));
}
