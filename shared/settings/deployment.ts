import * as z from 'zod/mini';
import { integer, number, object, oneOf, oneOfNumbers, text } from '../validation/input.ts';

/** How the stack is deployed; nothing here changes what is read or written. */
export interface DeploymentSettings {
  /** Off: the functions are there to be started by hand only, and nothing alarms on what they did not do. */
  schedules: boolean;
  /** After how many days raw records are removed. */
  rawRetentionDays: number;
  logRetentionDays: number;
  /** False: destroying the stack destroys the lake with all that is in it. */
  keepLake: boolean;
  /** A bucket that is there already, e.g. one that an earlier stack left; missing: the stack makes one. */
  adoptBucket?: string;
  /** A Glue database that is there already; missing: the stack makes one. */
  adoptDatabase?: string;
  /** Who may use new tables: everybody whom IAM allows, or only whom Lake Formation grants it. */
  tablePermissions: 'iam' | 'lake_formation';
  /** Instances that each report's function keeps for itself, which is also the most it gets; missing: none. */
  reservedConcurrency?: number;
  /** Months that a backfill reads at the same time. */
  backfillConcurrency: number;
  alarmEmail?: string;
  /** A report is stale when its newest complete day ended longer ago than this. */
  staleAfterHours: number;
  /** What one query in the workgroup may read. */
  queryScanLimitGb: number;
}

/** The periods that CloudWatch Logs knows, up to ten years. */
const LOG_RETENTION_DAYS = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
];

export function deploymentSchema() {
  const bool = () => z.boolean({ error: 'true, false' });
  return object({
    schedules: z._default(bool(), true),
    rawRetentionDays: z._default(integer(7, 3650), 90),
    logRetentionDays: z._default(oneOfNumbers(...LOG_RETENTION_DAYS), 90),
    keepLake: z._default(bool(), true),
    adoptBucket: z.optional(
      text("a bucket's name, without s3://", (name) =>
        /^(?!.*\.\.)(?!\d+(\.\d+){3}$)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(name),
      ),
    ),
    adoptDatabase: z.optional(
      text('a Glue database: lower-case letters, digits and "_"', (name) => /^[a-z0-9_]{1,255}$/.test(name)),
    ),
    tablePermissions: z._default(oneOf('iam', 'lake_formation'), 'iam'),
    reservedConcurrency: z.optional(integer(1, 100)),
    backfillConcurrency: z._default(integer(1, 20), 2),
    alarmEmail: z.optional(text('an e-mail address', (mail) => /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(mail))),
    staleAfterHours: z._default(
      number(26, 720, 'hours, from 26 to 720: a day is complete only when it is over'),
      30,
    ),
    queryScanLimitGb: z._default(number(0.01, 100_000, 'a number of GB from 0.01 to 100000'), 100),
  });
}
