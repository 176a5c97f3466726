import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { restate } from '../../sample/brand.ts';
import { addDays } from '../../shared/days.ts';
import type { JsonObject } from '../../shared/json.ts';
import { readSchema } from '../../shared/lake/documents/read.ts';
import { dayPartition, snapshotKey } from '../../shared/lake/paths.ts';
import { readContent } from '../../shared/lake/table/read-content.ts';
import type { LogEvent } from '../../shared/log-events.ts';
import { orders } from '../../shared/reports/orders.ts';
import { ledgerEntry, ledgerTableRows } from './lake-contents.ts';
import { type SampleLake, sampleLake } from './sample-lake.ts';

const FIRST = '2026-03-01';
/** The first day that is read by itself; the days before are the history. */
const NEXT = '2026-03-09';
const LAST = '2026-03-15';
const scope = { reports: ['order_list'] };

let lake: SampleLake;
/** The day and the check of each finding in the log. */
const logged: string[] = [];

function log(event: LogEvent): void {
  if (event.event === 'day_finding' && /_column$/.test(event.check))
    logged.push(`${event.day} ${event.check}`);
}

beforeAll(async () => {
  lake = await sampleLake({ now: `${addDays(LAST, 2)}T15:00:00Z`, startDate: FIRST, clicksPerDay: 60 });
  for (let today = NEXT; today <= addDays(LAST, 1); today = addDays(today, 1)) {
    for (const [at, field] of RELEASES) if (at === today) change(FIRST, LAST, field);
    await run(today);
  }
});
afterAll(() => lake.close());

const renamed = ({ country = null, ...order }: JsonObject): JsonObject => ({ ...order, ship_to: country });

/** By day: what the service changes in all records that it returns from then on, also in those of earlier days. */
const RELEASES: readonly (readonly [string, (order: JsonObject, index: number) => JsonObject])[] = [
  ['2026-03-10', (order) => ({ ...order, gift_note: 'SPRING' })],
  ['2026-03-12', renamed],
  ['2026-03-14', (order) => ({ ...order, amount: `${JSON.stringify(order.amount)} EUR` })],
];

function change(from: string, to: string, changed: (order: JsonObject, index: number) => JsonObject): void {
  for (let day = from; day <= to; day = addDays(day, 1))
    restate(lake.brand, 'order_list', day, (held) =>
      held.map(({ at, record }, index) => ({ at, record: changed(record, index) })),
    );
}

async function run(today: string): Promise<void> {
  lake.nowMs = Date.parse(`${today}T15:00:00Z`);
  const { status } = await lake.sync({ scope, log });
  expect(status).toBe('complete');
}

async function findings(of: SampleLake = lake): Promise<string[]> {
  const rows = await ledgerTableRows(of, 'coverage', 'order_list');
  const texts = rows.flatMap(({ dt, findings: text }) =>
    String(text ?? '')
      .split('; ')
      .map((each) => `${dt} ${each.replaceAll(/\d+(?= of \d)|(?<= of )\d+|\d+(?= values)/g, 'N')}`),
  );
  return texts.filter((text) => /_column/.test(text));
}

const ALL = [
  '2026-03-10 new_column (gift_note in N of N rows)',
  '2026-03-11 emptied_column (country (usually in 100 % of the rows)',
  '2026-03-12 new_column (ship_to in N of N rows)',
  '2026-03-13 emptied_column (amount (usually in 100 % of the rows',
];

describe('columns that come and go, at a service that changes the records of all days at once', () => {
  it('are findings of one day each', async () => {
    expect(await findings()).toEqual(ALL);
  });

  it('I7: have the day in whose records they were first seen', async () => {
    const { firstSeen } = await readSchema(lake.store, orders);
    expect(firstSeen).toMatchObject({
      country: { day: '2026-03-09' },
      gift_note: { day: '2026-03-10', at: expect.stringMatching(/^2026-03-10T15:00:/) },
      ship_to: { day: '2026-03-12' },
    });
    expect(firstSeen).not.toHaveProperty('_synced_at');
  });

  it('are counted the same when a snapshot is read back', async () => {
    const { committed } = await ledgerEntry(lake, 'order_list', '2026-03-13');
    const { snapshot = '', bytes = 0, values } = committed ?? {};
    const key = snapshotKey('orders', dayPartition('acme', '2026-03-13'), snapshot);
    const range = (start: number, end: number) => lake.store.range(key, start, end);
    const content = await readContent({ bytes, range });
    expect({ ...values, ...content.values }).toEqual(values);
  });

  it('are logged once', () => {
    expect(logged).toEqual(ALL.map((text) => text.split(' (')[0]));
  });

  it('are no findings of a first reading, which finds all columns at once', async () => {
    const own = lake.emptyLake();
    own.nowMs = lake.nowMs;
    await own.sync({ scope });
    expect(await findings(own)).toEqual([]);
  });
});
