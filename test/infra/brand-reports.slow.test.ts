import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { App, NestedStack, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Annotations, Match, Template } from 'aws-cdk-lib/assertions';
import { Vpc } from 'aws-cdk-lib/aws-ec2';
import { SnsTopic } from 'aws-cdk-lib/aws-events-targets';
import { AccountRootPrincipal, Role } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Bucket, type IBucket } from 'aws-cdk-lib/aws-s3';
import { Topic } from 'aws-cdk-lib/aws-sns';
import * as z from 'zod/mini';
import { BrandReports, type BrandReportsProps } from '../../infra/brand-reports.ts';
import { resolve } from '../iam/template.ts';
import { ACME, databaseIn, stackOf } from './stack.ts';

const brands = { acme: { ...ACME, reports: { clicks_detail: { enabled: true } } } };
const place = { account: '123456789012', region: 'eu-central-1' };

/** Another person's stack, without the feature flags of this repository. */
function theirs(): Stack {
  return new Stack(new App({ context: { 'aws:cdk:bundling-stacks': [] } }), 'Data', { env: place });
}

function reportsIn(stack: Stack, props: Partial<BrandReportsProps> = {}, id = 'Reports'): BrandReports {
  return new BrandReports(stack, id, { settings: { brands }, ...props });
}

describe('two instances in one stack', () => {
  const stack = theirs();
  reportsIn(stack);
  reportsIn(stack, { name: 'orders-2' }, 'Second');
  const template = Template.fromStack(stack).toJSON();

  it('have no name in common', () => {
    const names = explicitNames(template.Resources);
    expect(names.length).toBeGreaterThan(20);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
    for (const name of names) expect(name).toMatch(/(Data|data|orders-2|orders_2)[-_"]/);
  });

  it.each<[string, Partial<BrandReportsProps>, string]>([
    [
      'a name that AWS refuses',
      { name: 'orders.2' },
      'cannot have the name "orders.2". Allowed: a letter, then letters',
    ],
    [
      'a name that is too long',
      { name: 'a'.repeat(39) },
      '38 at most, once in a stack: new BrandReports(this, "a name that is too long"',
    ],
  ])('are refused with %s', (name, props, message) => {
    expect(() => reportsIn(stack, props, name)).toThrow(message);
  });

  it('are refused by CDK with the same name', () => {
    const own = theirs();
    for (const id of ['First', 'Second']) reportsIn(own, { name: 'same' }, id);
    expect(() => Template.fromStack(own)).toThrow("section 'Outputs' already contains 'same");
  });

  it('need a name in a nested stack, because the name of the stack is unknown', () => {
    const nested = () => new NestedStack(theirs(), 'Nested');
    expect(() => reportsIn(nested())).toThrow('cannot have the name of a nested stack');
    reportsIn(nested(), { name: 'nested' });
  });
});

describe('existing resources of an app', () => {
  const stack = theirs();
  const bucket = new Bucket(stack, 'Lake', { encryptionKey: new Key(stack, 'Key') });
  const topic = new Topic(stack, 'Alerts');
  const vpc = new Vpc(stack, 'Vpc', { maxAzs: 1 });
  const reports = reportsIn(stack, { bucket, topic, database: databaseIn(stack, 'lake'), vpc });
  const template = Template.fromStack(stack);

  it('are used: bucket with its key, topic and database', () => {
    expect([reports.lakeBucket, reports.alarmTopic, reports.database]).toEqual([bucket, topic, 'lake']);
    template.resourceCountIs('AWS::S3::Bucket', 1);
    template.resourceCountIs('AWS::SNS::Topic', 1);
    template.allResourcesProperties('AWS::Lambda::Function', {
      Environment: { Variables: { DATABASE: 'lake' } },
    });
    const key = stack.resolve(bucket.encryptionKey?.keyArn);
    expect(statementsOf(template, 'ReportsSync')).toContainEqual(
      expect.objectContaining({ Action: ['kms:Decrypt', 'kms:GenerateDataKey'], Resource: key }),
    );
  });

  it('are used: each function runs in the VPC, and may connect to it', () => {
    for (const name of ['sync', 'watch'])
      template.hasResourceProperties('AWS::Lambda::Function', {
        FunctionName: `Data-${name}`,
        VpcConfig: { SubnetIds: [{ Ref: Match.stringLikeRegexp('PrivateSubnet') }] },
      });
    for (const part of ['Sync', 'Watch'])
      expect(JSON.stringify(statementsOf(template, `Reports${part}`))).toContain('CreateNetworkInterface');
  });

  it('are used instead of the settings, and not deleted', () => {
    const own = theirs();
    const given = {
      bucket: Bucket.fromBucketName(own, 'Given', 'given'),
      database: databaseIn(own, 'given'),
    };
    const deployment = { alarmEmail: 'a@acme.example' };
    const removalPolicy = RemovalPolicy.DESTROY;
    reportsIn(own, {
      ...given,
      topic: Topic.fromTopicArn(own, 'Alerts', 'arn:aws:sns:eu-central-1:123456789012:alerts'),
      removalPolicy,
      settings: { brands, deployment },
    });
    const used = Template.fromStack(own);
    used.allResourcesProperties('AWS::Lambda::Function', {
      Environment: { Variables: { LAKE_URL: 's3://given', DATABASE: 'given' } },
    });
    expect(JSON.stringify(used.toJSON())).not.toMatch(/AutoDelete|AWS::SNS::|kms:/);
  });
});

describe('a bucket of others', () => {
  const warningsOf = (given: (stack: Stack) => IBucket) => {
    const own = theirs();
    const bucket = given(own);
    reportsIn(own, { bucket, topic: new Topic(own, 'Alerts') });
    const found = Annotations.fromStack(own).findWarning('*', Match.anyValue());
    const ids = found.flatMap(({ entry }) => /brand-reports:\w+(?=\])/.exec(String(entry.data)) ?? []).sort();
    return { ids: ids.map((id) => id.replace('brand-reports:', '')), template: Template.fromStack(own) };
  };

  it('that was imported causes a warning that names what it must have', () => {
    expect(warningsOf((own) => Bucket.fromBucketName(own, 'Given', 'given')).ids).toEqual(['bucket']);
  });

  it('of the same app gets what it lacks, but versions', () => {
    const { ids, template } = warningsOf((own) => new Bucket(own, 'Given'));
    expect(ids).toEqual(['bucket']);
    template.hasResourceProperties('AWS::S3::Bucket', {
      LifecycleConfiguration: {
        Rules: Match.arrayWith([Match.objectLike({ Prefix: 'raw/', ExpirationInDays: 90 })]),
      },
    });
    const denied = JSON.stringify(template.findResources('AWS::S3::BucketPolicy'));
    expect(denied).toContain('"aws:SecureTransport":"false"');
    expect(denied).toContain('"s3:if-none-match":"true"');
    expect(warningsOf((own) => new Bucket(own, 'Given', { versioned: true })).ids).toEqual([]);
  });
});

describe('docs/how-to/use-your-bucket.md', () => {
  const page = readFileSync(new URL('../../docs/how-to/use-your-bucket.md', import.meta.url), 'utf8');
  const [rules = '', policy = ''] = [...page.matchAll(/```json\n(.*?)```/gs)].map(([, json = '']) => json);
  const template = Template.fromStack(stackOf({ brands }));
  const propertyOf = (type: string, property: string) => {
    const [found] = Object.values(template.findResources(type));
    const json = JSON.stringify(resolve(found?.Properties[property], {}));
    return z.parse(z.json(), JSON.parse(json.replaceAll(/<LakeBucket\w+\.Arn>/g, 'arn:aws:s3:::BUCKET')));
  };

  it('has every lifecycle rule of a new bucket', () => {
    const { Rules } = z.parse(rulesSchema, propertyOf('AWS::S3::Bucket', 'LifecycleConfiguration'));
    const expected = Rules.map(
      ({ Id, Prefix = '', ExpirationInDays, ExpiredObjectDeleteMarker, ...rule }) => ({
        ...{ ID: Id, Filter: { Prefix }, ...rule },
        ...(ExpirationInDays !== undefined && { Expiration: { Days: ExpirationInDays } }),
        ...(ExpiredObjectDeleteMarker && { Expiration: { ExpiredObjectDeleteMarker } }),
      }),
    );
    expect(JSON.parse(rules).Rules).toEqual(expect.arrayContaining(expected));
  });

  it('has the statements of a new bucket', () => {
    const { Statement } = z.parse(statementsSchema, propertyOf('AWS::S3::BucketPolicy', 'PolicyDocument'));
    const ours = Statement.filter(({ Condition }) => !JSON.stringify(Condition).includes('TlsVersion'));
    const sorted = (statements: z.infer<typeof statementsSchema>['Statement']) =>
      statements.map(({ Resource, ...rest }) => ({
        ...rest,
        Principal: null,
        Resource: [...Resource].sort(),
      }));
    expect(sorted(z.parse(statementsSchema, JSON.parse(policy)).Statement)).toEqual(sorted(ours));
  });
});

const rulesSchema = z.object({
  Rules: z.array(
    z.looseObject({
      Id: z.string(),
      Prefix: z.optional(z.string()),
      ExpirationInDays: z.optional(z.number()),
      ExpiredObjectDeleteMarker: z.optional(z.boolean()),
    }),
  ),
});
const statementsSchema = z.object({
  Statement: z.array(
    z.looseObject({ Condition: z.unknown(), Principal: z.unknown(), Resource: z.array(z.string()) }),
  ),
});

describe('grants', () => {
  const stack = theirs();
  const reports = reportsIn(stack);
  const role = (id: string) => new Role(stack, id, { assumedBy: new AccountRootPrincipal() });
  const [analyst, operator] = [role('Analyst'), role('Operator')];
  reports.grantQuery(analyst);
  reports.grantOperate(operator);

  it.each([
    ['queries', 'Analyst', 'ReportsAnalysts'],
    ['operates', 'Operator', 'ReportsOperators'],
  ])('give a person who %s the rights of the policy', (_name, person, policy) => {
    const template = Template.fromStack(stack);
    const granted = statementsOf(template, person);
    expect(granted).toEqual(statementsOf(template, policy, 'AWS::IAM::ManagedPolicy'));
  });
});

describe('a rule on published days', () => {
  const rulesOf = (eventPattern = {}) => {
    const stack = theirs();
    const reports = reportsIn(stack);
    const target = new SnsTopic(new Topic(stack, 'Days'));
    reports.onDayPublished('Published', { target, eventPattern });
    const [rule] = Object.values(Template.fromStack(stack).findResources('AWS::Events::Rule'));
    return { bucket: stack.resolve(reports.lakeBucket.bucketArn), ...rule?.Properties };
  };

  it('is about this lake alone, and starts the target', () => {
    const { bucket, EventPattern, Targets, EventBusName } = rulesOf();
    expect(EventPattern).toEqual({
      source: ['brand-reports'],
      'detail-type': ['Day Published'],
      resources: [bucket],
    });
    expect([Targets.length, EventBusName]).toEqual([1, undefined]);
  });

  it('adds the pattern of its options', () => {
    const more = { detailType: ['Day Changed'], detail: { report: ['order_list'] } };
    expect(rulesOf(more).EventPattern).toMatchObject({
      'detail-type': ['Day Changed', 'Day Published'],
      detail: { report: ['order_list'] },
    });
  });
});

/** Resources of which two may have the same name: queries have an id, and inline policies belong to a role. */
const UNNAMED = ['AWS::Athena::NamedQuery', 'AWS::IAM::Policy'];

const resourcesSchema = z.record(
  z.string(),
  z.object({ Type: z.string(), Properties: z.optional(z.record(z.string(), z.unknown())) }),
);

function explicitNames(resources: unknown): string[] {
  return Object.values(z.parse(resourcesSchema, resources)).flatMap(({ Type, Properties = {} }) => {
    const own = `${Type.split('::').at(-1)}Name`;
    const input = z.record(z.string(), z.unknown()).safeParse(Properties.DatabaseInput).data;
    const name = Properties[own] ?? Properties.Name ?? input?.Name;
    return name === undefined || UNNAMED.includes(Type) ? [] : [`${Type} ${JSON.stringify(name)}`];
  });
}

const policySchema = z.record(
  z.string(),
  z.object({
    Properties: z.object({
      PolicyDocument: z.object({ Statement: z.array(z.looseObject({ Action: z.unknown() })) }),
    }),
  }),
);

function statementsOf(template: Template, id: string, type = 'AWS::IAM::Policy') {
  return Object.entries(z.parse(policySchema, template.findResources(type))).flatMap(([each, policy]) =>
    each.startsWith(id) ? policy.Properties.PolicyDocument.Statement : [],
  );
}
