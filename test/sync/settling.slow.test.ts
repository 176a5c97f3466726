import { describe, expect, it } from '@jest/globals';
import { recordsOfDay, restate } from '../../sample/brand.ts';
import { DAY_MS, HOUR_MS, addDays } from '../../shared/days.ts';
import { type Json, type JsonObject, numberText } from '../../shared/json.ts';
import { coverageOf, ledgerEntry, outcomesOf } from './lake-contents.ts';
import type { SampleLake, SyncOptions } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const DAY = '2026-02-20';
const refresh = [{ untilAgeDays: 60, every: '7 days' }];

type Restated = 'order_list' | 'transaction_list';
const STATE: Record<Restated, string> = { order_list: 'status', transaction_list: 'order_status' };

const sample = sharedLakes({
  now: '2026-03-10T15:00:00Z',
  recordsTo: '2026-02-21T20:00:00Z',
  startDate: DAY,
  clicksPerDay: 20,
  brandSettings: { reports: { order_list: { refresh }, transaction_list: { refresh } } },
});

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
  it('I11: is re-read by `refresh` even if all its records are final, so late records are found', async () => {
    const lake = lakeOf(report, 'paid');
    const held = lake.brand.records[report];
    const late = held.slice(0, 2);
    lake.brand.records[report] = held.slice(2);
    const ages: number[] = [];
    for (let age = 18; age < 75; age += 1) {
      lake.nowMs = Date.parse(`${addDays(DAY, age)}T15:00:00Z`);
      if (age === 30) lake.brand.records[report] = [...lake.brand.records[report], ...late];
      if ((await run(lake, report)).outcome !== undefined) ages.push(age);
    }
    expect(ages).toEqual([18, 25, 32, 39, 46, 53, 60, 61]);
    const { committed } = await ledgerEntry(lake, report, DAY);
    expect(committed).toMatchObject({ state: 'settled', unsettled: { rows: 0 } });
    expect(committed?.rows).toBe(recordsOfDay(lake.brand, report, DAY).length);
    const { state, next_due: due } = (await coverageOf(lake, report))[DAY] ?? {};
    expect([state, due]).toEqual(['settled', undefined]);
  });

  it('I11: is re-read as often as other days if a filter selects a final state', async () => {
    const filters: JsonObject = report === 'order_list' ? { status: 'effective' } : { order_status: 'paid' };
    const brandSettings = { reports: { [report]: { refresh, filters } } };
    const lake = lakeOf(report, 'new');
    await run(lake, report, { brandSettings });
    setState(lake, report, report === 'order_list' ? 'effective' : 'paid');
    for (let days = 0; days < 8; days += 1) {
      await run(lake, report, { brandSettings });
      lake.nowMs += DAY_MS;
    }
    const { committed } = await ledgerEntry(lake, report, DAY);
    expect(committed?.rows).toBe(recordsOfDay(lake.brand, report, DAY).length);
  });

  it('I11: is re-read after `refresh` ends while a record can change, until its limit', async () => {
    const lake = lakeOf(report, 'new');
    const brandSettings = { reports: { [report]: { refresh, watchUnsettledDays: 90 } } };
    const ages: number[] = [];
    for (let age = 47; age < 130; age += 7) {
      lake.nowMs = Date.parse(`${addDays(DAY, age)}T15:00:00Z`);
      const { outcome, committed } = await run(lake, report, { brandSettings });
      if (outcome !== undefined) ages.push(age);
      expect(committed?.state).toBe(age > 90 ? 'settled' : 'closed');
    }
    expect(ages).toEqual([47, 54, 68, 82, 96]);
  });

  it.each<[string, object]>([
    ['other states are final', { states: { final: ['void'] } }],
    ['a filter is set', { filters: { publisher_id: 'nobody' } }],
    ['the policy is longer', { refresh: [{ untilAgeDays: 900, every: '1 day' }] }],
  ])(
    'I11: keeps its rows once settled and is not read even if the settings change so that %s',
    async (_name, change) => {
      const lake = lakeOf(report, 'paid');
      await run(lake, report);
      lake.nowMs += 60 * DAY_MS;
      const { committed } = await run(lake, report);
      expect(committed?.state).toBe('settled');
      lake.brand.records[report] = [];
      lake.nowMs += DAY_MS;
      for (const timeZone of ['America/New_York', 'America/Toronto']) {
        const brandSettings = { timeZone, reports: { [report]: { refresh, ...change } } };
        expect(await run(lake, report, { brandSettings })).toEqual({ outcome: undefined, committed });
      }
    },
  );

  it('is left as it was if the service refuses a day that is only re-read because of its states', async () => {
    const lake = lakeOf(report, 'new');
    await run(lake, report);
    lake.nowMs += 100 * DAY_MS;
    await run(lake, report);
    const stop = lake.service.addFault({
      on: { when: asksForDay },
      fault: { kind: 'code', code: 40, msg: 'too long ago' },
    });
    let runs = 0;
    for (; runs < 60 && (await ledgerEntry(lake, report, DAY)).committed?.state !== 'settled'; runs += 1) {
      lake.nowMs += 12 * HOUR_MS;
      await run(lake, report);
    }
    stop();
    // It is due after 14 days at most, and then twelve times.
    expect(runs).toBeLessThan(50);
    expect((await ledgerEntry(lake, report, DAY)).committed).toMatchObject({
      state: 'settled',
      contradictions: 12,
    });
    lake.nowMs += 30 * DAY_MS;
    expect((await run(lake, report)).outcome).toBeUndefined();
    expect((await coverageOf(lake, report))[DAY]).toMatchObject({
      state: 'settled',
      findings: expect.stringContaining('given_up'),
    });
  });
});
