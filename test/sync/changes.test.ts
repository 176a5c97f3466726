import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { restate } from '../../sample/brand.ts';
import { HOUR_MS } from '../../shared/days.ts';
import type { LogEvent } from '../../shared/log-events.ts';
import { ledgerEntry, wrongReports } from './lake-contents.ts';
import { changesOf } from './changes-of-day.ts';
import { type SampleLake, sampleLake } from './sample-lake.ts';

const DAY = '2026-03-09';
const TODAY = '2026-03-10';
const refresh = [{ untilAgeDays: 20, every: 'run' }];
const scope = { reports: ['order_list'] };

let sample: SampleLake;
beforeAll(async () => {
  sample = await sampleLake({
    now: '2026-03-10T15:00:00Z',
    startDate: '2026-03-08',
    clicksPerDay: 8,
    brandSettings: {
      reports: { order_list: { refresh }, transaction_list: { refresh } },
    },
  });
});
afterAll(() => sample.close());

/** The status of each order of the day by its place; the amount stays. `undefined` removes it. */
function setStatus(lake: SampleLake, statusOf: (index: number) => string | undefined): void {
  restate(lake.brand, 'order_list', DAY, (held) =>
    held.flatMap(({ at, record }, index) => {
      const status = statusOf(index);
      return status === undefined ? [] : [{ at, record: { ...record, status } }];
    }),
  );
}

async function syncLater(lake: SampleLake, log: LogEvent[] = []): Promise<void> {
  lake.nowMs += HOUR_MS;
  expect((await lake.sync({ scope, log: (event) => log.push(event) })).status).toBe('complete');
}

describe('a closed day that changes', () => {
  it('is recorded with what was added, removed and altered, in the commit that replaces it', async () => {
    const lake = sample.emptyLake();
    setStatus(lake, () => 'new');
    await lake.sync({ scope });
    const first = (await ledgerEntry(lake, 'order_list', DAY)).committed;
    expect(first?.changes).toBeUndefined();
    const log: LogEvent[] = [];
    setStatus(lake, (index) => (index === 0 ? undefined : index < 3 ? 'void' : 'new'));
    await syncLater(lake, log);
    const { committed } = await ledgerEntry(lake, 'order_list', DAY);
    expect(committed?.changes).toMatchObject({
      times: 1,
      last: { at: committed?.readFrom, rowsBefore: first?.rows, added: 0, removed: 1, altered: 2 },
    });
    const rows = await changesOf(lake, 'order_list', DAY);
    expect(rows.filter(({ what }) => what === 'day')).toEqual([
      {
        change_id: committed?.snapshot,
        previous_id: first?.snapshot,
        changed_at: new Date(committed?.readFrom ?? ''),
        cause: 'reading',
        what: 'day',
        rows_before: BigInt(first?.rows ?? 0),
        rows_after: BigInt(first?.rows ?? 0) - 1n,
        added: 0n,
        removed: 1n,
        altered: 2n,
        listed: true,
      },
    ]);
    expect(rows.filter(({ what }) => what === 'altered')).toMatchObject([
      { column_name: 'status', old_value: 'new', new_value: 'void' },
      { column_name: 'status', old_value: 'new', new_value: 'void' },
    ]);
    const sums = rows.filter(({ what, column_name }) => what === 'sum' && column_name === 'amount');
    expect(sums).toMatchObject([{ old_value: first?.sums?.amount, new_value: committed?.sums?.amount }]);
    expect(log).toContainEqual({
      event: 'day_changed',
      brand: 'acme',
      report: 'order_list',
      day: DAY,
      ...{ rowsBefore: first?.rows, rows: committed?.rows, added: 0, removed: 1, altered: 2 },
    });
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });
});
