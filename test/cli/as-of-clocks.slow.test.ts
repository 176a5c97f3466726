/** Publications and changes have the machine's time, whatever the service's clock or `--now` shows. */
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { query, resultObjects } from '../../cli/query-result.ts';
import { createSqlConnection } from '../../cli/sql-tables.ts';
import { restate } from '../../sample/brand.ts';
import { openLocalStore } from '../../shared/adapters/local/store.ts';
import { MINUTE_MS } from '../../shared/days.ts';
import { rollBack } from '../../shared/operations/rollback.ts';
import { orders } from '../../shared/reports/orders.ts';
import { reports } from '../../shared/reports/index.ts';
import { writeLake } from '../fakes/lake-on-disk.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { ledgerEntry } from '../sync/lake-contents.ts';
import { type SampleLake, sampleLake } from '../sync/sample-lake.ts';

const DAY = '2026-03-08';
const ORDERS = 'SELECT dt, count(*) AS rows, max(status) AS status FROM orders GROUP BY dt ORDER BY dt';
const scope = { reports: ['order_list'] };

/** A moment between two commands, with the results of queries at that moment. */
interface Moment {
  atMs: number;
  found: unknown[];
}

let temporary: Awaited<ReturnType<typeof temporaryFolder>>;
let sample: SampleLake;
beforeAll(async () => {
  temporary = await temporaryFolder();
  sample = await sampleLake({ now: '2026-03-10T15:00:00Z', startDate: DAY });
});
afterAll(async () => {
  await sample.close();
  await temporary.remove();
});

async function ask(lake: SampleLake, sql: string, asOf?: number): Promise<unknown[]> {
  const folder = await mkdtemp(join(temporary.path, 'lake-'));
  await writeLake(lake.store, folder);
  const asked = { store: openLocalStore(folder), reports, settings: undefined, nowMs: lake.nowMs };
  const connection = await createSqlConnection({ ...asked, asOf }, sql);
  const rows = await Array.fromAsync(resultObjects(await query(connection, sql)));
  connection.closeSync();
  return JSON.parse(JSON.stringify(rows));
}

function setStatus(lake: SampleLake, status: string): void {
  restate(lake.brand, 'order_list', DAY, (held) =>
    held.map(({ at, record }) => ({ at, record: { ...record, status } })),
  );
}

/** Reads, rolls back and reads again, a few seconds apart, and keeps the results of queries between the commands. */
async function historyOf(lake: SampleLake): Promise<Moment[]> {
  const moments: Moment[] = [];
  const look = async () => {
    lake.nowMs += 2_000;
    moments.push({ atMs: lake.nowMs, found: await ask(lake, ORDERS) });
    lake.nowMs += 2_000;
  };
  const read = async () => {
    expect((await lake.sync({ scope: { ...scope, from: DAY, to: DAY } })).status).toBe('complete');
    await look();
  };
  moments.push({ atMs: lake.nowMs, found: [] });
  lake.nowMs += 2_000;
  expect((await lake.sync({ scope })).status).toBe('complete');
  const first = (await ledgerEntry(lake, 'order_list', DAY)).committed?.snapshot ?? '';
  await look();
  setStatus(lake, 'x');
  await read();
  await rollBack({ ...lake.access(), settings: lake.settings(), report: orders, day: DAY }, first);
  await look();
  setStatus(lake, 'y');
  await read();
  return moments;
}

it.each<[string, number]>([
  ['4 minutes ahead', 4 * MINUTE_MS],
  ['4 minutes behind', -4 * MINUTE_MS],
])('as-of queries return the earlier results if the clock of the service is %s', async (_name, skewMs) => {
  const lake = sample.emptyLake();
  const mend = lake.service.addFault({ on: {}, fault: { kind: 'skewed_clock', skewMs } });
  const moments = await historyOf(lake);
  mend();
  const [before, ...later] = moments;
  await expect(ask(lake, ORDERS, before?.atMs)).rejects.toThrow(/had no version .*: --as-of 2026/);
  for (const { atMs, found } of later) expect(await ask(lake, ORDERS, atMs)).toEqual(found);
  expect(moments.map(({ found }) => found.length)).toEqual([0, 3, 3, 3, 3]);
  const changes = await ask(lake, "SELECT epoch_ms(changed_at) AS ms FROM changes WHERE what = 'day'");
  const between = moments.slice(1).filter(({ atMs }, index) => {
    const ms = Number(Object(changes[index]).ms);
    return ms > atMs && ms < (moments[index + 2]?.atMs ?? 0);
  });
  expect([changes.length, between.length]).toEqual([3, 3]);
});
