import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { restate } from '../../sample/brand.ts';
import { DAY_MS, HOUR_MS } from '../../shared/base/days.ts';
import { readSchema } from '../../shared/lake/read.ts';
import type { JsonObject } from '../../shared/base/json.ts';
import type { LogEvent } from '../../shared/base/log-events.ts';
import { reports } from '../../shared/reports/index.ts';
import { wrongReports } from './lake-contents.ts';
import { type SampleLake, sampleLake } from './sample-lake.ts';

const FIRST = '2026-03-09';
const scope = { reports: ['order_list'] };

let lake: SampleLake;
beforeAll(async () => {
  lake = await sampleLake({
    now: '2026-03-10T15:00:00Z',
    recordsTo: '2026-03-12T15:00:00Z',
    startDate: FIRST,
    clicksPerDay: 40,
  });
});
afterAll(() => lake.close());

function extend(day: string, fieldsOf: (index: number) => JsonObject): void {
  restate(lake.brand, 'order_list', day, (held) =>
    held.map(({ at, record }, index) => ({ at, record: { ...record, ...fieldsOf(index) } })),
  );
}

async function columns(): Promise<string[]> {
  const order = reports.order_list;
  if (!order) throw new Error('there are no orders');
  return (await readSchema(lake.store, order)).columns.map(({ name }) => name);
}

it('I6: one record of 2,000 keys takes no column from others, loses nothing, and causes a warning', async () => {
  const odd = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`a_${index}`, index]));
  extend(FIRST, (index) => (index === 0 ? odd : {}));
  const events: LogEvent[] = [];
  await lake.sync({ scope, log: (event) => void events.push(event) });
  expect((await columns()).length).toBeLessThan(300);
  expect(await columns()).toContain('transid');
  expect(events).toContainEqual(
    expect.objectContaining({
      event: 'fields_without_column',
      day: FIRST,
      fields: expect.any(Number),
      message: expect.stringMatching(/^1,?7\d\d fields of 2026-03-09 .*SELECT _rescued.*setting "columns"/),
    }),
  );
  expect(await wrongReports(lake, '2026-03-10', ['order_list'])).toEqual({});

  // Re-reading the odd day takes no further columns, and a new field of a later day becomes a column.
  lake.nowMs += HOUR_MS;
  const before = await columns();
  await lake.sync({ scope: { ...scope, from: FIRST, to: FIRST } });
  expect(await columns()).toEqual(before);
  lake.nowMs += DAY_MS;
  await lake.sync({ scope });
  lake.nowMs += HOUR_MS;
  extend('2026-03-11', () => ({ zone_of_delivery: 'north' }));
  await lake.sync({ scope });
  expect(await columns()).toEqual([...before, 'zone_of_delivery']);
  expect(await wrongReports(lake, '2026-03-11', ['order_list'])).toEqual({});
});
