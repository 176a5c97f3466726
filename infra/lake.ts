/*
 * The lake's bucket and the access to it. Every principal gets only the prefixes that it needs (shared/lake/paths.ts).
 * I3: no rule expires snapshots by age, so that no running query loses its files.
 */
import { Annotations, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Effect, PolicyStatement, StarPrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import {
  BlockPublicAccess,
  Bucket,
  BucketEncryption,
  CfnBucket,
  type IBucket,
  type LifecycleRule,
} from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import type { Settings } from '../shared/settings/settings.ts';
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
  LEASES_PREFIX,
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
import type { Deployment } from './deployment.ts';
import { type Conditions, type Grantee, allow, grantKey } from './grants.ts';
import { output } from './names.ts';

export interface LakeProps {
  reports: ReportRegistry;
  deployment: Deployment;
  catalogs: Settings['catalogs'];
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

const ANALYST_RESULTS_PREFIX = `${QUERY_RESULTS_PREFIX}analysts/`;

/** The brand of whoever sends a request: a variable of IAM, so that one policy serves any number of brands. */
const BRAND_TAG = 'aws:PrincipalTag/brand';
const TAGGED_BRAND = `\${${BRAND_TAG}}`;
/**
 * The tag exists and is one part of a key. IAM refuses the wildcards of its patterns in tags, but allows "/". These
 * conditions do not rely on it: `${*}` is a literal star.
 */
const HAS_BRAND: Conditions = {
  StringLike: { [BRAND_TAG]: '?*' },
  StringNotLike: { [BRAND_TAG]: ['*/*', ...['*', '?', '$'].map((sign) => `*\${${sign}}*`)] },
};

export class Lake extends Construct {
  readonly bucket: IBucket;
  readonly url: string;
  /** The variables by which a function finds the lake: its URL, and the account that must own the bucket. */
  readonly environment: { LAKE_URL: string; LAKE_OWNER: string };
  /** The place of results of analysts, apart from the results of people of one brand. */
  readonly analystResultsUrl: string;
  /** The key of the bucket, and the key of query results. */
  private readonly keys: ReadonlySet<IKey | undefined>;
  private readonly keepLake: boolean;
  private readonly reports: ReportRegistry;
  /** The objects of the Iceberg tables, if the settings name them. */
  private readonly iceberg: readonly string[];
  private readonly ledgerTables = LEDGER_TABLES.map((table) => `${tablePrefix(table)}*`);

  constructor(scope: Construct, id: string, { reports, deployment, catalogs, bucket }: LakeProps) {
    super(scope, id);
    this.reports = reports;
    this.keys = new Set([bucket?.encryptionKey, deployment.encryptionKey]);
    // An existing bucket is always kept.
    this.keepLake = bucket !== undefined || deployment.keepLake;
    this.iceberg = catalogs.includes('iceberg') ? [`${ICEBERG_PREFIX}*`] : [];
    this.bucket = bucket ?? new LakeBucket(this, 'Bucket', deployment);
    if (bucket) completeBucket(this, bucket, deployment);
    this.url = `s3://${this.bucket.bucketName}`;
    this.environment = { LAKE_URL: this.url, LAKE_OWNER: Stack.of(this).account };
    this.analystResultsUrl = `${this.url}/${ANALYST_RESULTS_PREFIX}`;
    output(this, 'LakeUrl', { value: this.url, description: 'The lake' });
  }

  /** Lets runs write everything but the closes and the documents of the watcher. */
  grantSync(grantee: Grantee): void {
    const tables = Object.values(this.reports).flatMap(dayTables);
    const snapshots = tables.map((table) => `${tablePrefix(table)}*`);
    this.grant(grantee, [...UPLOAD, ...DELETE], snapshots);
    this.grant(grantee, CHANGE, [`${tablePrefix(COVERAGE_TABLE)}*`]);
    this.grant(grantee, DELETE, this.ledgerTables);
    this.grant(grantee, [...CHANGE, ...DELETE], [`${RAW_PREFIX}*`, ...this.iceberg]);
    this.grant(grantee, CHANGE, [`${LEDGERS_PREFIX}*`, `${SCHEMAS_PREFIX}*`, `${LEASES_PREFIX}*`]);
    this.grantBucket(grantee, ['s3:ListBucket']);
    this.grantKeys(grantee, 'write');
  }

  grantWatch(grantee: Grantee): void {
    this.grant(grantee, READ, [`${SCHEMAS_PREFIX}*`, `${CLOSES_PREFIX}*`]);
    this.grant(grantee, CHANGE, [
      ...[`${LEDGERS_PREFIX}*`, ...this.iceberg],
      ...[WATCH_KEY, CATALOG_STAMP_KEY],
    ]);
    this.grant(grantee, ['s3:PutObject'], [COVERAGE_PAGE_KEY, PAGES_OF_BRANDS]);
    this.grant(grantee, CHANGE, this.ledgerTables);
    this.grantBucket(grantee, ['s3:ListBucket']);
    this.grantKeys(grantee, 'write');
  }

  /** Lets a person open the status pages in the console of S3, which lists an object before it opens it. */
  grantReadPage(grantee: Grantee): void {
    this.grant(grantee, READ, [COVERAGE_PAGE_KEY, PAGES_OF_BRANDS]);
    this.grantListBelow(grantee, [COVERAGE_PAGE_KEY, PAGES_OF_BRANDS]);
    this.grantBucket(grantee, ['s3:GetBucketLocation']);
    this.grantKeys(grantee, 'read');
  }

  /**
   * Lets Athena read on behalf of a person of the brand that the tag `brand` names. Each table is named, because the
   * `*` of IAM spans `/` and would match the brand anywhere in a key. Queries that reach the files of other brands
   * fail. Nothing lists unfinished uploads: their keys would contain the ids of other brands' queries.
   */
  grantQueryBrand(grantee: Grantee): void {
    const tables = [...Object.values(this.reports).flatMap(dayTables), ...LEDGER_TABLES];
    const snapshots = tables.map((table) => `${partitionPrefix(table, brandPartitions(TAGGED_BRAND))}*`);
    const results = `${brandResultsPrefix(TAGGED_BRAND)}*`;
    this.grant(grantee, READ, [...snapshots, `${brandClosesPrefix(TAGGED_BRAND)}*`], HAS_BRAND);
    this.grant(grantee, WRITE_RESULTS, [results], HAS_BRAND);
    this.grantListBelow(grantee, [...snapshots, results], HAS_BRAND);
    this.grantBucket(grantee, ['s3:GetBucketLocation'], HAS_BRAND);
    this.grantKeys(grantee, 'write');
  }

  grantQuery(grantee: Grantee): void {
    this.grant(grantee, READ, [`${SNAPSHOTS_PREFIX}*`, `${CLOSES_PREFIX}*`, ...this.iceberg]);
    this.grant(grantee, WRITE_RESULTS, [`${ANALYST_RESULTS_PREFIX}*`]);
    this.grantBucket(grantee, ['s3:GetBucketLocation', 's3:ListBucket', 's3:ListBucketMultipartUploads']);
    this.grantKeys(grantee, 'write');
  }

  private grant(
    grantee: Grantee,
    actions: string[],
    prefixes: readonly string[],
    conditions?: Conditions,
  ): void {
    // A bucket that the stack empties is emptied after the last writer lost access, including runs in progress.
    if (!this.keepLake) grantee.node.addDependency(this.bucket);
    // The names of objects are unknown beforehand: a prefix is the narrowest resource.
    const objects = prefixes.map((prefix) => this.bucket.arnForObjects(prefix));
    allow(grantee, actions, objects, conditions);
  }

  private grantKeys(grantee: Grantee, use: 'read' | 'write'): void {
    for (const key of this.keys) grantKey(grantee, key, 's3', use);
  }

  private grantListBelow(grantee: Grantee, prefixes: string[], conditions: Conditions = {}): void {
    const StringLike = { ...conditions.StringLike, 's3:prefix': prefixes };
    this.grantBucket(grantee, ['s3:ListBucket'], { ...conditions, StringLike });
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
  constructor(scope: Construct, id: string, { rawRetentionDays, keepLake, encryptionKey }: Deployment) {
    super(scope, id, {
      encryption: encryptionKey === undefined ? BucketEncryption.S3_MANAGED : BucketEncryption.KMS,
      encryptionKey,
      // Without a bucket key S3 would call KMS for each object, and KMS bills each call.
      bucketKeyEnabled: encryptionKey === undefined ? undefined : true,
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      enforceSSL: true,
      minimumTLSVersion: 1.2,
      versioned: true,
      ...(keepLake
        ? { removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE }
        : { removalPolicy: RemovalPolicy.DESTROY, autoDeleteObjects: true }),
      lifecycleRules: lifecycle(rawRetentionDays),
    });
    this.addToResourcePolicy(compareAndSwap(this));
    // Otherwise CloudFormation would remove the policy from the bucket that it keeps.
    if (keepLake) this.policy?.applyRemovalPolicy(RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE);
  }
}

/** I5: compare-and-swap for everybody. Deletions of documents, and uploads of other objects, are not restricted. */
function compareAndSwap(bucket: IBucket): PolicyStatement {
  return new PolicyStatement({
    sid: 'CompareAndSwapOfDocuments',
    effect: Effect.DENY,
    principals: [new StarPrincipal()],
    actions: ['s3:PutObject'],
    resources: DOCUMENT_PREFIXES.map((prefix) => bucket.arnForObjects(`${prefix}*`)),
    conditions: { Null: { 's3:if-match': 'true', 's3:if-none-match': 'true' } },
  });
}

/** Adds to a bucket of the same app what it lacks, but versions. What a bucket must have and may lack is one warning. */
function completeBucket(scope: Construct, bucket: IBucket, { rawRetentionDays }: Deployment): void {
  for (const statement of [withoutTls(bucket), compareAndSwap(bucket)]) bucket.addToResourcePolicy(statement);
  if (bucket instanceof Bucket) {
    for (const rule of lifecycle(rawRetentionDays)) bucket.addLifecycleRule(rule);
    const { defaultChild } = bucket.node;
    if (defaultChild instanceof CfnBucket && defaultChild.versioningConfiguration) return;
  }
  Annotations.of(scope).addWarningV2(
    'brand-reports:bucket',
    `The bucket ${bucket.node.path} must keep versions, delete ${RAW_PREFIX} after ${rawRetentionDays} days, and old versions, and refuse requests without TLS and writes of documents without a condition: docs/how-to/use-your-bucket.md. Then acknowledge this warning: Annotations.of(stack).acknowledgeWarning('brand-reports:bucket').`,
  );
}

function withoutTls(bucket: IBucket): PolicyStatement {
  return new PolicyStatement({
    effect: Effect.DENY,
    principals: [new StarPrincipal()],
    actions: ['s3:*'],
    resources: [bucket.bucketArn, bucket.arnForObjects('*')],
    conditions: { Bool: { 'aws:SecureTransport': 'false' } },
  });
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
