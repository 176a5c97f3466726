/*
 * The lake's bucket and the access to it. Every principal gets only the prefixes that it needs (shared/lake/paths.ts).
 * I3: no rule expires snapshots by age, so that no running query loses its files.
 */
import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Effect, PolicyStatement, StarPrincipal } from 'aws-cdk-lib/aws-iam';
import {
  BlockPublicAccess,
  Bucket,
  BucketEncryption,
  type IBucket,
  type LifecycleRule,
} from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import { configError } from '../shared/errors.ts';
import type { DeploymentSettings } from '../shared/settings/deployment.ts';
import {
  BRAND_PAGES_PREFIX,
  CATALOG_STAMP_KEY,
  COVERAGE_PAGE_KEY,
  ICEBERG_PREFIX,
  CLOSES_PREFIX,
  DOCUMENT_PREFIXES,
  LEDGERS_PREFIX,
  COVERAGE_TABLE,
  LEDGER_TABLES,
  OTHER_PREFIXES,
  QUERY_RESULTS_PREFIX,
  RATES_PREFIX,
  RAW_PREFIX,
  SCHEMAS_PREFIX,
  SNAPSHOTS_PREFIX,
  WATCH_KEY,
  brandClosesPrefix,
  brandPartitions,
  brandResultsPrefix,
  partitionPrefix,
  tablePrefix,
} from '../shared/lake/paths.ts';
import { type ReportRegistry, dayTables } from '../shared/reports/definition.ts';
import { type Conditions, type Grantee, allow, customerKey, grantKey } from './grants.ts';
import { output } from './names.ts';

export interface LakeProps {
  reports: ReportRegistry;
  deployment: DeploymentSettings;
  /** An existing bucket; missing: the stack creates one. */
  bucket?: IBucket | undefined;
}

const PAGES_OF_BRANDS = `${BRAND_PAGES_PREFIX}*`;

const READ = ['s3:GetObject'];
/** For documents, and tables made from ledgers: a conditional write needs to read too. Nothing deletes documents. */
const CHANGE = [...READ, 's3:PutObject'];
/** For snapshots, which may be large enough to be uploaded in parts, and for the vacuum. */
const UPLOAD = [...CHANGE, 's3:AbortMultipartUpload'];
const DELETE = ['s3:DeleteObject'];
/** For the results of queries, which Athena writes. */
const WRITE_RESULTS = [...UPLOAD, 's3:ListMultipartUploadParts'];

export class Lake extends Construct {
  readonly bucket: IBucket;
  readonly url: string;
  /** The variables by which a function finds the lake: its URL, and the account that must own the bucket. */
  readonly environment: { LAKE_URL: string; LAKE_OWNER: string };
  readonly queryResultsUrl: string;
  private readonly keyArn: string | undefined;
  private readonly keepLake: boolean;
  private readonly reports: ReportRegistry;
  private readonly ledgerTables = LEDGER_TABLES.map((table) => `${tablePrefix(table)}*`);

  constructor(scope: Construct, id: string, { reports, deployment, bucket }: LakeProps) {
    super(scope, id);
    const { keepLake, lakeKeyArn } = deployment;
    this.reports = reports;
    this.keyArn = lakeKeyArn ?? bucket?.encryptionKey?.keyArn;
    this.keepLake = keepLake;
    this.bucket = bucket ?? new LakeBucket(this, 'Bucket', deployment);
    if (bucket) this.refuseShared(bucket.bucketName);
    this.url = `s3://${this.bucket.bucketName}`;
    this.environment = { LAKE_URL: this.url, LAKE_OWNER: Stack.of(this).account };
    this.queryResultsUrl = `${this.url}/${QUERY_RESULTS_PREFIX}`;
    output(this, 'LakeUrl', { value: this.url, description: 'The lake' });
  }

  /** Refuses two deployments in one bucket: their watchers would overwrite the record and the page of each other. */
  private refuseShared(name: string): void {
    const other = this.node.root.node
      .findAll()
      .find((each) => each !== this && each instanceof Lake && each.bucket.bucketName === name);
    if (!other) return;
    throw configError(
      'shared_bucket',
      `${this.node.path} has the bucket of ${other.node.path}: a bucket contains the lake of one deployment. Name another bucket, or deploy all brands as one.`,
    );
  }

  /** Lets runs write everything but the closes and the documents of the watcher. */
  grantSync(grantee: Grantee): void {
    const tables = Object.values(this.reports).flatMap(dayTables);
    const snapshots = tables.map((table) => `${tablePrefix(table)}*`);
    this.grant(grantee, [...UPLOAD, ...DELETE], snapshots);
    this.grant(grantee, CHANGE, [`${tablePrefix(COVERAGE_TABLE)}*`]);
    this.grant(grantee, DELETE, this.ledgerTables);
    this.grant(grantee, [...CHANGE, ...DELETE], [`${RAW_PREFIX}*`, `${ICEBERG_PREFIX}*`]);
    this.grant(grantee, CHANGE, [`${LEDGERS_PREFIX}*`, `${SCHEMAS_PREFIX}*`, `${RATES_PREFIX}*`]);
    this.grantBucket(grantee, ['s3:ListBucket']);
    grantKey(grantee, this.keyArn, 's3', 'write');
  }

  grantWatch(grantee: Grantee): void {
    this.grant(grantee, READ, [`${SCHEMAS_PREFIX}*`, `${CLOSES_PREFIX}*`]);
    this.grant(grantee, CHANGE, [
      ...[`${LEDGERS_PREFIX}*`, `${ICEBERG_PREFIX}*`],
      ...[WATCH_KEY, CATALOG_STAMP_KEY],
    ]);
    this.grant(grantee, ['s3:PutObject'], [COVERAGE_PAGE_KEY, PAGES_OF_BRANDS]);
    this.grant(grantee, CHANGE, this.ledgerTables);
    this.grantBucket(grantee, ['s3:ListBucket']);
    grantKey(grantee, this.keyArn, 's3', 'write');
  }

  brandResultsUrl(brand: string): string {
    return `${this.url}/${brandResultsPrefix(brand)}`;
  }

  /** Lets a person open the status pages in the console of S3, which lists an object before it opens it. */
  grantReadPage(grantee: Grantee): void {
    this.grant(grantee, READ, [COVERAGE_PAGE_KEY, PAGES_OF_BRANDS]);
    this.grantListBelow(grantee, [COVERAGE_PAGE_KEY, PAGES_OF_BRANDS]);
    this.grantBucket(grantee, ['s3:GetBucketLocation']);
    grantKey(grantee, this.keyArn, 's3', 'read');
  }

  /**
   * Lets Athena read on behalf of a person of one brand. Each table is named, because the `*` of IAM spans `/` and
   * would match the brand anywhere in a key. Queries that reach the files of other brands fail.
   */
  grantQueryBrand(grantee: Grantee, brand: string): void {
    const tables = [...Object.values(this.reports).flatMap(dayTables), ...LEDGER_TABLES];
    const snapshots = tables.map((table) => `${partitionPrefix(table, brandPartitions(brand))}*`);
    const results = `${brandResultsPrefix(brand)}*`;
    this.grant(grantee, READ, [...snapshots, `${brandClosesPrefix(brand)}*`]);
    this.grant(grantee, WRITE_RESULTS, [results]);
    this.grantListBelow(grantee, [...snapshots, results]);
    this.grantBucket(grantee, ['s3:GetBucketLocation', 's3:ListBucketMultipartUploads']);
    grantKey(grantee, this.keyArn, 's3', 'write');
  }

  grantQuery(grantee: Grantee): void {
    this.grant(grantee, READ, [`${SNAPSHOTS_PREFIX}*`, `${CLOSES_PREFIX}*`, `${ICEBERG_PREFIX}*`]);
    this.grant(grantee, WRITE_RESULTS, [`${QUERY_RESULTS_PREFIX}*`]);
    this.grantBucket(grantee, ['s3:GetBucketLocation', 's3:ListBucket', 's3:ListBucketMultipartUploads']);
    grantKey(grantee, this.keyArn, 's3', 'write');
  }

  private grant(grantee: Grantee, actions: string[], prefixes: readonly string[]): void {
    // A bucket that the stack empties is emptied after the last writer lost access, including runs in progress.
    if (!this.keepLake) grantee.node.addDependency(this.bucket);
    // The names of objects are unknown beforehand: a prefix is the narrowest resource.
    const objects = prefixes.map((prefix) => this.bucket.arnForObjects(prefix));
    allow(grantee, actions, objects);
  }

  private grantListBelow(grantee: Grantee, prefixes: string[]): void {
    this.grantBucket(grantee, ['s3:ListBucket'], { StringLike: { 's3:prefix': prefixes } });
  }

  /** For actions on whole buckets. A condition on the prefix would make S3 answer 403 instead of 404 for a missing key. */
  private grantBucket(grantee: Grantee, actions: string[], conditions?: Conditions): void {
    allow(grantee, actions, [this.bucket.bucketArn], conditions);
  }
}

const DOCUMENT_VERSION_DAYS = 14;
const QUERY_RESULT_DAYS = 30;

/**
 * Protects the objects of the lake that no run can rebuild. Documents change by compare-and-swap (I5). The bucket
 * refuses every other write of a document, whoever sends it, so that a copy by hand cannot undo a commit. S3 keeps
 * replaced documents for two weeks. It keeps other deleted objects for a day; these are written once and never changed.
 * The bucket outlives the stack, unless a deployment that failed created it.
 */
class LakeBucket extends Bucket {
  constructor(scope: Construct, id: string, { rawRetentionDays, keepLake, lakeKeyArn }: DeploymentSettings) {
    super(scope, id, {
      ...(lakeKeyArn === undefined
        ? { encryption: BucketEncryption.S3_MANAGED }
        : {
            encryption: BucketEncryption.KMS,
            encryptionKey: customerKey(scope, lakeKeyArn),
            // Without a bucket key S3 would call KMS for each object, and KMS bills each call.
            bucketKeyEnabled: true,
          }),
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      enforceSSL: true,
      minimumTLSVersion: 1.2,
      versioned: true,
      ...(keepLake
        ? { removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE }
        : { removalPolicy: RemovalPolicy.DESTROY, autoDeleteObjects: true }),
      lifecycleRules: lifecycle(rawRetentionDays),
    });
    // I5: compare-and-swap for everybody. Deletions of documents, and uploads of other objects, are not restricted.
    this.addToResourcePolicy(
      new PolicyStatement({
        sid: 'CompareAndSwapOfDocuments',
        effect: Effect.DENY,
        principals: [new StarPrincipal()],
        actions: ['s3:PutObject'],
        resources: DOCUMENT_PREFIXES.map((prefix) => this.arnForObjects(`${prefix}*`)),
        conditions: { Null: { 's3:if-match': 'true', 's3:if-none-match': 'true' } },
      }),
    );
    // Otherwise CloudFormation would remove the policy from the bucket that it keeps.
    if (keepLake) this.policy?.applyRemovalPolicy(RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE);
  }
}

/** Each prefix has its own rule: if rules overlap, S3 obeys the shorter one. */
function lifecycle(rawRetentionDays: number): LifecycleRule[] {
  const expiration = new Map([
    [RAW_PREFIX, Duration.days(rawRetentionDays)],
    [QUERY_RESULTS_PREFIX, Duration.days(QUERY_RESULT_DAYS)],
  ]);
  const versionsOf = (prefix: string, days: number): LifecycleRule => ({
    id: prefix.replace(/\/$/, ''),
    prefix,
    ...(expiration.has(prefix) && { expiration: expiration.get(prefix) }),
    noncurrentVersionExpiration: Duration.days(days),
  });
  return [
    ...DOCUMENT_PREFIXES.map((prefix) => versionsOf(prefix, DOCUMENT_VERSION_DAYS)),
    ...OTHER_PREFIXES.map((prefix) => versionsOf(prefix, 1)),
    {
      id: 'leftovers',
      abortIncompleteMultipartUploadAfter: Duration.days(1),
      // A deleted object leaves a delete marker, which slows down listings.
      expiredObjectDeleteMarker: true,
    },
  ];
}
