import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { recordsOfDay, restate } from '../../sample/brand.ts';
import { DAY_MS, HOUR_MS, addDays } from '../../shared/days.ts';
import { type Json, type JsonObject, numberText } from '../../shared/json.ts';
import { coverageOf, ledgerEntry, outcomesOf } from './lake-contents.ts';
import { type SampleLake, type SyncOptions, sampleLake } from './sample-lake.ts';

const DAY = '2026-02-20';
const refresh = [{ untilAgeDays: 60, every: '7 days' }];

type Restated = 'order_list' | 'transaction_list';
const STATE: Record<Restated, string> = { order_list: 'status', transaction_list: 'order_status' };

let sample: SampleLake;
beforeAll(async () => {
  sample = await sampleLake({
    now: '2026-03-10T15:00:00Z',
    recordsTo: '2026-02-21T20:00:00Z',
    startDate: DAY,
    clicksPerDay: 20,
    brandSettings: { reports: { order_list: { refresh }, transaction_list: { refresh } } },
  });
});
afterAll(() => sample.close());

function asksForDay({ fields }: { fields: Record<string, Json> }): boolean {
  const start = String(Date.parse('2026-02-20T05:00:00Z') / 1000);
  return fields.start_date === '20260220' || numberText(fields.start_time ?? null) === start;
}

/** A lake of a day whose records are all in this state. */
function lakeOf(report: Restated, state: string): SampleLake {
  const lake = sample.emptyLake();
  setState(lake, report, state);
  return lake;
}

/** Sets the state of all records, or of the first ones. */
function setState(lake: SampleLake, report: Restated, state: string | undefined, first = Infinity): void {
  restate(lake.brand, report, DAY, (held) =>
    held.map((one, index) =>
      index < first ? { ...one, record: { ...one.record, [STATE[report]]: state ?? null } } : one,
    ),
  );
}

async function run(lake: SampleLake, report: Restated, options: SyncOptions = {}) {
  const outcome = await lake.sync({ scope: { reports: [report] }, ...options });
  const { committed } = await ledgerEntry(lake, report, DAY);
  return { outcome: outcomesOf(outcome, report)[DAY], committed };
}

describe.each<[Restated]>([['order_list'], ['transaction_list']])('a day of %s', (report) => {
  it.each(['void', 'effective', 'paid'])(
    'I11: settles at whatever age with the second of two readings that agree, where all are %s',
    async (state) => {
      const lake = lakeOf(report, state);
      const first = await run(lake, report);
      expect(first.committed).toMatchObject({ unsettled: 0 });
      lake.nowMs += DAY_MS;
      const second = await run(lake, report);
      expect(second).toMatchObject({ outcome: 'unchanged', committed: { state: 'settled' } });
      expect((await coverageOf(lake, report))[DAY]).toMatchObject({ state: 'settled', next_due: null });
      for (const days of [7, 40]) {
        lake.nowMs += days * DAY_MS;
        expect((await run(lake, report)).outcome).toBeUndefined();
      }
    },
  );

  it('I11: is watched behind the refresh policy where a record can change, until its limit', async () => {
    const lake = lakeOf(report, 'new');
    const brandSettings = { reports: { [report]: { refresh, watchUnsettledDays: 90 } } };
    const ages: number[] = [];
    for (let age = 47; age < 130; age += 7) {
      lake.nowMs = Date.parse(`${addDays(DAY, age)}T15:00:00Z`);
      const { outcome, committed } = await run(lake, report, { brandSettings });
      if (outcome !== undefined) ages.push(age);
      expect(committed?.settled).toBe(age > 90);
    }
    expect(ages).toEqual([47, 54, 61, 68, 75, 82, 89, 96]);
  });

  it.each<[string, JsonObject]>([
    ['other states are final', { states: { column: STATE[report], final: ['void'] } }],
    ['the state is in another column', { states: { column: 'payment', final: ['paid'] } }],
  ])('I11: that settled early is due again where the settings say that %s', async (_name, change) => {
    const lake = lakeOf(report, 'paid');
    await run(lake, report);
    lake.nowMs += DAY_MS;
    expect((await run(lake, report)).committed?.settled).toBe(true);
    lake.nowMs += 7 * DAY_MS;
    const brandSettings = { reports: { [report]: { refresh, ...change } } };
    const { rows } = (await ledgerEntry(lake, report, DAY)).committed ?? {};
    expect(await run(lake, report, { brandSettings })).toMatchObject({
      outcome: 'unchanged',
      committed: { unsettled: rows },
    });
    expect(recordsOfDay(lake.brand, report, DAY).length).toBe(rows);
  });

  it('is left as it was where the service refuses a day that is only watched because of its states', async () => {
    const lake = lakeOf(report, 'new');
    await run(lake, report);
    lake.nowMs += 100 * DAY_MS;
    await run(lake, report);
    const stop = lake.service.addFault({
      on: { when: asksForDay },
      fault: { kind: 'code', code: 40, msg: 'too long ago' },
    });
    let runs = 0;
    for (; runs < 60 && !(await ledgerEntry(lake, report, DAY)).committed?.settled; runs += 1) {
      lake.nowMs += 12 * HOUR_MS;
      await run(lake, report);
    }
    stop();
    expect(runs).toBeLessThan(40);
    expect((await ledgerEntry(lake, report, DAY)).committed).toMatchObject({ settledBy: 'given_up' });
    lake.nowMs += 30 * DAY_MS;
    expect((await run(lake, report)).outcome).toBeUndefined();
    expect((await coverageOf(lake, report))[DAY]).toMatchObject({ state: 'complete' });
  });
});
