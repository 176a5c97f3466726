import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { App, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { AwsSolutionsChecks } from 'cdk-nag';
import * as z from 'zod/mini';
import { BrandReports, type BrandReportsProps } from '../../infra/brand-reports.ts';
import { ACME, databaseIn, keysIn } from './stack.ts';

const reportSchema = z.object({
  pluginReports: z.array(
    z.object({
      violations: z.array(
        z.object({
          ruleName: z.string(),
          violatingConstructs: z.array(z.object({ constructPath: z.string() })),
        }),
      ),
    }),
  ),
});

const folder = mkdtempSync(join(tmpdir(), 'brand-reports-nag-'));
afterAll(() => rmSync(folder, { recursive: true }));

/**
 * Accepted findings, each with its reason. The ids of constructs end in a hash, and an adopted bucket has no construct.
 */
const ACCEPTED: readonly (readonly [finding: RegExp, reason: string])[] = [
  [
    /^AwsSolutions-S1 at BrandReports\/Default\/Lake\/Bucket\//,
    'Server access logs cost more than the lake itself, and CloudTrail data events, where reads must be audited, name the same readers.',
  ],
  [
    /^AwsSolutions-SQS3 at BrandReports\/Default\/Failed\//,
    'It is a dead-letter queue itself: nothing consumes its messages.',
  ],
  [
    wildcard(String.raw`(<LakeBucket\w+\.Arn>|arn:<AWS::Partition>:s3:::a-lake)/[a-z-]+/.*\*[a-z.]*`, '.+'),
    'The names of objects are unknown beforehand: a prefix is the narrowest resource.',
  ],
  [
    wildcard(String.raw`arn:.*:secretsmanager:.*:secret:brand-reports/\*`, '.+'),
    'The secrets of all brands: a new brand changes no policy.',
  ],
  [
    wildcard(
      String.raw`arn:.*:table/(<CatalogDatabase\w+>|<CatalogIceberg\w+>|lake)/\*`,
      '((Analysts|BrandPeople)/Policy|Watch/Role/DefaultPolicy)',
    ),
    'All tables of these two databases: reports may be added later.',
  ],
  [
    wildcard(String.raw`arn:.*:glue:.*:database/\*`, '(Analysts|BrandPeople)/Policy'),
    'Names of databases only: their tables stay closed.',
  ],
  [
    wildcard(String.raw`\*`, '(Analysts|BrandPeople)/Policy'),
    'Athena and Lake Formation have no narrower resource for these actions.',
  ],
  [
    wildcard(String.raw`\*`, 'Operators/Policy'),
    'Lists of the console, each named with its page in people.ts: AWS has no narrower resource.',
  ],
  [
    wildcard(String.raw`arn:.*:(states|logs):.*:(execution|mapRun|log-group).*\*`, 'Operators/Policy'),
    'The names of executions and log groups begin with a name of the stack.',
  ],
  [
    wildcard(
      String.raw`<\w+Function\w+\.Arn>:\*`,
      String.raw`(SchedulerRoleForTarget-\w+|Backfill/StateMachine/Role)/DefaultPolicy`,
    ),
    'The role starts the function under any of its versions, and nothing else.',
  ],
  [
    wildcard(String.raw`\*`, 'Backfill/StateMachine/Role/DefaultPolicy'),
    'Log deliveries have no resources that a policy could name.',
  ],
  [
    /^AwsSolutions-SF2 at BrandReports\/(Default\/)?Backfill\/StateMachine\/Resource$/,
    'X-Ray is billed and shows nothing that the log of each step does not.',
  ],
  [
    wildcard('arn:.*:states:.*:execution:.*', 'Backfill/StateMachine/.+'),
    'The state machine reads and controls its own executions, whose names are unknown beforehand.',
  ],
];

/** A policy that names the resource with a `*`. @param path of the policy, below the stack or its construct */
function wildcard(resource: string, path: string): RegExp {
  return new RegExp(
    String.raw`^AwsSolutions-IAM5\[Resource::${resource}\] at BrandReports/(Default/)?${path}/Resource$`,
  );
}

/** Findings of the AWS Solutions rules without an accepted reason. */
function findings(
  name: string,
  settings: object,
  props: (stack: Stack) => Partial<BrandReportsProps>,
): string[] {
  const outdir = join(folder, name);
  const app = new App({ outdir, context: { 'aws:cdk:bundling-stacks': [] } });
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  const stack = new Stack(app, 'BrandReports');
  new BrandReports(stack, 'Default', { settings, ...props(stack) });
  try {
    app.synth();
  } catch {
    // The findings are in the report.
  }
  const report = z.parse(
    reportSchema,
    JSON.parse(readFileSync(join(outdir, 'validation-report.json'), 'utf8')),
  );
  return report.pluginReports.flatMap(({ violations }) =>
    violations.flatMap(({ ruleName, violatingConstructs }) =>
      violatingConstructs
        .map(({ constructPath }) => `${ruleName} at ${constructPath}`)
        .filter((finding) => !ACCEPTED.some(([accepted]) => accepted.test(finding))),
    ),
  );
}

describe('the AWS Solutions rules', () => {
  it.each<[string, object, (stack: Stack) => Partial<BrandReportsProps>]>([
    ['the sample settings', {}, () => ({})],
    [
      'a lake that is deleted with the stack',
      { deployment: { alarmEmail: 'a@b.example' } },
      () => ({ removalPolicy: RemovalPolicy.DESTROY }),
    ],
    [
      'every report, keys of the customer, and people of one brand',
      {
        brands: { acme: { ...ACME, reports: { clicks_detail: { enabled: true } } } },
        deployment: { brandRoles: ['AcmeTeam'] },
      },
      keysIn,
    ],
  ])('find nothing without a reason in a stack with %s', (name, settings, props) => {
    expect(findings(name, { brands: { acme: ACME }, ...settings }, props)).toEqual([]);
  });

  it('find nothing without a reason in a stack with an adopted bucket and database', () => {
    const adopted = (stack: Stack) => ({
      bucket: Bucket.fromBucketName(stack, 'Existing', 'a-lake'),
      database: databaseIn(stack, 'lake'),
    });
    expect(findings('adopted', { brands: { acme: ACME } }, adopted)).toEqual([]);
  });
});
