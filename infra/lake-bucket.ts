/*
 * Without these rules the bucket of the lake could lose what no run can make again. Documents change by compare-and-swap
 * (I5), and the bucket refuses every other write of them, whoever makes it: a copy by hand is not to undo a commit.
 * Versions keep what was there before, for two weeks of documents, and for a day of all else, which is made once and
 * never changed. The bucket outlives the stack, unless it was created by a deployment that failed.
 */
import { Aws, Duration, RemovalPolicy, Tags } from 'aws-cdk-lib';
import { Effect, PolicyStatement, StarPrincipal } from 'aws-cdk-lib/aws-iam';
import { BlockPublicAccess, Bucket, BucketEncryption, type LifecycleRule } from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';
import { OWNER_KEY } from '../shared/adapters/aws/owner.ts';
import {
  DOCUMENT_PREFIXES,
  OTHER_PREFIXES,
  QUERY_RESULTS_PREFIX,
  RAW_PREFIX,
  SETTINGS_PREFIX,
} from '../shared/lake/paths.ts';
import type { DeploymentSettings } from '../shared/settings/deployment.ts';
import { customerKey } from './key-grants.ts';

/** How long documents can be had back as they were. */
const DOCUMENT_VERSION_DAYS = 14;
const QUERY_RESULT_DAYS = 30;

/** The bucket of a lake that no other stack has created. */
export class LakeBucket extends Bucket {
  constructor(scope: Construct, id: string, { rawRetentionDays, keepLake, lakeKeyArn }: DeploymentSettings) {
    super(scope, id, {
      ...(lakeKeyArn === undefined
        ? { encryption: BucketEncryption.S3_MANAGED }
        : {
            encryption: BucketEncryption.KMS,
            encryptionKey: customerKey(scope, lakeKeyArn),
            // Otherwise S3 would call KMS, which is billed, for each object.
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
    // By it the next deployment knows its own bucket, where a setting says to adopt it.
    Tags.of(this).add(OWNER_KEY, Aws.STACK_ID);
    // I5: compare-and-swap for everybody. Deleting documents, and uploads of anything else, stay as they are.
    this.refuseWrites('CompareAndSwapOfDocuments', DOCUMENT_PREFIXES, {
      Null: { 's3:if-match': 'true', 's3:if-none-match': 'true' },
    });
    // Whoever writes settings decides where credentials are sent. A tag stands for the role of the deployment, because the
    // bucket outlives the stack, and another stack has another role. IAM takes a missing tag for one that is not equal.
    this.refuseWrites('SettingsByDeploymentsOnly', [SETTINGS_PREFIX], {
      StringNotEquals: { [`aws:PrincipalTag/${SETTINGS_WRITER.key}`]: SETTINGS_WRITER.value },
    });
    // Otherwise CloudFormation would remove the policy from the bucket that it retains.
    if (keepLake) this.policy?.applyRemovalPolicy(RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE);
  }

  /** To everybody whose request meets the conditions. */
  private refuseWrites(sid: string, prefixes: readonly string[], conditions: Record<string, unknown>): void {
    this.addToResourcePolicy(
      new PolicyStatement({
        sid,
        effect: Effect.DENY,
        principals: [new StarPrincipal()],
        actions: ['s3:PutObject'],
        resources: prefixes.map((prefix) => this.arnForObjects(`${prefix}*`)),
        conditions,
      }),
    );
  }
}

/** The tag of the role that writes settings. */
export const SETTINGS_WRITER = { key: 'brand-reports:writes', value: 'settings' } as const;

/** Of overlapping rules S3 obeys the shorter one, so that each prefix has a rule of its own. */
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
      // What the vacuum deletes leaves one behind, in which lists would search for nothing.
      expiredObjectDeleteMarker: true,
    },
  ];
}
