/*
 * Protects the objects of the lake that no run can rebuild. Documents change by compare-and-swap (I5). The bucket
 * refuses every other write of a document, whoever sends it, so that a copy by hand cannot undo a commit. S3 keeps
 * replaced documents for two weeks. It keeps other deleted objects for a day; these are written once and never changed.
 * The bucket outlives the stack, unless a deployment that failed created it.
 */
import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { Effect, PolicyStatement, StarPrincipal } from 'aws-cdk-lib/aws-iam';
import { BlockPublicAccess, Bucket, BucketEncryption, type LifecycleRule } from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';
import { DOCUMENT_PREFIXES, OTHER_PREFIXES, QUERY_RESULTS_PREFIX, RAW_PREFIX } from '../shared/lake/paths.ts';
import type { DeploymentSettings } from '../shared/settings/deployment.ts';
import { customerKey } from './grants.ts';

const DOCUMENT_VERSION_DAYS = 14;
const QUERY_RESULT_DAYS = 30;

export class LakeBucket extends Bucket {
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
