import { Duration, RemovalPolicy, Validations } from 'aws-cdk-lib';
import { Grant } from 'aws-cdk-lib/aws-iam';
import { BlockPublicAccess, Bucket, BucketEncryption, type IBucket } from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import type { DeploymentSettings } from '../shared/settings/deployment.ts';
import {
  COVERAGE_TABLE,
  LEDGERS_PREFIX,
  QUERY_RESULTS_PREFIX,
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
const PUT = [...READ, 's3:PutObject', 's3:AbortMultipartUpload'];
const WRITE = [...PUT, 's3:DeleteObject'];

/** The bucket that holds snapshots, raw records, ledgers, schemas and query results; it outlives the stack. */
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
      // Nothing in the lake is overwritten but its small documents, and a sweep removes what it means to remove.
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
    // CloudFormation would take the rule "TLS only" from the bucket that it leaves behind.
    if (keepLake) bucket.policy?.applyRemovalPolicy(RemovalPolicy.RETAIN);
    Validations.of(bucket).acknowledge({
      id: 'AwsSolutions-S1',
      reason:
        'Server access logs cost more than the lake itself and name no reader that CloudTrail would not; whoever must audit reads turns on CloudTrail data events.',
    });
    return bucket;
  }

  /** What a run of these reports reads and writes. */
  grantReports(grantee: Grantee, reports: readonly ReportDefinition[]): void {
    const written = reports.flatMap(({ name, table }) => [
      `${tablePrefix(table)}*`,
      `${partitionPrefix(COVERAGE_TABLE, coveragePartition('*', name))}*`,
      `${reportRawPrefix(name)}*`,
      `${reportLedgersPrefix(name)}*`,
      schemaKey(table),
    ]);
    const parents = reports.flatMap(({ day }) => {
      const parent = day.by === 'upstream' ? this.reports[day.report] : undefined;
      return parent && !reports.includes(parent)
        ? [`${tablePrefix(parent.table)}*`, `${reportLedgersPrefix(parent.name)}*`]
        : [];
    });
    this.grant(grantee, WRITE, written);
    this.grant(grantee, READ, parents);
    this.grantList(grantee);
  }

  /** What makes the catalog again out of the lake: ledgers, which note what was switched, and schemas. */
  grantRebuild(grantee: Grantee): void {
    this.grant(grantee, PUT, [`${LEDGERS_PREFIX}*`, `${tablePrefix(COVERAGE_TABLE)}*`]);
    this.grant(grantee, READ, [`${SCHEMAS_PREFIX}*`]);
    this.grantList(grantee);
  }

  grantReadLedgers(grantee: Grantee): void {
    this.grant(grantee, READ, [`${LEDGERS_PREFIX}*`]);
    this.grantList(grantee);
  }

  /** What Athena reads and writes on behalf of a person: current and superseded snapshots, and results. */
  grantQuery(grantee: Grantee): void {
    this.grant(grantee, READ, [`${SNAPSHOTS_PREFIX}*`]);
    this.grant(grantee, [...PUT, 's3:ListMultipartUploadParts'], [`${QUERY_RESULTS_PREFIX}*`]);
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
      'Objects are made under names that are not known before: a prefix is as narrow as it gets.',
    );
  }

  /** Listing is allowed without a condition on the prefix: where it is not, S3 answers a missing key with 403. */
  private grantList(grantee: Grantee): void {
    Grant.addToPrincipal({ grantee, actions: ['s3:ListBucket'], resourceArns: [this.bucket.bucketArn] });
  }
}
