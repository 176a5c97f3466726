import * as z from 'zod/mini';
import { bool, integer, like, number, object, oneOf } from '../validation/input.ts';
import { HOURLY, RATE, RATES } from './schedule.ts';

/** The periods that CloudWatch Logs accepts, up to ten years. */
const LOG_RETENTION_DAYS = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
];

const ROLE_NAMES = 'a list of names of IAM roles, without paths and ARNs';

/** How the stack is deployed. Nothing here changes what is read from the service. */
export type DeploymentSettings = z.output<ReturnType<typeof deploymentSchema>>;

export function deploymentSchema() {
  return object({
    schedule: z._default(like(RATES, RATE), HOURLY),
    /** False: people start the functions by hand only, and there is no watcher. */
    schedules: z._default(bool(), true),
    rawRetentionDays: z._default(integer(7, 3650), 90),
    logRetentionDays: z._default(z.literal(LOG_RETENTION_DAYS, { error: LOG_RETENTION_DAYS.join(', ') }), 90),
    /** False: destroying the stack destroys the lake and everything in it. */
    keepLake: z._default(bool(), true),
    /** A key of KMS, by its ARN, that encrypts bucket, query results, logs, queues and topic; missing: keys of AWS. */
    lakeKeyArn: z.optional(keyArn()),
    /** The key of KMS, by its ARN, that encrypts the brands' secrets; missing: the key of Secrets Manager. */
    secretsKeyArn: z.optional(keyArn()),
    /** Who may use new tables: all principals that IAM allows, or only principals with a grant in Lake Formation. */
    tablePermissions: z._default(oneOf('iam', 'lake_formation'), 'iam'),
    brandsAtOnce: z._default(integer(1, 40), 5),
    /** Instances reserved for the function that reads, which are also its maximum; missing: none. */
    reservedConcurrency: z.optional(integer(1, 100)),
    alarmEmail: z.optional(like('an e-mail address, e.g. ops@example.com', /^[^\s@]+@[^\s@]+\.[^\s@]+$/)),
    analystRoles: z.optional(roleNames()),
    operatorRoles: z.optional(roleNames()),
    /** Roles that may read the brand in their tag `brand` and no other. */
    brandRoles: z.optional(roleNames()),
    queryScanLimitGb: z._default(number(0.01, 100_000, 'a number of GB from 0.01 to 100000'), 100),
  });
}

export function roleNames() {
  const role = like(ROLE_NAMES, /^[\w+=,.@-]{1,64}$/).check(
    // Only IAM Identity Center may change such a role: the deployment would fail.
    z.refine((name) => !name.startsWith('AWSReservedSSO_'), {
      error:
        'no role of IAM Identity Center: name the policy in its permission set (docs/how-to/give-people-access.md#roles-of-iam-identity-center)',
    }),
  );
  return z.array(role, { error: ROLE_NAMES }).check(
    z.refine((roles) => new Set(roles).size === roles.length, { error: 'each role once' }),
    z.refine((roles) => roles.length <= 10, { error: '10 roles at most' }),
  );
}

/** By its ARN, because a role can be granted the use of a key, but not of an alias. */
function keyArn() {
  return like(
    'the ARN of a key of KMS: arn:aws:kms:REGION:ACCOUNT:key/ID',
    /^arn:aws[\w-]*:kms:[a-z0-9-]+:\d{12}:key\/(mrk-[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/,
  );
}
