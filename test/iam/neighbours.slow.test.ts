/** Deployments of one account whose names begin alike: no policy of one names a resource of another. */
import { describe, expect, it } from '@jest/globals';
import { Template as CdkTemplate } from 'aws-cdk-lib/assertions';
import * as z from 'zod/mini';
import { reports } from '../../shared/reports/index.ts';
import { ACME, stackOf } from '../infra/stack.ts';
import { covers } from './policy.ts';
import { PSEUDO_PARAMETERS, type Values, parseTemplate, resolve, resourcesOf } from './template.ts';

const arn = (service: string, resource: string) => `arn:aws:${service}:us-east-1:123456789012:${resource}`;
const TABLES = [...Object.values(reports).map(({ table }) => table), 'coverage', 'x'];

const textsSchema = z.union([z.string(), z.array(z.string())]);
const policySchema = z.object({
  PolicyDocument: z.object({ Statement: z.array(z.object({ Resource: textsSchema })) }),
});

/** By type: the ARNs of a resource, by the name that it has or that CloudFormation gives it. */
const ARNS: Readonly<Record<string, (name: string) => string[]>> = {
  'AWS::S3::Bucket': (name) => [
    `arn:aws:s3:::${name}`,
    ...['ledger/x', 'query-results/analysts/x', 'status/coverage.html'].map(
      (key) => `arn:aws:s3:::${name}/${key}`,
    ),
  ],
  'AWS::Lambda::Function': (name) => ['', ':1'].map((version) => arn('lambda', `function:${name}${version}`)),
  'AWS::StepFunctions::StateMachine': (name) =>
    ['stateMachine:$', 'execution:$:x', 'execution:$/Brands:x', 'mapRun:$/Brands:x'].map((path) =>
      arn('states', path.replace('$', name)),
    ),
  'AWS::SQS::Queue': (name) => [arn('sqs', name)],
  'AWS::SNS::Topic': (name) => [arn('sns', name)],
  'AWS::Logs::LogGroup': (name) =>
    ['', ':*', ':log-stream:x'].map((of) => arn('logs', `log-group:${name}${of}`)),
  'AWS::CloudWatch::Alarm': (name) => [arn('cloudwatch', `alarm:${name}`)],
  'AWS::Athena::WorkGroup': (name) => [arn('athena', `workgroup/${name}`)],
  'AWS::Glue::Database': (name) => TABLES.map((table) => arn('glue', `table/${name}/${table}`)),
};
const NAMES: Readonly<Record<string, string>> = {
  ...{ 'AWS::Lambda::Function': 'FunctionName', 'AWS::StepFunctions::StateMachine': 'StateMachineName' },
  ...{ 'AWS::CloudWatch::Alarm': 'AlarmName', 'AWS::Athena::WorkGroup': 'Name' },
};

/** What a deployment has, and what its policies name. */
function deployed(name: string) {
  const roles = { operatorRoles: ['OnCall'], analystRoles: ['Analysts'], brandRoles: ['AcmeTeam'] };
  const settings = { brands: { acme: ACME }, catalogs: ['hive', 'iceberg'], deployment: roles };
  const template = parseTemplate(JSON.stringify(CdkTemplate.fromStack(stackOf(settings, { name })).toJSON()));
  const values: Record<string, string> = { ...PSEUDO_PARAMETERS, 'AWS::StackName': name };
  const own: string[] = [];
  for (const [type, arns] of Object.entries(ARNS))
    for (const [id, properties] of resourcesOf(template, type)) {
      const given = type === 'AWS::Glue::Database' ? databaseOf(properties) : properties[NAMES[type] ?? ''];
      const called = typeof given === 'string' ? given : `${name}-${id}-0a1b2c`;
      own.push(...arns(called));
      values[`${id}.Arn`] = arns(called)[0] ?? '';
      values[`${id}.Name`] = called;
      values[id] = /StateMachine|Topic/.test(type) ? (arns(called)[0] ?? '') : called;
    }
  return { own, named: namedBy(template, values) };
}

const databaseOf = (properties: object) =>
  z.parse(z.object({ DatabaseInput: z.object({ Name: z.string() }) }), properties).DatabaseInput.Name;

function namedBy(template: ReturnType<typeof parseTemplate>, values: Values): string[] {
  const policies = ['AWS::IAM::Policy', 'AWS::IAM::ManagedPolicy'].flatMap((type) =>
    resourcesOf(template, type),
  );
  const statements = policies.flatMap(
    ([, properties]) => z.parse(policySchema, resolve(properties, values)).PolicyDocument.Statement,
  );
  // Calls that AWS allows on no narrower resource: lists of the region.
  return statements.flatMap(({ Resource }) => Resource).filter((pattern) => pattern !== '*');
}

const reached = (patterns: readonly string[], arns: readonly string[]) =>
  arns.filter((resource) =>
    patterns.some((pattern) => covers({ action: '*', resource: pattern }, { action: 'x:y', resource })),
  );

describe('a deployment', () => {
  const NAMES_ALIKE = ['BrandReports', 'BrandReports-staging', 'BrandReports2', 'Brand', 'BrandReports-sync'];
  const all = NAMES_ALIKE.map((name) => ({ name, ...deployed(name) }));

  it.each(all)('$name names its own resources, and none of the others', ({ name, own, named }) => {
    const kinds = new Set(reached(named, own).map((resource) => resource.split(':')[2]));
    expect(kinds).toEqual(
      new Set(['athena', 'cloudwatch', 'glue', 'lambda', 'logs', 's3', 'sns', 'sqs', 'states']),
    );
    for (const other of all)
      if (other.name !== name) expect([other.name, reached(named, other.own)]).toEqual([other.name, []]);
  });
});
