import { describe, expect, it } from '@jest/globals';
import { recordsOfDay, restate } from '../../sample/brand.ts';
import { DAY_MS, HOUR_MS, addDays } from '../../shared/base/days.ts';
import { coverageOf, ledgerEntry, outcomesOf } from './lake-contents.ts';
import type { SampleLake, SyncOptions } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const DAY = '2026-02-20';
const refresh = [{ untilAgeDays: 60, every: '7 days' }];

const REPORT = 'transaction_list';

const sample = sharedLakes({
  now: '2026-03-10T15:00:00Z',
  recordsTo: '2026-02-21T20:00:00Z',
  startDate: DAY,
  clicksPerDay: 20,
  brandSettings: { reports: { [REPORT]: { refresh } } },
});

/** A lake of a day whose records are all in this state. */
function lakeOf(state: string): SampleLake {
  const lake = sample.emptyLake();
  setState(lake, state);
  return lake;
}

function setState(lake: SampleLake, state: string): void {
  restate(lake.brand, REPORT, DAY, (held) =>
    held.map((one) => ({ ...one, record: { ...one.record, order_status: state } })),
  );
}

async function run(lake: SampleLake, options: SyncOptions = {}) {
  const outcome = await lake.sync({ scope: { reports: [REPORT] }, ...options });
  const { committed } = await ledgerEntry(lake, REPORT, DAY);
  return { outcome: outcomesOf(outcome, REPORT)[DAY], committed };
}

describe('a day of transactions', () => {
  it('I11: is re-read by `refresh` even if all its records are final, so late records are found', async () => {
    const lake = lakeOf('paid');
    const held = lake.brand.records[REPORT];
    const late = held.slice(0, 2);
    lake.brand.records[REPORT] = held.slice(2);
    const ages: number[] = [];
    for (let age = 18; age < 75; age += 1) {
      lake.nowMs = Date.parse(`${addDays(DAY, age)}T15:00:00Z`);
      if (age === 30) lake.brand.records[REPORT] = [...lake.brand.records[REPORT], ...late];
      if ((await run(lake)).outcome !== undefined) ages.push(age);
    }
    expect(ages).toEqual([18, 25, 32, 39, 46, 53, 60, 61]);
    const { committed } = await ledgerEntry(lake, REPORT, DAY);
    expect(committed).toMatchObject({ state: 'settled' });
    expect(committed?.rows).toBe(recordsOfDay(lake.brand, REPORT, DAY).length);
    const { state, next_due: due } = (await coverageOf(lake, REPORT))[DAY] ?? {};
    expect([state, due]).toEqual(['settled', undefined]);
  });

  it('I11: is re-read after `refresh` ends while a record can change, until its limit', async () => {
    const lake = lakeOf('new');
    const ages: number[] = [];
    for (const age of [47, 54, 61, 68, 75, 390, 397, 404, 411]) {
      lake.nowMs = Date.parse(`${addDays(DAY, age)}T15:00:00Z`);
      const { outcome, committed } = await run(lake);
      if (outcome !== undefined) ages.push(age);
      expect(committed?.state).toBe(age > 400 ? 'settled' : 'closed');
    }
    expect(ages).toEqual([47, 54, 68, 390, 404]);
  });

  it('is left as it was if the service refuses a day that is only re-read because of its states', async () => {
    const lake = lakeOf('new');
    await run(lake);
    lake.nowMs += 100 * DAY_MS;
    await run(lake);
    const stop = lake.service.addFault({
      on: { when: ({ fields }) => fields.start_date === '20260220' },
      fault: { kind: 'code', code: 40, msg: 'too long ago' },
    });
    let runs = 0;
    for (; runs < 60 && (await ledgerEntry(lake, REPORT, DAY)).committed?.state !== 'settled'; runs += 1) {
      lake.nowMs += 12 * HOUR_MS;
      await run(lake);
    }
    stop();
    // It is due after 14 days at most, and then twelve times.
    expect(runs).toBeLessThan(50);
    expect((await ledgerEntry(lake, REPORT, DAY)).committed).toMatchObject({
      state: 'settled',
      contradictions: 12,
    });
    lake.nowMs += 30 * DAY_MS;
    expect((await run(lake)).outcome).toBeUndefined();
    expect((await coverageOf(lake, REPORT))[DAY]).toMatchObject({
      state: 'settled',
      findings: expect.stringContaining('given_up'),
    });
  });
});
