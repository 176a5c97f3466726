/**
 * Simulates the life of a deployment, in which every function does everything that it can do. So each permission of its
 * role is used, and each call is allowed by its role. `UNEXERCISED` lists the permissions that no such life can use,
 * with the reason.
 */
import { DAY_MS, addDays, dayOf } from '../../shared/base/days.ts';
import { isJsonObject } from '../../shared/base/json.ts';
import { LEDGER_TABLES, beforeTable, closeKey, schemaKey } from '../../shared/lake/paths.ts';
import { dayTables } from '../../shared/reports/definition.ts';
import { reports } from '../../shared/reports/index.ts';
import type { Deployment } from '../functions/deployed.ts';
import { type Permission, covers } from './policy.ts';

/** Permissions that exist for a reason that no run of the functions shows. */
export const UNEXERCISED: readonly { name?: string; action: RegExp; resource: RegExp; reason: string }[] = [
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
    action: /^s3:DeleteObject$/,
    resource: /^arn:aws:s3:::lake\/iceberg\//,
    reason:
      'metadata is deleted days after its snapshots: test/catalog/iceberg/publish.slow.test.ts lets them pass',
  },
  {
    action: /^s3:AbortMultipartUpload$/,
    resource: /^arn:aws:s3:::lake\/snapshots\/(?!coverage)/,
    reason:
      'only an object larger than 5 MB is uploaded in parts; test/adapters/aws/s3-store.test.ts breaks one off',
  },
  {
    name: 'sync',
    action: /^glue:GetPartitions$/,
    resource: /table\/brand_reports\/closes$/,
    reason: 'a vacuum looks for the partitions of closes; the watcher makes their table with the first close',
  },
];

export interface Usage extends Permission {
  name: string;
  calls: number;
  /** The reason of a permission that nothing used. */
  reason?: string;
}

export async function exercise(deployment: Deployment): Promise<void> {
  const { sample, invoke } = deployment;
  const now = new Date();
  // As after somebody deleted a catalog.
  const removeTables = () => {
    deployment.glue.tables.clear();
    deployment.glue.icebergTables.clear();
  };
  // Old enough for a backfill at every hour: just after midnight the schedule still reads the day before yesterday.
  const day = addDays(dayOf(now.getTime(), 'UTC'), -3);

  await invoke('sync', { check: true });
  const ofDay = { brand: 'acme', from: day, to: day };
  for (const event of [ofDay, {}]) {
    removeTables();
    await sync(deployment, event);
    await sync(deployment, event);
    // A change of a day is written with the earlier changes.
    for (let changes = 0; changes < 2; changes += 1) {
      addField(sample);
      leaveOver(deployment, now, day);
      damageTables(deployment);
      await sync(deployment, event);
    }
  }
  // In a lake where other reports have discovered their columns, because views over several tables need these columns.
  for (const [report, { table }] of Object.entries(reports)) {
    removeTables();
    forgetColumns(deployment, table);
    await sync(deployment, { ...ofDay, reports: [report] });
    damageTables(deployment);
    forgetColumns(deployment, table);
    leaveOver(deployment, now, day);
    await sync(deployment, { ...ofDay, reports: [report] });
    await sync(deployment, { ...ofDay, reports: [report], rebuild: true });
  }
  // The first writer of a lake stores the number of its format.
  await inEmptyLake(deployment, () => sync(deployment, ofDay));
  await watchTwice(deployment);
  removeTables();
  await invoke('watch', { rebuildCatalog: true });
  damageTables(deployment);
  forgetPublications(deployment);
  leaveClosedDay(deployment);
  await invoke('watch', { rebuildCatalog: true });
  // The function reads Iceberg metadata only if the tables point at metadata of this lake.
  await invoke('watch', { rebuildCatalog: true });
}

/** The watcher reports a run that failed. It may read a news document only if it has reported news. */
async function watchTwice({ invoke, s3, sns }: Deployment): Promise<void> {
  for (const [key, stored] of s3.objects) {
    if (!key.endsWith('/state.json')) continue;
    const at = new Date().toISOString();
    const lastRun = {
      at,
      since: at,
      status: 'failed',
      kind: 'config',
      code: 'x',
      message: 'x',
      failedDays: 0,
    };
    const document = JSON.parse(stored.body.toString());
    const reports = Object.entries<object>(document.reports).map(([name, state]) => [
      name,
      { ...state, lastRun },
    ]);
    const body = Buffer.from(JSON.stringify({ ...document, reports: Object.fromEntries(reports) }));
    s3.objects.set(key, { ...stored, body });
  }
  await invoke('watch', {});
  await invoke('watch', {});
  if (sns.published.length !== 1) throw new Error(`the watcher sent ${sns.published.length} times`);
}

async function sync({ invoke }: Deployment, event: object): Promise<void> {
  const { answer } = await invoke('sync', event);
  if (JSON.stringify(answer).includes('"failed"')) throw new Error(JSON.stringify(answer));
}

/** Afterwards the lake is unchanged. */
async function inEmptyLake({ s3 }: Deployment, work: () => Promise<unknown>): Promise<void> {
  const held = [...s3.objects];
  s3.objects.clear();
  await work();
  s3.objects.clear();
  for (const [key, stored] of held) s3.objects.set(key, stored);
}

let fields = 0;

function addField(sample: Deployment['sample']): void {
  fields += 1;
  for (const { records } of Object.values(sample.brands))
    for (const held of Object.values(records))
      for (const one of held) one.record = { ...one.record, [`new_${fields}`]: fields };
}

/** As after somebody changed tables and views by hand, and pointed partitions elsewhere. */
function damageTables({ glue }: Deployment): void {
  for (const stored of glue.icebergTables.values())
    stored.table = { ...stored.table, Parameters: { metadata_location: 's3://elsewhere/metadata.json' } };
  for (const stored of glue.tables.values()) {
    const { StorageDescriptor, ViewOriginalText } = stored.table;
    const { Columns } = isJsonObject(StorageDescriptor) ? StorageDescriptor : {};
    if (!isJsonObject(StorageDescriptor) || !Array.isArray(Columns)) continue;
    stored.table = {
      ...stored.table,
      StorageDescriptor: { ...StorageDescriptor, Columns: Columns.slice(0, -1) },
      ...(ViewOriginalText !== undefined && { ViewOriginalText: 'of an earlier version' }),
    };
    for (const [path, partition] of stored.partitions)
      stored.partitions.set(path, { ...partition, StorageDescriptor: { Location: 's3://elsewhere/' } });
  }
}

/** As before the first run of the report. */
function forgetColumns({ s3 }: Deployment, table: string): void {
  s3.objects.delete(schemaKey(table));
}

/** As after runs that died between a commit and its publication. */
function forgetPublications({ s3 }: Deployment): void {
  for (const [key, stored] of s3.objects) {
    if (!key.startsWith('ledger/')) continue;
    const body = Buffer.from(stored.body.toString().replaceAll('"published":true', '"published":false'));
    s3.objects.set(key, { ...stored, body });
  }
}

/** As after a close was removed without the name of the database. */
function leaveClosedDay({ glue }: Deployment): void {
  const Location = 's3://lake/snapshots/closes/brand=acme/report=order_list/month=2020-01/old/';
  const Values = ['acme', 'order_list', '2020-01'];
  glue.tables.get('closes')?.partitions.set(Values.join('/'), { Values, StorageDescriptor: { Location } });
}

/** Leftovers of dead runs under every prefix, some days old, without a vacuum since. */
function leaveOver({ s3 }: Deployment, now: Date, day: string): void {
  for (const report of Object.values(reports)) {
    const { name, table } = report;
    for (const [id, days] of [
      ['older', 11],
      ['old', 10],
    ] as const)
      for (const key of [
        ...dayTables(report).map((of) => `snapshots/${of}/brand=acme/dt=${day}/${id}/part-0000.parquet`),
        // What records of a day that has just changed were before stays.
        `snapshots/${beforeTable(table)}/brand=acme/dt=${addDays(day, -40)}/${id}/part-0000.parquet`,
        ...LEDGER_TABLES.map(
          (made) =>
            `snapshots/${made}/brand=acme/report=${name}/month=${day.slice(0, 7)}/${id}/part-0000.parquet`,
        ),
        `raw/${name}/brand=acme/dt=${day}/${id}/progress.json`,
      ])
        s3.objects.set(key, {
          body: Buffer.from('left over'),
          etag: '"left-over"',
          modifiedAt: new Date(now.getTime() - days * DAY_MS),
        });
  }
  // A vacuum that finds an object lists the closes, and so does the page of these months.
  const month = day.slice(0, 7);
  const close = {
    brand: 'acme',
    month,
    closedAt: now.toISOString(),
    by: 'jo',
    recentWrites: [],
  };
  s3.objects.set(closeKey('acme', month), {
    body: Buffer.from(
      JSON.stringify({
        ...close,
        sources: {},
        totals: [],
        days: [],
        exceptions: [],
        faults: [],
        erased: [],
      }),
    ),
    ...{ etag: '"close"', modifiedAt: now },
  });
  // Without the time of the last vacuum, the next run starts a vacuum.
  for (const key of [...s3.objects.keys()]) if (key.endsWith('/state.json')) s3.objects.delete(key);
}

/** Each permission of each function, with how often the recorded calls used it. */
export function usageOf({ functions, calls }: Pick<Deployment, 'functions' | 'calls'>): Usage[] {
  return functions.flatMap(({ name, role, permissions }) =>
    permissions.map((permission) => {
      const used = calls.filter((call) => call.role === role && covers(permission, call)).length;
      const exception = UNEXERCISED.find(
        ({ name: only = name, action, resource }) =>
          only === name && action.test(permission.action) && resource.test(permission.resource),
      );
      return { name, ...permission, calls: used, ...(exception && { reason: exception.reason }) };
    }),
  );
}
