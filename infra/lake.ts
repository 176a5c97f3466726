/*
 * Without a bucket that outlives the stack, `cdk destroy` would delete years of reports: it is retained unless
 * `keepLake` is false, and `adoptBucket` uses it again. Every principal gets the prefixes that it needs and no others:
 * a report's function its own, the rebuild the ledgers, analysts the snapshots. All prefixes are in
 * shared/lake/paths.ts. I3: nothing expires snapshots by age, so that no running query loses its files.
 */
import { Duration, RemovalPolicy, Validations } from 'aws-cdk-lib';
import { Grant } from 'aws-cdk-lib/aws-iam';
import { BlockPublicAccess, Bucket, BucketEncryption, type IBucket } from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import type { DeploymentSettings } from '../shared/settings/deployment.ts';
import {
  COVERAGE_TABLE,
  LEDGERS_PREFIX,
  QUERY_RESULTS_PREFIX,
  RATES_PREFIX,
  RAW_PREFIX,
  SCHEMAS_PREFIX,
  SNAPSHOTS_PREFIX,
  coveragePartition,
  partitionPrefix,
  reportLedgersPrefix,
  reportRawPrefix,
  schemaKey,
  tablePrefix,
} from '../shared/lake/paths.ts';
import type { ReportDefinition, ReportRegistry } from '../shared/reports/definition.ts';
import { acknowledgeWildcards, type Grantee } from './acknowledge-wildcards.ts';
import { output } from './output.ts';

export interface LakeProps {
  reports: ReportRegistry;
  deployment: DeploymentSettings;
}

const READ = ['s3:GetObject'];
/** Documents: a conditional write needs to read too. Nothing deletes them. */
const CHANGE = [...READ, 's3:PutObject'];
/** Snapshots, which may be so large that they are uploaded in parts, and what vacuum deletes. */
const UPLOAD = [...CHANGE, 's3:AbortMultipartUpload'];
const DELETE = ['s3:DeleteObject'];

/** The bucket of snapshots, raw records, ledgers, schemas and query results, and who may do what in it. */
export class Lake extends Construct {
  readonly bucket: IBucket;
  readonly url: string;
  readonly queryResultsUrl: string;
  private readonly reports: ReportRegistry;

  constructor(scope: Construct, id: string, { reports, deployment }: LakeProps) {
    super(scope, id);
    const { adoptBucket } = deployment;
    this.reports = reports;
    this.bucket =
      adoptBucket === undefined
        ? this.newBucket(deployment)
        : Bucket.fromBucketName(this, 'Bucket', adoptBucket);
    this.url = `s3://${this.bucket.bucketName}`;
    this.queryResultsUrl = `${this.url}/${QUERY_RESULTS_PREFIX}`;
    output(this, 'LakeUrl', { value: this.url, description: 'The lake' });
  }

  private newBucket({ rawRetentionDays, keepLake }: DeploymentSettings): Bucket {
    const bucket = new Bucket(this, 'Bucket', {
      encryption: BucketEncryption.S3_MANAGED,
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      enforceSSL: true,
      minimumTLSVersion: 1.2,
      // Only the small documents of the lake are overwritten, and what vacuum deletes should be gone.
      versioned: false,
      ...(keepLake
        ? { removalPolicy: RemovalPolicy.RETAIN }
        : { removalPolicy: RemovalPolicy.DESTROY, autoDeleteObjects: true }),
      lifecycleRules: [
        { id: 'raw-records', prefix: RAW_PREFIX, expiration: Duration.days(rawRetentionDays) },
        { id: 'query-results', prefix: QUERY_RESULTS_PREFIX, expiration: Duration.days(30) },
        { id: 'unfinished-uploads', abortIncompleteMultipartUploadAfter: Duration.days(1) },
      ],
    });
    // Otherwise CloudFormation would remove the policy "TLS only" from the bucket that it retains.
    if (keepLake) bucket.policy?.applyRemovalPolicy(RemovalPolicy.RETAIN);
    Validations.of(bucket).acknowledge({
      id: 'AwsSolutions-S1',
      reason:
        'Server access logs cost more than the lake itself, and CloudTrail data events, where reads must be audited, name the same readers.',
    });
    return bucket;
  }

  /** For runs of these reports: their own prefixes, the rates of the brands, and reading those of upstream reports. */
  grantReports(grantee: Grantee, reports: readonly ReportDefinition[]): void {
    const snapshots = reports.map(({ table }) => `${tablePrefix(table)}*`);
    const coverage = reports.map(
      ({ name }) => `${partitionPrefix(COVERAGE_TABLE, coveragePartition('*', name))}*`,
    );
    const raw = reports.map(({ name }) => `${reportRawPrefix(name)}*`);
    const documents = reports.flatMap(({ name, table }) => [
      `${reportLedgersPrefix(name)}*`,
      schemaKey(table),
    ]);
    const upstreams = reports.flatMap(({ day }) => {
      const upstream = day.by === 'upstream' ? this.reports[day.report] : undefined;
      return upstream && !reports.includes(upstream)
        ? [`${tablePrefix(upstream.table)}*`, `${reportLedgersPrefix(upstream.name)}*`]
        : [];
    });
    this.grant(grantee, [...UPLOAD, ...DELETE], snapshots);
    // Coverage follows from the ledgers: nobody who writes it reads it.
    this.grant(grantee, ['s3:PutObject', ...DELETE], coverage);
    this.grant(grantee, [...CHANGE, ...DELETE], raw);
    this.grant(grantee, CHANGE, [...documents, `${RATES_PREFIX}*`]);
    this.grant(grantee, READ, upstreams);
    this.grantList(grantee);
  }

  /** For rebuilding the catalog: ledgers, which record what is published, coverage and schemas. */
  grantRebuild(grantee: Grantee): void {
    this.grant(grantee, CHANGE, [`${LEDGERS_PREFIX}*`]);
    this.grant(grantee, ['s3:PutObject'], [`${tablePrefix(COVERAGE_TABLE)}*`]);
    this.grant(grantee, READ, [`${SCHEMAS_PREFIX}*`]);
    this.grantList(grantee);
  }

  grantReadLedgers(grantee: Grantee): void {
    this.grant(grantee, READ, [`${LEDGERS_PREFIX}*`]);
    this.grantList(grantee);
  }

  /** For Athena on behalf of a person: current and superseded snapshots (I3), and query results. */
  grantQuery(grantee: Grantee): void {
    this.grant(grantee, READ, [`${SNAPSHOTS_PREFIX}*`]);
    this.grant(grantee, [...UPLOAD, 's3:ListMultipartUploadParts'], [`${QUERY_RESULTS_PREFIX}*`]);
    Grant.addToPrincipal({
      grantee,
      actions: ['s3:GetBucketLocation', 's3:ListBucket', 's3:ListBucketMultipartUploads'],
      resourceArns: [this.bucket.bucketArn],
    });
  }

  private grant(grantee: Grantee, actions: string[], prefixes: readonly string[]): void {
    if (prefixes.length === 0) return;
    const resourceArns = prefixes.map((prefix) => this.bucket.arnForObjects(prefix));
    Grant.addToPrincipal({ grantee, actions, resourceArns });
    acknowledgeWildcards(
      grantee,
      resourceArns,
      'The names of objects are not known before: a prefix is the narrowest resource.',
    );
  }

  /** Without a condition on the prefix: otherwise S3 answers 403 for a missing key instead of 404. */
  private grantList(grantee: Grantee): void {
    Grant.addToPrincipal({ grantee, actions: ['s3:ListBucket'], resourceArns: [this.bucket.bucketArn] });
  }
}
