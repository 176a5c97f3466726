/**
 * The life of a deployment, in which every function does whatever it ever does: so each permission of its role is used,
 * and each call is one that its role allows. What no such life can use is in `UNEXERCISED`, with the reason.
 */
import * as z from 'zod/mini';
import { restate } from '../../sample/brand.ts';
import { DAY_MS, addDays, dayOf } from '../../shared/days.ts';
import { reports } from '../../shared/reports/index.ts';
import { startHttpServer } from '../fakes/http-server.ts';
import type { Deployment } from '../functions/deployed.ts';
import { type Permission, covers } from './policy.ts';

/** Permissions that are there for a reason that no run of the functions shows. */
export const UNEXERCISED: readonly { action: RegExp; resource: RegExp; reason: string }[] = [
  {
    action: /^logs:(CreateLogStream|PutLogEvents)$/,
    resource: /Logs/,
    reason: 'Lambda itself writes what a function prints, by the role of the function',
  },
  {
    action: /^sqs:(SendMessage|GetQueueAttributes|GetQueueUrl)$/,
    resource: /Failed/,
    reason: 'Lambda itself sends an event that failed to the queue, by the role of the function',
  },
  {
    action: /^s3:AbortMultipartUpload$/,
    resource: /^arn:aws:s3:::lake\/snapshots\/(?!coverage)/,
    reason:
      'only an object larger than 5 MB is uploaded in parts; test/adapters/aws/s3-store.test.ts breaks one off',
  },
];

/** A function, a permission of its role, and how often it was used. */
export interface Usage extends Permission {
  name: string;
  calls: number;
  /** Why it is there although nothing used it. */
  reason?: string;
}

export async function exercise(deployment: Deployment): Promise<void> {
  const { sample, invoke } = deployment;
  const now = new Date();
  const cloudFormation = await startHttpServer((_request, _body, response) => response.end());
  const deploy = (RequestType: 'Create' | 'Update' | 'Delete', value: unknown) =>
    invoke('rebuild-catalog', {
      RequestType,
      ResponseURL: `${cloudFormation.url}/answer`,
      StackId: 'stack',
      RequestId: 'request',
      LogicalResourceId: 'resource',
      ResourceProperties: {
        nonce: now.toISOString(),
        testEvents: deployment.functions.map(({ name }) => ({
          functionName: `BrandReports-${name}`,
          events: [{ name: 'event', value: JSON.stringify(value) }],
        })),
      },
    });
  // As after a catalog that someone removed.
  const removeTables = () => deployment.glue.tables.clear();
  const day = addDays(dayOf(now.getTime(), 'UTC'), -2);

  await deploy('Create', {});
  await invoke('order_list', { check: true });
  for (const work of [() => backfillAll(deployment, day), () => syncAll(deployment)]) {
    removeTables();
    await work();
    restateOrders(sample, day);
    leaveOver(deployment, now, day);
    await work();
  }
  await invoke('calendar', {});
  removeTables();
  await deploy('Update', { changed: true });
  // As after partitions that someone pointed elsewhere.
  for (const { partitions } of deployment.glue.tables.values())
    for (const [path, partition] of partitions)
      partitions.set(path, { ...partition, StorageDescriptor: { Location: 's3://elsewhere/' } });
  await invoke('rebuild-catalog', {});
  await deploy('Delete', {});
  await cloudFormation.close();
}

async function syncAll({ invoke }: Deployment): Promise<void> {
  for (const report of Object.keys(reports)) {
    const { answer } = await invoke(report, { requestsPerSecond: 1000 });
    if (JSON.stringify(answer).includes('"failed"')) throw new Error(`${report}: ${JSON.stringify(answer)}`);
  }
}

const planned = z.object({ answer: z.object({ items: z.array(z.unknown()) }) });

async function backfillAll({ invoke }: Deployment, day: string): Promise<void> {
  for (const report of Object.keys(reports)) {
    const plan = { report, brand: 'acme', from: day, to: day };
    const { answer } = z.parse(planned, await invoke('backfill', { plan, execution: 'this', running: [] }));
    for (const item of answer.items) await invoke('backfill', item);
  }
}

let restated = 0;

function restateOrders(sample: Deployment['sample'], day: string): void {
  restated += 1;
  for (const brand of Object.values(sample.brands))
    restate(brand, 'order_list', day, (held) =>
      held.map(({ at, record }) => ({ at, record: { ...record, [`new_${restated}`]: restated } })),
    );
}

/** What dead runs left under every prefix days ago, and no vacuum since. */
function leaveOver({ s3 }: Deployment, now: Date, day: string): void {
  const modifiedAt = new Date(now.getTime() - 10 * DAY_MS);
  for (const { name, table } of Object.values(reports))
    for (const key of [
      `snapshots/${table}/brand=acme/dt=${day}/left-over/part-0000.parquet`,
      `snapshots/coverage/brand=acme/report=${name}/month=${day.slice(0, 7)}/left-over/part-0000.parquet`,
      `raw/${name}/brand=acme/dt=${day}/left-over/progress.json`,
    ])
      s3.objects.set(key, { body: Buffer.from('left over'), etag: '"left-over"', modifiedAt });
  // Without the hint of the last vacuum the next run begins one.
  for (const key of [...s3.objects.keys()]) if (key.endsWith('/index.json')) s3.objects.delete(key);
}

/** Each permission of each function with how often the recorded calls used it. */
export function usageOf({ functions, calls }: Pick<Deployment, 'functions' | 'calls'>): Usage[] {
  return functions.flatMap(({ name, role, permissions }) =>
    permissions.map((permission) => {
      const used = calls.filter((call) => call.role === role && covers(permission, call)).length;
      const exception = UNEXERCISED.find(
        ({ action, resource }) => action.test(permission.action) && resource.test(permission.resource),
      );
      return { name, ...permission, calls: used, ...(exception && { reason: exception.reason }) };
    }),
  );
}
