/** Checks the rights that the stack's policies give people: operators, analysts, and people of one brand. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { Template as CdkTemplate } from 'aws-cdk-lib/assertions';
import fc from 'fast-check';
import * as z from 'zod/mini';
import { ALARMS } from '../../infra/alarms.ts';
import { LEDGER_TABLES } from '../../shared/lake/paths.ts';
import { reports } from '../../shared/reports/index.ts';
import { runs } from '../fixtures/property-runs.ts';
import { ACME, keysIn, stackOf } from '../infra/stack.ts';
import { type Allows, policyNamed } from './policy.ts';
import { parseTemplate, resourcesOf, type Template, type Values } from './template.ts';

const KEY = 'arn:aws:kms:us-east-1:123456789012:key/12345678-90ab-cdef-1234-567890abcdef';
const TABLES = [...Object.values(reports).map(({ table }) => table), ...LEDGER_TABLES];
const arn = (service: string, resource: string) => `arn:aws:${service}:us-east-1:123456789012:${resource}`;
const LAKE = 'arn:aws:s3:::lake';
const object = (key: string) => `${LAKE}/${key}`;
const group = (name: string) => arn('athena', `workgroup/${name}`);
const BRANDS = group('BrandReports.brands');
const SECRET = arn('secretsmanager', 'secret:brand-reports/acme-AbCdEf');

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
const calls = (service: string, actions: string, resource: string, context = {}): Call[] =>
  actions.split(' ').map((action) => [`${service}:${action}`, resource, context]);
const listing = (prefix: string): Call => ['s3:ListBucket', LAKE, { 's3:prefix': prefix }];
const through = (service: string) => ({ 'kms:ViaService': `${service}.us-east-1.amazonaws.com` });
const wrongly = (allows: Allows, expected: boolean, ...made: readonly (readonly Call[])[]) =>
  made.flat().filter((call) => allows(...call) !== expected);

let template: Template;
let values: Values;
let ofBrands: Allows;
const policy = (name: string) => policyNamed(template, `BrandReports-${name}-us-east-1`, values);

beforeAll(() => {
  const deployment = {
    ...{ operatorRoles: ['OnCall'], analystRoles: ['Analysts'] },
    brandRoles: ['AcmeTeam'],
  };
  const brands = { acme: ACME, 'acme-2': { ...ACME, secretName: 'brand-reports/acme-2' } };
  const stack = stackOf({ brands, deployment }, { props: keysIn });
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

  const alarmsOf = (instance: string) =>
    Object.keys(ALARMS).flatMap((id) =>
      calls(
        'cloudwatch',
        'DescribeAlarms DescribeAlarmHistory',
        arn('cloudwatch', `alarm:${instance}-${id}`),
      ),
    );

  it('allows everything that running the pipeline requires', () => {
    const groups = resourcesOf(template, 'AWS::Logs::LogGroup').map(([id]) => arn('logs', `log-group:${id}`));
    expect(groups).toHaveLength(3);
    const required = [
      ...['sync', 'watch'].map((name) =>
        calls('lambda', 'InvokeFunction GetFunction', arn('lambda', `function:BrandReports-${name}`)),
      ),
      calls('states', 'StartExecution', backfill('stateMachine')),
      calls('states', 'StopExecution', backfill('execution', ':one')),
      calls('states', 'GetExecutionHistory', backfill('execution', '/Brands:of-the-map')),
      calls('states', 'DescribeMapRun', backfill('mapRun', '/Brands:the-map')),
      calls('sqs', 'ReceiveMessage DeleteMessage PurgeQueue GetQueueAttributes', arn('sqs', 'Failed')),
      calls('kms', 'Decrypt', KEY, through('sqs')),
      ...groups.flatMap((group) => [
        calls('logs', 'FilterLogEvents', `${group}:log-stream:any`),
        calls('logs', 'StartQuery', `${group}:log-stream:`),
        calls('logs', 'StartLiveTail', group),
      ]),
      calls('logs', 'GetQueryResults', '*'),
      alarmsOf('BrandReports'),
      calls('s3', 'GetObject', page),
      [listing('status/coverage.html')],
    ];
    expect(wrongly(policy('operators'), true, ...required)).toEqual([]);
  });

  it('allows no data, no secret, no other instance, and no change of code or configuration', () => {
    const fn = arn('lambda', 'function:BrandReports-sync');
    const keys = [...filesOf('acme'), 'schema/orders.json', 'status/watch.json', 'query-results/x'];
    const others = [
      ...keys.map((key) => calls('s3', 'GetObject PutObject', object(key))),
      calls('s3', 'PutObject', page),
      calls('s3', 'ListBucket', LAKE),
      [listing('ledger/')],
      calls('kms', 'Decrypt', KEY, through('secretsmanager')),
      calls('kms', 'GenerateDataKey', KEY, through('s3')),
      calls('secretsmanager', 'GetSecretValue', SECRET),
      calls(
        'lambda',
        'UpdateFunctionCode UpdateFunctionConfiguration PutFunctionConcurrency AddPermission',
        fn,
      ),
      ...[`${fn}:1`, arn('lambda', 'function:BrandReports-staging-sync')].map((other) =>
        calls('lambda', 'InvokeFunction', other),
      ),
      calls('states', 'UpdateStateMachine', backfill('stateMachine')),
      calls('states', 'StopExecution', backfill('execution', '-2:one')),
      calls('states', 'UpdateMapRun', backfill('mapRun', '/Brands:the-map')),
      calls('sqs', 'SendMessage SetQueueAttributes', arn('sqs', 'Failed')),
      calls('sqs', 'ReceiveMessage', arn('sqs', 'Another')),
      calls('logs', 'DeleteLogGroup FilterLogEvents', arn('logs', 'log-group:another:*')),
      calls('cloudwatch', 'DisableAlarmActions', arn('cloudwatch', 'alarm:BrandReports-watch-silent')),
      alarmsOf('BrandReports-staging'),
      calls('glue', 'GetTable', arn('glue', 'table/brand_reports/orders')),
      calls('athena', 'StartQueryExecution', group('BrandReports')),
      calls('iam', 'PassRole', '*'),
    ];
    expect(wrongly(policy('operators'), false, ...others)).toEqual([]);
  });
});

describe('the policy of analysts', () => {
  const on = (name: string) =>
    calls('athena', 'CreateNamedQuery UpdateNamedQuery DeleteNamedQuery StopQueryExecution', group(name));

  it('allows the coverage page, all brands, and queries and saved queries in their workgroup', () => {
    const required = [
      calls('s3', 'GetObject', object('status/coverage.html')),
      calls('s3', 'GetObject', object('snapshots/orders/brand=acme/dt=2026-01-31/id/part-0000.parquet')),
      calls('s3', 'GetObject PutObject', object('query-results/analysts/2f1c.csv')),
      on('BrandReports'),
    ];
    expect(wrongly(policy('analysts'), true, ...required)).toEqual([]);
  });

  it('allows no other page or workgroup, and changes nothing outside of their own results', () => {
    const keys = [...filesOf('acme'), 'query-results/brand=acme-2/1.csv', 'query-results/2f1c.csv'];
    const others = [
      calls('s3', 'GetObject', object('status/watch.json')),
      calls('s3', 'GetObject', object('query-results/brand=acme/2f1c.csv')),
      ...keys.map((key) => calls('s3', 'PutObject DeleteObject AbortMultipartUpload', object(key))),
      on('BrandReports.brands'),
      on('BrandReports-staging'),
    ];
    expect(wrongly(policy('analysts'), false, ...others)).toEqual([]);
  });
});

/** The calls of Athena for a query on one partition of a brand, and for its result. */
function ownCalls(brand: string): Call[] {
  const glue = [
    'catalog',
    'database/brand_reports',
    ...TABLES.map((table) => `table/brand_reports/${table}`),
  ];
  const folders = TABLES.map((table) => `snapshots/${table}/brand=${brand}/dt=2026-01-31/id/`);
  const result = object(`query-results/brand=${brand}/2f1c.csv`);
  return [
    ...glue.flatMap((resource) => calls('glue', 'GetTable GetPartitions GetDatabase', arn('glue', resource))),
    ...folders.flatMap((folder) => calls('s3', 'GetObject', object(`${folder}part-0000.parquet`))),
    ...[...folders, `query-results/brand=${brand}/`].map(listing),
    ...calls('s3', 'GetObject', object(`closes/${brand}/2026-01.json`)),
    ...calls('s3', 'PutObject GetObject AbortMultipartUpload ListMultipartUploadParts', result),
    ...calls('s3', 'GetBucketLocation', LAKE),
    ...calls('athena', 'GetWorkGroup StartQueryExecution GetQueryExecution GetQueryResults', BRANDS),
    ...calls('lakeformation', 'GetDataAccess', '*'),
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
    `leases/${brand}.json`,
  ];
}

const callsOn = (keys: readonly string[]) =>
  keys.flatMap((key) => [
    ...calls('s3', 'GetObject GetObjectVersion PutObject', object(key)),
    listing(key.slice(0, key.lastIndexOf('/') + 1)),
  ]);

/** Resources of no brand or of all brands, and rights to the queries of everybody in a workgroup. */
const SHARED_CALLS: Call[] = [
  ...[
    'status/coverage.html',
    'status/watch.json',
    'schema/orders.json',
    'iceberg/orders/metadata/1.json',
  ].flatMap((key) => calls('s3', 'GetObject', object(key))),
  ...['query-results/2f1c.csv', 'query-results/analysts/2f1c.csv'].flatMap((key) =>
    calls('s3', 'GetObject PutObject', object(key)),
  ),
  ...['', 'snapshots/', 'snapshots/orders/', 'snapshots/orders/brand=', 'query-results/'].map(listing),
  ...calls('s3', 'ListBucket ListBucketVersions ListBucketMultipartUploads', LAKE),
  ...calls('glue', 'GetTable', arn('glue', 'table/brand_reports_iceberg/orders')),
  ...calls('glue', 'UpdateTable', arn('glue', 'table/brand_reports/orders')),
  ...calls('athena', 'ListQueryExecutions BatchGetQueryExecution StopQueryExecution', BRANDS),
  ...calls('athena', 'GetQueryRuntimeStatistics GetQueryResultsStream CreatePreparedStatement', BRANDS),
  ...calls('athena', 'ListNamedQueries GetNamedQuery CreateNamedQuery UpdateNamedQuery', BRANDS),
  ...calls('athena', 'UpdateWorkGroup DeleteWorkGroup', BRANDS),
  ...['BrandReports', 'BrandReports-brands', 'primary'].flatMap((name) =>
    calls('athena', 'StartQueryExecution', group(name)),
  ),
  ...calls('lambda', 'InvokeFunction', arn('lambda', 'function:BrandReports-sync')),
  ...calls('secretsmanager', 'GetSecretValue', SECRET),
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
    const key = calls('kms', 'GenerateDataKey', KEY, through('s3'));
    expect(wrongly(allows, true, ownCalls('acme'), key)).toEqual([]);
    const unread = filesOf('acme').filter((file) => /^(raw|ledger|rates)/.test(file));
    const read = filesOf('acme').filter((file) => !file.startsWith('query-results/'));
    const writes = read.flatMap((file) => calls('s3', 'PutObject DeleteObject', object(file)));
    expect(wrongly(allows, false, callsOn(unread), writes, SHARED_CALLS)).toEqual([]);
  });

  it.each([
    ...[undefined, '', '*', '?', '$', '****', 'a*', 'acm?', '??????', '*acme', `\${aws:PrincipalTag/other}`],
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
    expect(wrongly(allowsTagged(tag), false, callsOn(files), SHARED_CALLS)).toEqual([]);
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
