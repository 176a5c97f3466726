import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { closeSums } from '../../cli/close-sums.ts';
import { createSqlConnection } from '../../cli/sql-tables.ts';
import { restate } from '../../sample/brand.ts';
import { openLocalStore } from '../../shared/adapters/local/store.ts';
import { DAY_MS } from '../../shared/base/days.ts';
import type { JsonObject } from '../../shared/base/json.ts';
import { closeMonth } from '../../shared/operations/close-month.ts';
import { reports } from '../../shared/reports/index.ts';
import { writeLake } from '../fakes/lake-on-disk.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { type SampleLake, sampleLake } from '../sync/sample-lake.ts';

const [JAN31, FEB1, FEB2] = ['2026-01-31', '2026-02-01', '2026-02-02'];
const OTHER_FIELD = { reports: { order_list: { fields: { commission: 'fee' } } } };

let temporary: Awaited<ReturnType<typeof temporaryFolder>>;
let lake: SampleLake;
let folder: string;
let template: JsonObject;

function orders(day: string, own: readonly JsonObject[]): void {
  const fixed = { status: 'effective', type: 'trans', currency: 'USD', publisher_id: 'A' };
  const at = Date.parse(`${day}T15:00:00Z`);
  restate(lake.brand, 'order_list', day, () =>
    own.map((record) => ({ at, record: { ...template, ...fixed, ...record } })),
  );
}

async function sync(brandSettings: JsonObject = {}): Promise<void> {
  lake.nowMs += DAY_MS;
  const scope = { reports: ['order_list'], from: JAN31, to: FEB2, acceptFewer: true };
  expect((await lake.sync({ brandSettings, scope })).status).toBe('complete');
}

async function close(month: string): Promise<void> {
  folder = `${temporary.path}/${month}`;
  await writeLake(lake.store, folder);
  const access = { ...lake.access(), settings: lake.settings(), sums: closeSums(openLocalStore(folder)) };
  await closeMonth({ ...access, month, anyway: true, by: 'ann' });
}

beforeAll(async () => {
  temporary = await temporaryFolder();
  lake = await sampleLake({
    now: '2026-02-03T12:00:00Z',
    startDate: JAN31,
    recordsTo: '2026-02-02T00:00:00Z',
    clicksPerDay: 4,
    brandSettings: { snapshotRetentionDays: 1 },
  });
  template = lake.brand.records.order_list[0]?.record ?? {};
  orders(JAN31, [
    { transid: 'o1', commission: '10' },
    { transid: 'o2', commission: '5' },
  ]);
  orders(FEB1, [{ transid: 'o3', commission: '1' }]);
  orders(FEB2, []);
  await sync();
  lake.nowMs = Date.parse('2026-03-01T12:00:00Z');
  await close('2026-01');
  orders(JAN31, [
    { transid: 'o1', commission: '20', found_later: 'x', fee: '7' },
    { transid: 'o4', commission: '1' },
  ]);
  await sync();
  lake.nowMs = Date.parse('2026-03-05T12:00:00Z');
  await close('2026-02');
  orders(JAN31, []);
  orders(FEB1, [{ transid: 'o3', commission: '1', fee: '2' }]);
  for (let readings = 0; readings < 4; readings += 1) await sync(OTHER_FIELD);
  folder = `${temporary.path}/now`;
  await writeLake(lake.store, folder);
});
afterAll(async () => {
  await lake.close();
  await temporary.remove();
});

async function ask(sql: string, asOf?: string, lines: string[] = []): Promise<unknown[][]> {
  const onGap = (line: string) => void lines.push(line);
  const store = openLocalStore(folder);
  const of = { store, reports, settings: undefined, nowMs: lake.nowMs, asOf, onGap };
  const connection = await createSqlConnection(of, sql);
  const found = await connection.runAndReadAll(sql);
  connection.closeSync();
  return found.getRowsJson();
}

describe('a query as of the close of a month', () => {
  const rows = 'SELECT dt, transid, CAST(commission AS integer), found_later FROM orders ORDER BY ALL';

  it('has all days that the close knows, as they were, whatever happened since', async () => {
    expect(await ask(rows, '2026-01')).toEqual([
      [JAN31, 'o1', 10, null],
      [JAN31, 'o2', 5, null],
    ]);
    expect(await ask(rows, '2026-02')).toEqual([
      [JAN31, 'o1', 20, 'x'],
      [JAN31, 'o4', 1, null],
      [FEB1, 'o3', 1, null],
    ]);
    expect(await ask(rows)).toEqual([[FEB1, 'o3', 1, null]]);
  });

  it('derives views by the settings of the close', async () => {
    const payouts =
      'SELECT month, CAST(commission AS integer) FROM payouts WHERE commission <> 0 ORDER BY ALL';
    expect(await ask(payouts)).toEqual([['2026-02', 2]]);
    const lines: string[] = [];
    expect(await ask(payouts, '2026-01', lines)).toEqual([['2026-01', 15]]);
    expect(lines).toContainEqual(
      expect.stringMatching(/^note: settings of acme: [0-9a-f]{8}, since the close of 2026-01$/),
    );
    expect(await ask(payouts, '2026-02')).toEqual([
      ['2026-01', 21],
      ['2026-02', 1],
    ]);
  });

  it('is refused for a month that is not closed, with the closed months', async () => {
    await expect(ask(rows, '2026-03')).rejects.toMatchObject({
      code: 'not_closed',
      message: expect.stringContaining('Closed months: 2026-01, 2026-02.'),
    });
  });
});
