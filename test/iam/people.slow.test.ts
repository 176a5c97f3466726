/** Checks the rights that the stack's policies give people: operators, analysts, and people of one brand. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { Template as CdkTemplate } from 'aws-cdk-lib/assertions';
import fc from 'fast-check';
import * as z from 'zod/mini';
import { ALARMS } from '../../infra/alarms.ts';
import { LEDGER_TABLES } from '../../shared/lake/paths.ts';
import { reports } from '../../shared/reports/index.ts';
import { runs } from '../fixtures/property-runs.ts';
import { ACME, stackOf } from '../infra/stack.ts';
import { type Allows, policyNamed } from './policy.ts';
import { parseTemplate, resourcesOf, type Template, type Values } from './template.ts';

const KEY = 'arn:aws:kms:us-east-1:123456789012:key/12345678-90ab-cdef-1234-567890abcdef';
const TABLES = [...Object.values(reports).map(({ table }) => table), ...LEDGER_TABLES];
const arn = (service: string, resource: string) => `arn:aws:${service}:us-east-1:123456789012:${resource}`;
const LAKE = 'arn:aws:s3:::lake';
const object = (key: string) => `${LAKE}/${key}`;
const listing = (prefix: string): Call => ['s3:ListBucket', LAKE, { 's3:prefix': prefix }];

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
let ofBrands: Allows;
const policy = (name: string) => policyNamed(template, `BrandReports-${name}-us-east-1`, values);

beforeAll(() => {
  const deployment = {
    ...{ lakeKeyArn: KEY, operatorRoles: ['OnCall'], analystRoles: ['Analysts'] },
    brandRoles: ['AcmeTeam'],
  };
  const brands = { acme: ACME, 'acme-2': { ...ACME, secretName: 'brand-reports/acme-2' } };
  const stack = stackOf({ brands, deployment });
  template = parseTemplate(JSON.stringify(CdkTemplate.fromStack(stack).toJSON()));
  values = valuesOf(template);
  ofBrands = policyNamed(template, 'BrandReports.brands-us-east-1', values);
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
      ...Object.keys(ALARMS).flatMap((id) =>
        ['DescribeAlarms', 'DescribeAlarmHistory'].map(
          (action): Call => [`cloudwatch:${action}`, arn('cloudwatch', `alarm:BrandReports-${id}`)],
        ),
      ),
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
      ['cloudwatch:DisableAlarmActions', arn('cloudwatch', 'alarm:BrandReports-problems')],
      ...Object.keys(ALARMS).flatMap((id) =>
        ['DescribeAlarms', 'DescribeAlarmHistory'].map(
          (action): Call => [`cloudwatch:${action}`, arn('cloudwatch', `alarm:BrandReports-staging-${id}`)],
        ),
      ),
      ['glue:GetTable', arn('glue', 'table/brand_reports/orders')],
      ['athena:StartQueryExecution', arn('athena', 'workgroup/BrandReports')],
      ['iam:PassRole', '*'],
    ];
    expect(wrongly(policy('operators'), false, calls)).toEqual([]);
  });
});

describe('the policy of analysts', () => {
  const on = (group: string) =>
    ['CreateNamedQuery', 'UpdateNamedQuery', 'DeleteNamedQuery', 'StopQueryExecution'].map(
      (action): Call => [`athena:${action}`, arn('athena', `workgroup/${group}`)],
    );

  it('allows the coverage page, all brands, and queries and saved queries in their workgroup', () => {
    const calls: Call[] = [
      ['s3:GetObject', object('status/coverage.html')],
      ['s3:GetObject', object('snapshots/orders/brand=acme/dt=2026-01-31/id/part-0000.parquet')],
      ['s3:GetObject', object('query-results/analysts/2f1c.csv')],
      ['s3:PutObject', object('query-results/analysts/2f1c.csv')],
      ...on('BrandReports'),
    ];
    expect(wrongly(policy('analysts'), true, calls)).toEqual([]);
  });

  it('allows no other page or workgroup, and changes nothing outside of their own results', () => {
    const keys = [...filesOf('acme'), 'query-results/brand=acme-2/1.csv', 'query-results/2f1c.csv'];
    const calls: Call[] = [
      ['s3:GetObject', object('status/watch.json')],
      ['s3:GetObject', object('query-results/brand=acme/2f1c.csv')],
      ...keys.flatMap((key): Call[] =>
        ['PutObject', 'DeleteObject', 'AbortMultipartUpload'].map((action) => [`s3:${action}`, object(key)]),
      ),
      ...['BrandReports.brands', 'BrandReports-staging'].flatMap(on),
    ];
    expect(wrongly(policy('analysts'), false, calls)).toEqual([]);
  });
});

/** The calls of Athena for a query on one partition of a brand, and for its result. */
function ownCalls(brand: string): Call[] {
  const glue = (resource: string): Call[] =>
    ['GetTable', 'GetPartitions', 'GetDatabase'].map((action) => [`glue:${action}`, arn('glue', resource)]);
  return [
    ...TABLES.flatMap((table): Call[] => [
      ...['catalog', 'database/brand_reports', `table/brand_reports/${table}`].flatMap(glue),
      ['s3:GetObject', object(`snapshots/${table}/brand=${brand}/dt=2026-01-31/id/part-0000.parquet`)],
      listing(`snapshots/${table}/brand=${brand}/dt=2026-01-31/id/`),
    ]),
    ['s3:GetObject', object(`closes/${brand}/2026-01.json`)],
    ...['s3:PutObject', 's3:GetObject', 's3:AbortMultipartUpload', 's3:ListMultipartUploadParts'].map(
      (action): Call => [action, object(`query-results/brand=${brand}/2f1c.csv`)],
    ),
    listing(`query-results/brand=${brand}/`),
    ['s3:GetBucketLocation', LAKE],
    ...['GetWorkGroup', 'StartQueryExecution', 'GetQueryExecution', 'GetQueryResults'].map(
      (action): Call => [`athena:${action}`, arn('athena', 'workgroup/BrandReports.brands')],
    ),
    ['lakeformation:GetDataAccess', '*'],
  ];
}

/** Files of a brand, also files that no query of its own people reads. */
function filesOf(brand: string): string[] {
  return [
    ...[...TABLES, 'orders_before'].map(
      (table) => `snapshots/${table}/brand=${brand}/dt=2026-01-31/id/part-0000.parquet`,
    ),
    `closes/${brand}/2026-01.json`,
    `query-results/brand=${brand}/2f1c.csv`,
    `raw/order_list/brand=${brand}/dt=2026-01-31/id/progress.json`,
    `ledger/order_list/${brand}/2026-01.json`,
    `rates/${brand}.json`,
  ];
}

const callsOn = (keys: readonly string[]) =>
  keys.flatMap((key): Call[] => [
    ...['GetObject', 'GetObjectVersion', 'PutObject'].map((action): Call => [`s3:${action}`, object(key)]),
    listing(key.slice(0, key.lastIndexOf('/') + 1)),
  ]);

/** Resources of no brand or of all brands, and rights to the queries of everybody in a workgroup. */
const SHARED_CALLS: Call[] = [
  ...[
    'status/coverage.html',
    'status/watch.json',
    'schema/orders.json',
    'iceberg/orders/metadata/1.json',
  ].map((key): Call => ['s3:GetObject', object(key)]),
  ...['query-results/2f1c.csv', 'query-results/analysts/2f1c.csv'].flatMap((key): Call[] =>
    ['s3:GetObject', 's3:PutObject'].map((action) => [action, object(key)]),
  ),
  ...['', 'snapshots/', 'snapshots/orders/', 'snapshots/orders/brand=', 'query-results/'].map(listing),
  ...['ListBucket', 'ListBucketVersions', 'ListBucketMultipartUploads'].map(
    (action): Call => [`s3:${action}`, LAKE],
  ),
  ['glue:GetTable', arn('glue', 'table/brand_reports_iceberg/orders')],
  ['glue:UpdateTable', arn('glue', 'table/brand_reports/orders')],
  ...[
    ...['ListQueryExecutions', 'BatchGetQueryExecution', 'StopQueryExecution', 'GetQueryRuntimeStatistics'],
    ...['GetQueryResultsStream', 'ListNamedQueries', 'GetNamedQuery', 'CreateNamedQuery', 'UpdateNamedQuery'],
    ...['UpdateWorkGroup', 'DeleteWorkGroup', 'CreatePreparedStatement', 'ListPreparedStatements'],
  ].map((action): Call => [`athena:${action}`, arn('athena', 'workgroup/BrandReports.brands')]),
  ...['BrandReports', 'BrandReports-brands', 'primary'].map(
    (group): Call => ['athena:StartQueryExecution', arn('athena', `workgroup/${group}`)],
  ),
  ['lambda:InvokeFunction', arn('lambda', 'function:BrandReports-sync')],
  ['secretsmanager:GetSecretValue', arn('secretsmanager', 'secret:brand-reports/acme-AbCdEf')],
];

describe('the policy of people of one brand', () => {
  const allowsTagged =
    (tag: string | undefined): Allows =>
    (action, resource, context) =>
      ofBrands(action, resource, {
        ...context,
        ...(tag !== undefined && { 'aws:PrincipalTag/brand': tag }),
      });

  it('allows what queries of the brand need, with a customer key too, and nothing else', () => {
    const allows = allowsTagged('acme');
    const key: Call = ['kms:GenerateDataKey', KEY, { 'kms:ViaService': 's3.us-east-1.amazonaws.com' }];
    expect(wrongly(allows, true, [...ownCalls('acme'), key])).toEqual([]);
    const unread = filesOf('acme').filter((key) => /^(raw|ledger|rates)/.test(key));
    expect(wrongly(allows, false, [...callsOn(unread), ...SHARED_CALLS])).toEqual([]);
    const written = filesOf('acme').filter((key) => !key.startsWith('query-results/'));
    expect(
      wrongly(
        allows,
        false,
        written.map((key): Call => ['s3:PutObject', object(key)]),
      ),
    ).toEqual([]);
  });

  it.each([
    ...[undefined, '', '*', '?', '$', '****', 'a*', 'acm?', '??????', '*acme', '${aws:PrincipalTag/other}'],
    ...[
      'acme/../x',
      'acme/*',
      'acme/',
      '/',
      '*/dt=2026-01-31',
      'acme/dt=2026-01-31',
      'x/brand=acme',
      '../acme',
    ],
    ...[
      'ACME',
      'Acme',
      ' acme',
      'acme ',
      'acme-',
      'acm',
      'acme-22',
      '.',
      '..',
      'acme\u0000',
      'acme\n',
      '[a]cme',
      'acme|x',
    ],
  ])('gives no file of any brand to people with the tag %j', (tag) => {
    const files = ['acme', 'acme-2'].flatMap(filesOf);
    expect(wrongly(allowsTagged(tag), false, [...callsOn(files), ...SHARED_CALLS])).toEqual([]);
  });

  it('gives a brand no access to another brand, whatever their names', () => {
    const brand = fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,8}$/);
    const pair = fc
      .tuple(brand, fc.stringMatching(/^[a-z0-9-]{1,8}$/), fc.boolean())
      .map(([name, more, after]) => [name, after ? `${name}${more}` : `${more.replace(/^-+/, 'x')}${name}`]);
    fc.assert(
      fc.property(pair, ([one = '', other = '']) => {
        for (const [own, foreign] of [
          [one, other],
          [other, one],
        ] as const) {
          expect(wrongly(allowsTagged(own), true, ownCalls(own))).toEqual([]);
          expect(wrongly(allowsTagged(own), false, callsOn(filesOf(foreign)))).toEqual([]);
        }
      }),
      runs(10),
    );
  });

  it('belongs to one workgroup with the scan limit of the analysts and no place for the results of all brands', () => {
    const groups = resourcesOf(template, 'AWS::Athena::WorkGroup').map(([, properties]) => properties);
    const [analysts, brands] = groups.map(({ WorkGroupConfiguration }) =>
      z.parse(z.record(z.string(), z.unknown()), WorkGroupConfiguration),
    );
    const { ResultConfiguration, ...rest } = analysts ?? {};
    expect(JSON.stringify(ResultConfiguration)).toContain('/query-results/analysts/');
    expect(brands).toEqual({ ...rest, EnforceWorkGroupConfiguration: false });
  });
});
