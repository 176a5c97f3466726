import * as z from 'zod/mini';
import { intervalMs } from '../base/days.ts';
import { bool, integer, like, number, object } from './input.ts';

export const HOURLY = 'rate(1 hour)';
const RATE = /^rate\(([1-9]\d{0,4} (?:minute|hour|day)s?)\)$/;
const RATES = 'a rate of 1 to 99999 minutes, hours or days: rate(15 minutes), rate(6 hours), rate(1 day)';
const ROLE_NAMES = 'a list of names of IAM roles, without paths and ARNs';

/** What CDK has is a prop of the construct instead. Nothing here changes what is read from the service. */
export type DeploymentSettings = z.output<ReturnType<typeof deploymentSchema>>;

export function deploymentSchema() {
  return object({
    schedule: z._default(like(RATES, RATE), HOURLY),
    /** False: people start the functions by hand only, and there is no watcher. */
    schedules: z._default(bool(), true),
    rawRetentionDays: z._default(integer(7, 3650), 90),
    brandsAtOnce: z._default(integer(1, 40), 5),
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
      error: 'no role of IAM Identity Center: name the policy in its permission set',
    }),
  );
  return z.array(role, { error: ROLE_NAMES }).check(
    z.refine((roles) => new Set(roles).size === roles.length, { error: 'each role once' }),
    z.refine((roles) => roles.length <= 10, { error: '10 roles at most' }),
  );
}

/** `rate(6 hours)` in milliseconds. @param schedule a checked setting */
export function rateMs(schedule: string): number {
  return intervalMs(RATE.exec(schedule)?.[1] ?? schedule);
}
