import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { restate } from '../../sample/brand.ts';
import { DAY_MS, addDays } from '../../shared/days.ts';
import type { JsonObject } from '../../shared/json.ts';
import { dayPartition, snapshotKey } from '../../shared/lake/paths.ts';
import { readContent } from '../../shared/lake/table/read-content.ts';
import { ledgerEntry, ledgerTableRows } from './lake-contents.ts';
import { type SampleLake, sampleLake } from './sample-lake.ts';

const FIRST = '2026-03-01';
/** The first day that is read by itself; the days before are the history. */
const NEXT = '2026-03-16';
const LAST = '2026-03-23';
const scope = { reports: ['order_list'] };

let lake: SampleLake;

beforeAll(async () => {
  // The service has all records from the beginning, so each day's contents are decided before the day is read.
  lake = await sampleLake({ now: '2026-03-25T15:00:00Z', startDate: FIRST, clicksPerDay: 60 });
  changeAll();
  for (let today = NEXT; today <= addDays(LAST, 1); today = addDays(today, 1)) await run(today);
});
afterAll(() => lake.close());

function changeAll(): void {
  change('2026-03-17', LAST, (order) => ({ ...order, gift_note: 'SPRING' }));
  change('2026-03-18', '2026-03-18', ({ country: _country, ...order }) => order);
  change('2026-03-20', LAST, (order) => ({ ...order, amount: `${JSON.stringify(order.amount)} EUR` }));
  change('2026-03-22', LAST, (order, index) => (index % 2 === 0 ? { ...order, status: null } : order));
}

function change(from: string, to: string, changed: (order: JsonObject, index: number) => JsonObject): void {
  for (let day = from; day <= to; day = addDays(day, 1))
    restate(lake.brand, 'order_list', day, (held) =>
      held.map(({ at, record }, index) => ({ at, record: changed(record, index) })),
    );
}

async function run(today: string): Promise<void> {
  lake.nowMs = Date.parse(`${today}T15:00:00Z`);
  const { status } = await lake.sync({ scope });
  expect(status).toBe('complete');
}

async function changes(of: SampleLake = lake): Promise<string[]> {
  const rows = await ledgerTableRows(of, 'schema_changes', 'order_list');
  return rows.map((row) => `${row.dt} ${row.column_name} ${row.change}`);
}

const ALL = [
  '2026-03-17 gift_note new',
  '2026-03-18 country vanished',
  '2026-03-19 country returned',
  '2026-03-20 amount drifted',
  '2026-03-22 status null_share',
];

describe('fields that come, go and change', () => {
  it('are in the table schema_changes', async () => {
    expect(await changes()).toEqual(ALL);
    const [gift_note] = await ledgerTableRows(lake, 'schema_changes', 'order_list');
    expect(gift_note).toEqual({
      dt: '2026-03-17',
      column_name: 'gift_note',
      change: 'new',
      share_before: 0,
      share_after: 1,
      rows: expect.any(BigInt),
      since: '2026-03-16',
      detail: expect.stringMatching(/^100 % of \d+ rows have a value, none of \d+ rows before$/),
    });
  });

  it('are counted in the ledger only on days with rescued values', async () => {
    const before = await ledgerEntry(lake, 'order_list', '2026-03-19');
    const { committed } = await ledgerEntry(lake, 'order_list', '2026-03-20');
    expect(committed?.values?.rescued).toEqual({ amount: committed?.rows });
    expect(before.committed?.values).not.toHaveProperty('rescued');
  });

  it.each(['2026-03-19', '2026-03-20'])(
    'are counted the same when the snapshot of %s is read back',
    async (day) => {
      const { committed } = await ledgerEntry(lake, 'order_list', day);
      const { snapshot = '', bytes = 0, values } = committed ?? {};
      const key = snapshotKey('orders', dayPartition('acme', day), snapshot);
      const range = (start: number, end: number) => lake.store.range(key, start, end);
      const content = await readContent({ bytes, range });
      expect({ ...values, ...content.values }).toEqual(values);
    },
  );

  it('are published again within a day if the catalog has lost them', async () => {
    const before = await changes();
    for (const path of lake.catalog.pointers.keys())
      if (path.startsWith('schema_changes/')) lake.catalog.pointers.delete(path);
    expect(await changes()).toEqual([]);
    lake.nowMs = Date.parse('2026-03-25T16:00:00Z');
    await lake.sync({ scope });
    expect(await changes()).toEqual(before);
  });

  it('are forgotten if the service restates the day', async () => {
    change('2026-03-18', '2026-03-18', (order) => ({ ...order, country: 'US' }));
    lake.nowMs = Date.parse('2026-03-26T15:00:00Z') + DAY_MS;
    await lake.sync({ scope: { ...scope, from: '2026-03-18', to: '2026-03-18' } });
    expect(await changes()).toEqual(ALL.filter((found) => !found.includes('country')));
  });

  it('are found again in an empty lake, which reads all days as history, except new fields', async () => {
    const own = lake.emptyLake();
    changeAll();
    own.nowMs = Date.parse('2026-04-02T15:00:00Z');
    await own.sync({ scope });
    expect(await changes(own)).toEqual(ALL.filter((found) => !found.endsWith('new')));
  });
});
