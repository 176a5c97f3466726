import * as z from 'zod/mini';
import { integer, number, object, oneOf, oneOfNumbers, text } from '../validation/input.ts';

/** The periods that CloudWatch Logs accepts, up to ten years. */
const LOG_RETENTION_DAYS = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
];

const ROLE_NAMES = 'a list of names of IAM roles, without paths and ARNs';

/** How the stack is deployed. Nothing here changes what is read from the service. */
export type DeploymentSettings = z.output<ReturnType<typeof deploymentSchema>>;

/** The schema of the settings of a deployment. */
export function deploymentSchema() {
  const bool = () => z.boolean({ error: 'true, false' });
  const schema = object({
    /** False: the functions are started by hand only, and no watcher looks at what they leave. */
    schedules: z._default(bool(), true),
    /** After how many days raw records are removed. */
    rawRetentionDays: z._default(integer(7, 3650), 90),
    logRetentionDays: z._default(oneOfNumbers(...LOG_RETENTION_DAYS), 90),
    /** False: destroying the stack destroys the lake and everything in it. */
    keepLake: z._default(bool(), true),
    /** An existing bucket, e.g. one that an earlier stack left; missing: the stack creates one. */
    adoptBucket: z.optional(
      text("a bucket's name, without s3://", (name) =>
        /^(?!.*\.\.)(?!\d+(\.\d+){3}$)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(name),
      ),
    ),
    /** An existing Glue database; missing: the stack creates one. */
    adoptDatabase: z.optional(
      text('the name of a Glue database: lower-case letters, digits and "_"', (name) =>
        /^[a-z0-9_]{1,255}$/.test(name),
      ),
    ),
    /** A key of KMS, by its ARN, that encrypts bucket, query results, logs, queues and topic; missing: keys of AWS. */
    lakeKeyArn: z.optional(keyArn()),
    /** The key of KMS, by its ARN, that encrypts the brands' secrets; missing: the one of Secrets Manager. */
    secretsKeyArn: z.optional(keyArn()),
    /** Who may use new tables: principals that IAM allows, or only those with a grant in Lake Formation. */
    tablePermissions: z._default(oneOf('iam', 'lake_formation'), 'iam'),
    /** Instances reserved for each report's function, which are also its maximum; missing: none. */
    reservedConcurrency: z.optional(integer(1, 100)),
    /** Months that a backfill reads at the same time. */
    backfillConcurrency: z._default(integer(1, 20), 2),
    /** Who receives alarms and the watcher's messages. */
    alarmEmail: z.optional(
      text('an e-mail address, e.g. ops@example.com', (mail) => /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(mail)),
    ),
    /** An existing topic that receives them instead; missing: the stack creates one. */
    alarmTopicArn: z.optional(
      text('the ARN of an SNS topic, e.g. arn:aws:sns:eu-central-1:123456789012:alerts', (arn) =>
        /^arn:aws[\w-]*:sns:[a-z\d-]+:\d{12}:[\w-]{1,256}$/.test(arn),
      ),
    ),
    /** Names of roles in the account that get the analysts' policy. */
    analystRoles: z.optional(roleNames()),
    /** Names of roles in the account that get the operators' policy. */
    operatorRoles: z.optional(roleNames()),
    /** By brand: names of roles in the account that may read this brand and no other. */
    brandAccess: z.optional(
      z.record(z.string(), roleNames(), { error: 'an object that holds roles by brand' }),
    ),
    /** How much data one query in the workgroup may read. */
    queryScanLimitGb: z._default(number(0.01, 100_000, 'a number of GB from 0.01 to 100000'), 100),
  });
  return schema.check(({ value: { adoptBucket, keepLake, alarmEmail, alarmTopicArn }, issues }) => {
    if (adoptBucket !== undefined && !keepLake) {
      const message = 'true where adoptBucket names a bucket: the stack never deletes what it adopts';
      issues.push({ code: 'custom', path: ['keepLake'], input: keepLake, message });
    }
    if (alarmEmail !== undefined && alarmTopicArn !== undefined) {
      const message = 'alarmEmail or alarmTopicArn: whoever owns the topic subscribes to it';
      issues.push({ code: 'custom', path: ['alarmEmail'], input: alarmEmail, message });
    }
  });
}

/** Each of them gets a policy of the stack. */
export function roleNames() {
  return z
    .array(
      text(ROLE_NAMES, (name) => /^[\w+=,.@-]{1,64}$/.test(name)),
      { error: ROLE_NAMES },
    )
    .check(
      z.refine((names) => new Set(names).size === names.length, { error: 'each role once' }),
      z.refine((names) => names.length <= 10, { error: '10 roles at most' }),
    );
}

/** By its ARN, because a role can be granted the use of a key, and not of an alias. */
function keyArn() {
  return text('the ARN of a key of KMS: arn:aws:kms:REGION:ACCOUNT:key/ID', (arn) =>
    /^arn:aws[\w-]*:kms:[a-z0-9-]+:\d{12}:key\/(mrk-[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.test(
      arn,
    ),
  );
}
